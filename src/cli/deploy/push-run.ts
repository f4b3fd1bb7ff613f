import { Fault } from "../../base/fault.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { countText, numberText, visible } from "../terminal/sizes.ts";
import { type LeftOut, type LocalFile, type LocalTree, readLocalTree } from "./local-tree.ts";
import { type Meter, openMeter } from "./meter.ts";
import { inTurns } from "./push-order.ts";
import { type PushPlan, planPush } from "./push-plan.ts";
import type { PushRecord } from "./push-record.ts";
import { removeFirst, removeGone } from "./push-removal.ts";
import { sendFile } from "./push-send.ts";
import { hashRemote, listRemote } from "./remote-tree.ts";
import { inParallel, Patience } from "./upload-queue.ts";

/** One folder and the bucket it goes to. */
export interface Site {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly dir: string;
  readonly record: PushRecord;
  readonly delete: boolean;
}

/** What a push did, as `--json` prints it. */
export interface PushSummary {
  uploaded: number;
  bytes: number;
  unchanged: number;
  compared: number;
  deleted: number;
  /** Not pushed by intention, such as links that lead out. */
  readonly left_out: LeftOut[];
  /** Not deleted although gone here. */
  readonly kept: LeftOut[];
  readonly failed: LeftOut[];
  /** Had to wait for those that failed. */
  not_sent: number;
}

const saveEveryMs = 5000;

export async function plan(site: Site, say: (line: string) => void, signal: AbortSignal) {
  const { client, bucket, dir, record } = site;
  const local = readLocalTree(dir);
  const missing = `\`node-server buckets create ${bucket}\` makes it`;
  const remote = await listRemote(client, bucket, { missing, signal });
  const patience = new Patience(say);
  const files = client.bucket(bucket);
  const made = await planPush(
    local,
    remote,
    record,
    (path, signal) => patience.attempt(signal, () => hashRemote(files, path, signal)),
    signal,
  );
  if (site.delete && local.files.size === 0 && remote.size > 0)
    throw new Fault(
      "InvalidInput",
      `${dir} holds no file; \`--delete\` would empty the bucket, so nothing was done`,
    );
  if (!site.delete && made.inTheWay[0] !== undefined)
    throw new Fault(
      "InvalidInput",
      `at ${made.inTheWay[0]} the server has a folder where a file is here, or the other way round; \`--delete\` lets it be replaced`,
    );
  record.keepOnly((path) => local.files.has(path) || remote.has(path));
  return { plan: made, local, remote };
}

/** Looks, compares, sends what differs, and takes away what is gone. What was done is on record whatever happens. */
export async function pushOnce(
  site: Site,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<PushSummary> {
  try {
    const { plan: todo, local, remote } = await plan(site, say, signal);
    for (const path of todo.replacesOthers)
      say(`note: ${visible(path)} was changed on the server since the last push and is replaced`);
    const summary = newSummary(todo, local);
    const removed = site.delete ? await removeFirst(site, todo, remote, summary, signal) : new Set<string>();
    await sendAll(site, todo, summary, say, signal);
    if (site.delete && summary.failed.length === 0)
      await removeGone(
        site,
        todo.gone.filter((path) => !removed.has(path)),
        { local, seen: remote, summary },
        signal,
      );
    return summary;
  } finally {
    await site.record.save();
  }
}

function newSummary({ unchanged, compared }: PushPlan, { leftOut }: LocalTree): PushSummary {
  return {
    uploaded: 0,
    bytes: 0,
    unchanged,
    compared,
    deleted: 0,
    left_out: [...leftOut],
    kept: [],
    failed: [],
    not_sent: 0,
  };
}

async function sendAll(
  site: Site,
  { uploads, folders }: PushPlan,
  summary: PushSummary,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (uploads.length === 0) return;
  const files = site.client.bucket(site.bucket);
  const meter = openMeter("pushing", {
    bytes: uploads.reduce((sum, { look }) => sum + look.size, 0),
    files: uploads.length,
  });
  const patience = new Patience((line) => meter.say(line));
  let done = 0;
  try {
    await inParallel(folders, signal, (folder, signal) =>
      patience.attempt(signal, () => files.makeFolder(folder)),
    );
    let savedAt = Date.now();
    for (const turn of inTurns(uploads)) {
      if (summary.failed.length > 0) break;
      await inParallel(turn, signal, async (file, signal) => {
        await sendOne(site, file, { summary, meter, patience }, signal);
        done += 1;
        if (Date.now() - savedAt < saveEveryMs) return;
        savedAt = Date.now();
        await site.record.save();
      });
    }
    summary.not_sent = uploads.length - done;
  } catch (error) {
    if (summary.uploaded > 0)
      say(`${numberText(summary.uploaded)} of ${countText(uploads.length, "file")} are up and on record`);
    throw error;
  } finally {
    meter.end();
  }
}

async function sendOne(
  { client, bucket, record }: Site,
  file: LocalFile,
  { summary, meter, patience }: { summary: PushSummary; meter: Meter; patience: Patience },
  signal: AbortSignal,
): Promise<void> {
  const { path } = file;
  // Until the answer is here nobody knows what the server holds.
  record.forget(path);
  const sent = await sendFile(client.bucket(bucket), file, meter, patience, signal);
  meter.fileDone();
  if ("why" in sent) {
    (sent.harmless ? summary.left_out : summary.failed).push({ path, why: sent.why });
    return;
  }
  // The server was told this time, so a later look at it can tell whether it is still that file.
  record.set(path, sent.look, sent.hash, sent.look.mtime, sent.readAt);
  summary.uploaded += 1;
  summary.bytes += sent.look.size;
}
