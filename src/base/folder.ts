import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/**
 * A folder held open. On Linux the names in it are reached through the open folder itself, so that nobody can lead
 * them elsewhere by swapping a folder above it for a link after it was checked.
 */
export class Folder {
  private constructor(
    private readonly handle: FileHandle,
    /** Where it really is, every link resolved. */
    readonly realPath: string,
    private readonly base: string,
  ) {}

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
    return join(this.base, name);
  }

  /** Makes the names in it durable. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** Where an open file or folder really is, and a path that reaches exactly it. */
export async function heldPlace(
  handle: FileHandle,
  path: string,
): Promise<{ readonly real: string; readonly path: string }> {
  if (process.platform === "linux") {
    const held = `/proc/self/fd/${handle.fd}`;
    return { real: await readlink(held), path: held };
  }
  const real = await realpath(path);
  return { real, path: real };
}

/** Whether a real path is this folder or below it. */
export function isInside(real: string, folder: string): boolean {
  return real === folder || real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
