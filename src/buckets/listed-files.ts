import { byCodeUnits, sortInTurns } from "../base/turns.ts";
import type { FileEntry, ListedFile } from "./ports.ts";

/** `listedFiles` are the files among what is found below a folder, sorted by path. */
export async function listedFiles(found: AsyncIterable<readonly FileEntry[]>): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  for await (const entries of found)
    for (const entry of entries) if (entry.kind === "file") files.push(toListed(entry));
  return sortInTurns(files, (a, b) => byCodeUnits(a.path, b.path));
}

/** A copy: an entry keeps all that the store knows of its file, which takes several times the memory. */
export function toListed({ path, stats: { size, modifiedMs } }: FileEntry): ListedFile {
  return { path, size, modifiedMs };
}
