import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { statOrUndefined } from "../disk/stat.ts";
import type { FolderPaths } from "./folder-paths.ts";

/** clearUnfinishedIn deletes files of `unfinished/` that were last written to before `ageMs`. Returns how many. */
export async function clearUnfinishedIn({ unfinished }: FolderPaths, ageMs: number): Promise<number> {
  let cleared = 0;
  for (const name of await readdir(unfinished)) {
    const path = join(unfinished, name);
    const stats = await statOrUndefined(path, lstat);
    if (stats === undefined || !stats.isFile() || Date.now() - stats.mtimeMs < ageMs) continue;
    await rm(path, { force: true });
    cleared += 1;
  }
  return cleared;
}
