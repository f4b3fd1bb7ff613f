import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";

/** FolderIdentity identifies a folder whichever path leads to it. */
export interface FolderIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * Folder is a directory held open. On Linux the names in it are reached through the open descriptor, so that nobody can redirect
 * them by replacing a folder above it with a link after it was checked.
 */
export class Folder {
  readonly #handle: FileHandle;
  readonly #base: string;

  private constructor(
    handle: FileHandle,
    /** The path with every link resolved, as it was when the folder was opened. */
    readonly realPath: string,
    base: string,
  ) {
    this.#handle = handle;
    this.#base = base;
  }

  static async open(path: string): Promise<Folder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      const { real, path: base } = await heldPlace(handle, path);
      return new Folder(handle, real, base);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns a path that reaches `name` in this folder. */
  at(name: string): string {
    return join(this.#base, name);
  }

  async identity(): Promise<FolderIdentity> {
    const { dev, ino } = await this.#handle.stat();
    return { dev, ino };
  }

  /**
   * Opens the folder `name` in this one; a link fails with ELOOP or ENOTDIR. There is no limit on the length of the path from the
   * root.
   */
  async openChild(name: string): Promise<Folder> {
    return Folder.#held(this.at(name), join(this.realPath, name));
  }

  /** Opens the folder above this one. Fails with ENOENT if it is not `expected` any more. */
  async openParent(expected: FolderIdentity): Promise<Folder> {
    const parent = await Folder.#held(`${this.#base}${sep}..`, dirname(this.realPath));
    const { dev, ino } = await parent.identity();
    if (dev === expected.dev && ino === expected.ino) return parent;
    await parent.close();
    throw Object.assign(new Error("the folder was moved while it was removed"), { code: "ENOENT" });
  }

  /** Opens a folder whose path the caller knows: the system cannot report one above its length limit. */
  static async #held(path: string, realPath: string): Promise<Folder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return new Folder(handle, realPath, process.platform === "linux" ? heldPath(handle) : realPath);
  }

  /** Makes created, renamed and removed names durable. */
  sync(): Promise<void> {
    return this.#handle.sync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** `heldPlace` returns the real path of an open file or folder, and a path that opens exactly the same one. */
export async function heldPlace(
  handle: FileHandle,
  path: string,
): Promise<{ readonly real: string; readonly path: string }> {
  if (process.platform === "linux") {
    const held = heldPath(handle);
    return { real: await readlink(held), path: held };
  }
  const real = await realpath(path);
  return { real, path: real };
}

function heldPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/** `isInside` tells whether the real path `real` is `folder` or below it. */
export function isInside(real: string, folder: string): boolean {
  return real === folder || real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
