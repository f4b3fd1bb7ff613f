import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import type { LocalTree } from "../transfer/local-tree.ts";
import { foldersOf, listRemote, type RemoteTree, sameRemote } from "../transfer/remote-tree.ts";
import { refusalOf } from "../transfer/send.ts";
import { inParallel, RetryPolicy } from "../transfer/transfer.ts";
import { inPhases } from "./order.ts";
import type { PushPlan } from "./push-plan.ts";
import type { PushSummary, Site } from "./site.ts";

/** Removes files where folders have to be made, and folders where files have to be put. Returns the files that were removed with them. */
export async function removeInTheWay(
  ctx: Context,
  { client, bucket, record }: Site,
  { inTheWay }: PushPlan,
  remote: RemoteTree,
  signal: AbortSignal,
): Promise<Set<string>> {
  const removed = new Set<string>();
  for (const path of inTheWay) {
    signal.throwIfAborted();
    ctx.say(`note: ${visible(path)} conflicts with a local file or folder and is removed first`);
    await client.bucket(bucket).remove(path);
    for (const file of remote.keys()) if (file === path || file.startsWith(`${path}/`)) removed.add(file);
  }
  for (const file of removed) record.forget(file);
  return removed;
}

/** Removal is what `removeGone` decides by, and the summary in which it counts. */
export interface Removal {
  readonly local: LocalTree;
  /** The bucket as it was when this push began. */
  readonly seen: RemoteTree;
  readonly summary: PushSummary;
}

/**
 * Deletes from the bucket what the folder does not hold, pages before what they refer to. A file that was changed in the
 * bucket since this push began, or that somebody has locked, stays and is named in the summary.
 */
export async function removeGone(
  ctx: Context,
  site: Site,
  gone: readonly string[],
  { local, seen, summary }: Removal,
  signal: AbortSignal,
): Promise<void> {
  if (gone.length === 0) return;
  const { client, bucket, record } = site;
  const files = client.bucket(bucket);
  const retry = new RetryPolicy(ctx);
  const now = await retry.attempt(signal, () =>
    listRemote(client, bucket, { missing: "it was deleted during the push", signal }),
  );
  const left = new Set(now.keys());
  for (const phase of inPhases(gone.map((path) => ({ path }))).reverse())
    await inParallel(phase, signal, async ({ path }, signal) => {
      if (!now.has(path)) return record.forget(path);
      if (!sameRemote(now.get(path), seen.get(path)))
        return void summary.kept.push({
          path,
          reason: "changed",
          why: "it was changed on the server just now",
        });
      try {
        await retry.attempt(signal, () => files.remove(path));
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        return void summary.kept.push({ path, ...refusal });
      }
      left.delete(path);
      record.forget(path);
      summary.deleted += 1;
    });
  const needed = foldersOf(left);
  const emptied = [...foldersOf(gone)].filter((folder) => !needed.has(folder) && !local.folders.has(folder));
  await removeEmptied(site, emptied, signal);
}

/** Removes folders that lost their last file and that the folder here does not have. */
async function removeEmptied(
  { client, bucket }: Site,
  emptied: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const topmost = emptied.filter((folder) => !emptied.some((other) => folder.startsWith(`${other}/`)));
  await inParallel(topmost, signal, async (folder) => {
    // Somebody may have put a file there a moment ago. A folder that cannot be listed is gone.
    const inside = await client
      .call("static-bucket-file_list", { name: bucket, path: folder })
      .catch(() => undefined);
    if (inside?.length !== 0) return;
    // A lock on an empty folder does not fail the push.
    await client
      .bucket(bucket)
      .remove(folder)
      .catch((error: unknown) => {
        if (refusalOf(error) === undefined) throw error;
      });
  });
}
