import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import { countText, numberText } from "../terminal/quantities.ts";
import type { LocalFile, LocalTree } from "../transfer/local-tree.ts";
import { openMeter } from "../transfer/meter.ts";
import { sendFile } from "../transfer/send.ts";
import { inParallel, RetryPolicy, type Transfer } from "../transfer/transfer.ts";
import { inPhases } from "./order.ts";
import { type PushPlan, planPush } from "./push-plan.ts";
import { removeGone, removeInTheWay } from "./remove.ts";
import type { PushSummary, Site } from "./site.ts";

/** The interval at which the record is saved during a push, so that one that is killed can be continued. */
const saveIntervalMs = 5000;

/** Compares both sides, uploads what differs, and deletes what is gone if requested. The record is saved even when it fails. */
export async function pushOnce(ctx: Context, site: Site, signal: AbortSignal): Promise<PushSummary> {
  try {
    const { plan, local, remote } = await planPush(ctx, site, signal);
    for (const path of plan.replacesOthers)
      ctx.say(`note: ${visible(path)} was changed on the server since the last push and is replaced`);
    const summary = newSummary(plan, local);
    const removed = site.delete ? await removeInTheWay(ctx, site, plan, remote, signal) : new Set<string>();
    summary.deleted += removed.size;
    await sendAll(ctx, { site, summary }, plan, signal);
    if (site.delete && summary.failed.length === 0) {
      const gone = plan.gone.filter((path) => !removed.has(path));
      await removeGone(ctx, site, gone, { local, seen: remote, summary }, signal);
    }
    return summary;
  } finally {
    await site.record.save();
  }
}

function newSummary(
  { unchanged, compared, skippedThere, replacesOthers }: PushPlan,
  { omitted, skipped }: LocalTree,
): PushSummary {
  return {
    uploaded: 0,
    bytes: 0,
    unchanged,
    compared,
    deleted: 0,
    left_out: [...omitted],
    skipped,
    skipped_there: skippedThere,
    replaces_others: replacesOthers,
    kept: [],
    failed: [],
    not_sent: 0,
  };
}

interface Push {
  readonly site: Site;
  readonly summary: PushSummary;
}

async function sendAll(
  ctx: Context,
  push: Push,
  { uploads, folders }: PushPlan,
  signal: AbortSignal,
): Promise<void> {
  if (uploads.length === 0) return;
  const { site, summary } = push;
  const meter = openMeter(ctx, "pushing", {
    bytes: uploads.reduce((sum, { stamp }) => sum + stamp.size, 0),
    files: uploads.length,
  });
  const retry = new RetryPolicy({ clock: ctx.clock, say: (line) => meter.say(line) });
  const transfer: Transfer = { files: site.client.bucket(site.bucket), meter, retry };
  let done = 0;
  try {
    await inParallel(folders, signal, (folder, signal) =>
      retry.attempt(signal, () => transfer.files.makeFolder(folder)),
    );
    let savedAt = Date.now();
    for (const phase of inPhases(uploads)) {
      if (summary.failed.length > 0) break;
      await inParallel(phase, signal, async (file, signal) => {
        await sendOne(push, file, transfer, signal);
        done += 1;
        if (Date.now() - savedAt < saveIntervalMs) return;
        savedAt = Date.now();
        await site.record.save();
      });
    }
    summary.not_sent = uploads.length - done;
  } catch (error) {
    if (summary.uploaded > 0)
      ctx.say(
        `${numberText(summary.uploaded)} of ${countText(uploads.length, "file")} are uploaded and recorded`,
      );
    throw error;
  } finally {
    meter.end();
  }
}

async function sendOne(
  { site: { record }, summary }: Push,
  file: LocalFile,
  transfer: Transfer,
  signal: AbortSignal,
): Promise<void> {
  const { path } = file;
  // Until the answer arrives it is unknown what the bucket holds.
  record.forget(path);
  const sent = await sendFile(file, transfer, signal);
  transfer.meter.fileDone();
  if ("why" in sent) {
    const { reason, why, harmless } = sent;
    (harmless ? summary.left_out : summary.failed).push({ path, reason, why });
    return;
  }
  // The upload set this time in the bucket, so a later push can tell whether it is still the same file.
  record.set(path, { ...sent, remoteMtime: sent.stamp.mtime });
  summary.uploaded += 1;
  summary.bytes += sent.stamp.size;
}
