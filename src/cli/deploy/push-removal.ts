import { visible } from "../terminal/sizes.ts";
import type { LocalTree } from "./local-tree.ts";
import { turnOf } from "./push-order.ts";
import type { PushPlan } from "./push-plan.ts";
import type { PushSummary, Site } from "./push-run.ts";
import { whyRefused } from "./push-send.ts";
import { foldersOf, listRemote, type RemoteTree, sameRemote } from "./remote-tree.ts";
import { inParallel, Patience } from "./upload-queue.ts";

/** Takes away what stands where something of another kind has to go; returns the files that went with it. */
export async function removeFirst(
  site: Site,
  { inTheWay }: PushPlan,
  remote: RemoteTree,
  summary: PushSummary,
  signal: AbortSignal,
): Promise<Set<string>> {
  const removed = new Set<string>();
  for (const place of inTheWay) {
    signal.throwIfAborted();
    process.stderr.write(`note: ${visible(place)} is in the way of what is here and is removed first\n`);
    await site.client.bucket(site.bucket).remove(place);
    for (const path of remote.keys()) if (path === place || path.startsWith(`${place}/`)) removed.add(path);
  }
  for (const path of removed) site.record.forget(path);
  summary.deleted += removed.size;
  return removed;
}

/**
 * Takes away what is gone here, pages before what they refer to. A file that was changed on the server since this push
 * began, or that somebody has locked, stays and is named.
 */
export async function removeGone(
  site: Site,
  gone: readonly string[],
  { local, seen, summary }: { local: LocalTree; seen: RemoteTree; summary: PushSummary },
  signal: AbortSignal,
): Promise<void> {
  if (gone.length === 0) return;
  const { client, bucket, record } = site;
  const files = client.bucket(bucket);
  const patience = new Patience((line) => process.stderr.write(`${line}\n`));
  const now = await patience.attempt(signal, () =>
    listRemote(client, bucket, { missing: "it was deleted during the push", signal }),
  );
  const left = new Set(now.keys());
  const turns = [4, 3, 2, 1, 0].map((turn) => gone.filter((path) => turnOf(path) === turn));
  for (const turn of turns)
    await inParallel(turn, signal, async (path, signal) => {
      if (!now.has(path)) return record.forget(path);
      if (!sameRemote(now.get(path), seen.get(path)))
        return void summary.kept.push({ path, why: "it was changed on the server just now" });
      try {
        await patience.attempt(signal, () => files.remove(path));
      } catch (error) {
        const why = whyRefused(error);
        if (why === undefined) throw error;
        return void summary.kept.push({ path, why });
      }
      left.delete(path);
      record.forget(path);
      summary.deleted += 1;
    });
  await removeEmptied(site, gone, left, local, signal);
}

/** Folders that lost their last file and are not here either. */
async function removeEmptied(
  { client, bucket }: Site,
  gone: readonly string[],
  left: ReadonlySet<string>,
  local: LocalTree,
  signal: AbortSignal,
): Promise<void> {
  const needed = foldersOf(left);
  const emptied = [...foldersOf(gone)].filter((folder) => !needed.has(folder) && !local.folders.has(folder));
  const topmost = emptied.filter((folder) => !emptied.some((other) => folder.startsWith(`${other}/`)));
  await inParallel(topmost, signal, async (folder) => {
    // Somebody may have put something there a moment ago. That it cannot be listed means that it is gone.
    const inside = await client
      .call("static-bucket-file_list", { name: bucket, path: folder })
      .catch(() => undefined);
    if (inside?.length !== 0) return;
    // A lock on an empty folder is no reason to fail.
    await client
      .bucket(bucket)
      .remove(folder)
      .catch((error: unknown) => {
        if (whyRefused(error) === undefined) throw error;
      });
  });
}
