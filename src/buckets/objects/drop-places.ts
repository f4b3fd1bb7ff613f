import type { Database } from "../../db/database.ts";
import { isDeployPlace } from "../history/deploy-record.ts";

/**
 * `dropPlaces` deletes the heads of places that no deploy has any more, once a purge has deleted what was there. Heads are read
 * before the deploys: both are made in one transaction, so that no deploy of a head that was read can be unseen. Returns how
 * many.
 */
export async function dropPlaces(database: Database, signal: AbortSignal): Promise<number> {
  const { heads, entries, removed, deploys } = database;
  const places = [...(await heads.versions()).keys()].filter(isDeployPlace);
  if (places.length === 0) return 0;
  const used = new Set<string | null>();
  for (const path of await deploys.bucketPaths())
    for (const { place } of (await deploys.list(path)).values()) used.add(place);
  let dropped = 0;
  for (const place of places) {
    signal.throwIfAborted();
    if (used.has(place)) continue;
    dropped += await database.transact(async (transaction) => {
      const { head } = await heads.lock(place, transaction);
      if (head === undefined || !(await entries.within(transaction).isEmpty(head.root))) return 0;
      for await (const batch of removed.current.removed(place)) if (batch.length > 0) return 0;
      await heads.drop(place, transaction);
      return 1;
    });
  }
  return dropped;
}
