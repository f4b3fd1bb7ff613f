import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import { byCodeUnits, Pacer, sortInTurns } from "../../base/turns.ts";
import { storeUnavailable } from "./blob-faults.ts";
import { isBlobKey } from "./blob-key.ts";
import type { BlobInfo } from "./blob-store.ts";
import { toFolderFault } from "./folder-faults.ts";
import { type FolderPaths, shardOf } from "./folder-paths.ts";

/** Keys that are held in memory at once, about 10 MB. A larger store is read several times from its beginning, one such part each time. */
const maxKeys = 128 * 1024;
/** Blobs in a batch: they are looked at together, by the threads of the pool. */
const batchKeys = 256;

/** listFolder implements `BlobStore.list`: by key, though the folders that blobs are spread over have each keys of all times. */
export async function* listFolder(
  paths: FolderPaths,
  after: string | undefined,
): AsyncGenerator<readonly BlobInfo[]> {
  try {
    let from = after ?? "";
    for (;;) {
      const keys = await smallestKeys(paths, from);
      for (let at = 0; at < keys.length; at += batchKeys) {
        const found = await Promise.all(
          keys.slice(at, at + batchKeys).map((key) => infoOf(paths.ofBlob(key), key)),
        );
        yield found.filter((info) => info !== undefined);
      }
      if (keys.length < maxKeys) return;
      from = keys.at(-1) ?? from;
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw toFolderFault(error);
    throw storeUnavailable(
      `the folder ${paths.root} has no folder \`blobs\`: mount its file system, or start the server once, which creates it in a new store`,
      error,
    );
  }
}

/** smallestKeys are the next keys after `after`, sorted, at most `maxKeys`. */
async function smallestKeys(paths: FolderPaths, after: string): Promise<string[]> {
  const pacer = new Pacer();
  let keys: string[] = [];
  /** Greater keys belong to a later part. */
  let last = "~";
  for (const shard of await readdir(paths.blobs)) {
    for (const name of await namesIn(paths.shard(shard))) {
      if (name > after && name < last && isBlobKey(name) && shardOf(name) === shard) keys.push(name);
      if (pacer.isDue) await pacer.nextTurn();
    }
    if (keys.length < 2 * maxKeys) continue;
    keys = (await sortInTurns(keys, byCodeUnits)).slice(0, maxKeys);
    last = keys.at(-1) ?? last;
  }
  return (await sortInTurns(keys, byCodeUnits)).slice(0, maxKeys);
}

/** A file beside the folders is not ours. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Undefined for a blob that was deleted meanwhile. */
async function infoOf(path: string, key: string): Promise<BlobInfo | undefined> {
  try {
    const stats: Stats = await lstat(path);
    return stats.isFile() ? { key, size: stats.size, storedAtMs: stats.mtimeMs } : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
