import { Pacer } from "../../base/turns.ts";
import type { EntryRows } from "../../db/rows/entry-rows.ts";
import type { EntryValue } from "../../db/rows/entry-values.ts";

export interface TreeCopy {
  /** The id of the folder that is copied. */
  readonly from: string;
  /** The id of a new folder, which is empty. */
  readonly to: string;
  /** Members of each value that differ from the copied one. */
  readonly changes: Pick<EntryValue, "created" | "version">;
}

/**
 * copyTree copies everything in a folder into another one. Folders get new ids; files name the same blobs. Rejects with the
 * reason of `signal` when that aborts.
 */
export async function copyTree(
  rows: EntryRows,
  { from, to, changes }: TreeCopy,
  signal: AbortSignal,
): Promise<void> {
  const folders = [{ from, to }];
  const pacer = new Pacer();
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal.throwIfAborted();
    await rows.copyFiles(at.from, at.to, changes);
    for (const { name, value } of await rows.folders(at.from)) {
      const id = Bun.randomUUIDv7();
      await rows.put(at.to, name, { ...value, ...changes, modified: changes.created, id });
      folders.push({ from: value.id, to: id });
    }
    if (pacer.isDue) await pacer.nextTurn();
  }
}
