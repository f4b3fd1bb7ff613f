import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";

/** What an open folder is, however it was reached. */
export interface FolderIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * A folder held open. On Linux the names in it are reached through the open folder itself, so that nobody can lead
 * them elsewhere by swapping a folder above it for a link after it was checked.
 */
export class Folder {
  readonly #handle: FileHandle;
  readonly #base: string;

  private constructor(
    handle: FileHandle,
    /** Where it really is, every link resolved. */
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

  /** A path that reaches `name` in this folder. */
  at(name: string): string {
    return join(this.#base, name);
  }

  async identity(): Promise<FolderIdentity> {
    const { dev, ino } = await this.#handle.stat();
    return { dev, ino };
  }

  /** The folder `name` in this one, never through a link. Works however long the path from the root is. */
  async openChild(name: string): Promise<Folder> {
    return Folder.#held(this.at(name), join(this.realPath, name));
  }

  /** The folder above this one, if it is still the one that is expected; ENOENT otherwise. */
  async openParent(expected: FolderIdentity): Promise<Folder> {
    const parent = await Folder.#held(`${this.#base}${sep}..`, dirname(this.realPath));
    const { dev, ino } = await parent.identity();
    if (dev === expected.dev && ino === expected.ino) return parent;
    await parent.close();
    throw Object.assign(new Error("the folder was moved while it was removed"), { code: "ENOENT" });
  }

  /** Opened without asking where it is, which the system does not tell of a path above its limit. */
  static async #held(path: string, realPath: string): Promise<Folder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return new Folder(handle, realPath, process.platform === "linux" ? heldPath(handle) : realPath);
  }

  /** Makes the names in it durable. */
  sync(): Promise<void> {
    return this.#handle.sync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Where an open file or folder really is, and a path that reaches exactly it. */
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

/** Whether a real path is this folder or below it. */
export function isInside(real: string, folder: string): boolean {
  return real === folder || real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
