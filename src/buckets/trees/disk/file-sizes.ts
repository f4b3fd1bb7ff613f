import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeOf } from "../../../base/fault.ts";
import { isAbsence } from "../../../base/local-fs/stat.ts";
import { stagedPrefix } from "../../path.ts";
import type { FileSizes } from "../../ports.ts";

/** Names that are read in one batch. */
const batchNames = 256;

/**
 * fileSizes yields the sizes of all files below a folder, in batches and in no order, for statistics. It follows no link and
 * leaves out what cannot be read. Every call of the disk is made by a thread, one at a time: a disk that has to be waited for delays
 * nobody else. Throws if the folder itself cannot be read.
 */
export async function* fileSizes(root: string): AsyncGenerator<FileSizes> {
  const folders: string[] = [];
  for (let folder: string | undefined = root; folder !== undefined; folder = folders.pop()) {
    const names = folder === root ? await readdir(root) : await unlessUnreadable(readdir(folder));
    for (let at = 0; names !== undefined && at < names.length; at += batchNames) {
      const sizes: number[] = [];
      let newestMs = 0;
      for (const name of names.slice(at, at + batchNames)) {
        const stats: Stats | undefined = await statsOf(join(folder, name));
        if (stats?.isFile()) {
          sizes.push(stats.size);
          newestMs = Math.max(newestMs, stats.mtimeMs);
        }
        if (stats?.isDirectory()) folders.push(join(folder, name));
      }
      yield { sizes, newestMs };
    }
  }
}

/** Temporary files of the server are none of the bucket's. */
async function statsOf(path: string): Promise<Stats | undefined> {
  return basename(path).startsWith(stagedPrefix) ? undefined : unlessUnreadable(lstat(path));
}

/** Undefined for what was removed meanwhile, or must not be read. */
async function unlessUnreadable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isAbsence(error) || ["EACCES", "EPERM", "EIO"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}
