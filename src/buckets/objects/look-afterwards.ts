import type { Database } from "../../db/database.ts";
import { type EntryRows, isFolderValue } from "../../db/rows/entry-rows.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Written } from "./entry-writer.ts";
import { entryOf, locate } from "./locate.ts";

/** Looks at a database that was lost during COMMIT, and the pause before the second; each further one is twice as long. */
const maxLooks = 6;
const firstPauseMs = 100;

/** Outcome of a transaction whose connection was lost during COMMIT. */
export type Outcome = "done" | "not done" | "unknown";

/**
 * lookAfterwards finds out whether a transaction was committed. It locks the head of the bucket as that transaction did, and so
 * waits until it has ended. No two blobs have the same key, so an entry that names the blob of an upload proves that it was
 * committed. Without one: if the bucket has an older version than the transaction gave it, it was not; else somebody may have
 * replaced the entry since.
 */
export async function lookAfterwards(
  { database, bucketPath }: { readonly database: Database; readonly bucketPath: string },
  changes: readonly Written[],
): Promise<Outcome> {
  for (let look = 1, pause = firstPauseMs; look <= maxLooks; look += 1, pause *= 2) {
    try {
      return await database.transact(async (transaction) => {
        const { head } = await database.heads.lock(bucketPath, transaction);
        const rows = database.entries.within(transaction);
        const isOlder = changes.some(
          ({ isChanged, head: { version } }) => isChanged && (head?.version ?? 0) < version,
        );
        return isOlder ? "not done" : (await namesAny(rows, bucketPath, changes)) ? "done" : "unknown";
      });
    } catch (error) {
      if (!isUnavailable(error)) break;
    }
    if (look < maxLooks) await Bun.sleep(pause);
  }
  return "unknown";
}

async function namesAny(rows: EntryRows, bucketPath: string, changes: readonly Written[]): Promise<boolean> {
  for (const { placed } of changes)
    for (const { path, staged } of placed) {
      if (staged.blob === undefined) continue;
      const value = entryOf(await locate(rows, bucketPath, path));
      if (value !== undefined && !isFolderValue(value) && value.blob === staged.blob.key) return true;
    }
  return false;
}
