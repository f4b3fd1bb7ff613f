import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { countText, numberText } from "../terminal/quantities.ts";
import {
  type CopyJob,
  type CopySummary,
  copyFiles,
  inParallel,
  isContentLost,
  newSummary,
  RetryPolicy,
  refusalOf,
} from "../transfer/engine.ts";
import {
  hashIfReadable,
  type LocalFile,
  type LocalTree,
  readLocalTree,
  sameStamp,
} from "../transfer/local-tree.ts";
import type { OmittedFile } from "../transfer/omitted-file.ts";
import type { PushRecord } from "../transfer/record.ts";
import { foldersOf, hashRemote, listRemote, type RemoteTree, sameRemote } from "../transfer/remote-tree.ts";
import { sendFile } from "../transfer/send.ts";
import { type SkipOptions, SkipRules } from "../transfer/skip-rules.ts";

/** Site is one folder and the bucket that it is pushed to. */
export interface Site {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly dir: string;
  readonly record: PushRecord;
  readonly delete: boolean;
  /** Whether all files are uploaded, also those that seem equal. */
  readonly force: boolean;
  readonly skip: SkipOptions;
}

export interface PushPlan {
  readonly uploads: readonly LocalFile[];
  /** New folders that hold no other new one; making one makes its parents too. */
  readonly folders: readonly string[];
  readonly unchanged: number;
  /** The number of files that were compared by reading both sides, because the record did not have them. */
  readonly compared: number;
  /** In the bucket and not in the folder. */
  readonly gone: readonly string[];
  /** In the bucket, although the rules skip them: `--delete` leaves them. */
  readonly skippedThere: readonly string[];
  /** Paths that are a file on one side and a folder on the other. */
  readonly inTheWay: readonly string[];
  /** Changed in the bucket by somebody else since the last push, and about to be replaced. */
  readonly replacesOthers: readonly string[];
}

/** PlannedPush is a plan and what it was made from. */
interface PlannedPush {
  readonly plan: PushPlan;
  readonly local: LocalTree;
  readonly remote: RemoteTree;
}

interface Sides {
  readonly local: LocalTree;
  readonly remote: RemoteTree;
  readonly rules: SkipRules;
  readonly record: PushRecord;
  /** Whether all files are uploaded, also those that seem equal. */
  readonly force: boolean;
  /** Hashes a file of the bucket by reading it; undefined if the server has lost its content. */
  readonly remoteHash: (path: string, signal: AbortSignal) => Promise<string | undefined>;
}

/** Reads both sides and decides what a push has to do. Throws where it would do harm without `--delete`, or would empty the bucket. */
export async function planPush(
  ctx: Context,
  { client, bucket, dir, record, force, delete: mayDelete, skip }: Site,
  signal: AbortSignal,
): Promise<PlannedPush> {
  const rules = SkipRules.read(dir, skip);
  const local = readLocalTree(dir, rules);
  const missing = `\`node-server buckets create ${bucket}\` creates it`;
  const remote = await listRemote(client, bucket, { missing, signal });
  const retry = new RetryPolicy(ctx);
  const files = client.bucket(bucket);
  const remoteHash: Sides["remoteHash"] = (path, signal) =>
    retry
      .attempt(signal, () => hashRemote(files, path, signal))
      .catch((error: unknown) => {
        if (!isContentLost(error)) throw error;
        ctx.say(`note: the server has lost the content of ${visible(path)}; it is uploaded again`);
        return undefined;
      });
  const plan = await compare({ local, remote, rules, record, force, remoteHash }, signal);
  if (mayDelete && local.files.size === 0 && remote.size > 0)
    throw new Fault(
      "InvalidInput",
      `${dir} contains no file; \`--delete\` would empty the bucket, so nothing was done`,
    );
  if (!mayDelete && plan.inTheWay[0] !== undefined)
    throw new Fault(
      "InvalidInput",
      `${plan.inTheWay[0]} is a file on one side and a folder on the other; \`--delete\` replaces it`,
      { path: plan.inTheWay[0], reason: "path_taken" },
    );
  record.keepOnly((path) => local.files.has(path) || remote.has(path));
  return { plan, local, remote };
}

async function compare(sides: Sides, signal: AbortSignal): Promise<PushPlan> {
  const { local, remote, rules, record } = sides;
  const different = new Set<string>();
  const replacesOthers: string[] = [];
  let compared = 0;
  await inParallel(local.files.values(), signal, async (file, signal) => {
    const there = remote.get(file.path);
    if (there === undefined || sides.force) return void different.add(file.path);
    const trusted = record.vouchesFor(file.path, there);
    if (there.size === file.stamp.size) {
      if (!trusted) compared += 1;
      if (await isSame(sides, file, { mtime: there.mtime, trusted }, signal)) return;
    }
    different.add(file.path);
    if (!trusted && record.get(file.path) !== undefined) replacesOthers.push(file.path);
  });
  const uploads = [...local.files.values()].filter(({ path }) => different.has(path));
  const missing = [...remote.keys()].filter((path) => !local.files.has(path));
  return {
    uploads,
    folders: newFolders(uploads, remote),
    unchanged: local.files.size - uploads.length,
    compared,
    gone: missing.filter((path) => rules.whySkipped(path) === undefined),
    skippedThere: missing.filter((path) => rules.whySkipped(path) !== undefined),
    inTheWay: findInTheWay(uploads, remote),
    replacesOthers: replacesOthers.sort(),
  };
}

/**
 * `isSame` returns whether a file has the same content on both sides. `trusted`: the record still describes the one in the bucket.
 */
async function isSame(
  { record, remoteHash }: Sides,
  { path, disk, stamp }: LocalFile,
  { mtime, trusted }: { readonly mtime: number; readonly trusted: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const known = record.get(path);
  const isUntouched = known !== undefined && sameStamp(known.stamp, stamp);
  if (trusted && isUntouched) return true;
  const readAt = Date.now();
  const [here, there] = await Promise.all([
    isUntouched ? known.hash : hashIfReadable(disk),
    trusted && known !== undefined ? known.hash : remoteHash(path, signal),
  ]);
  if (here === undefined || here !== there) return false;
  record.set(path, { stamp, hash: here, remoteMtime: mtime, readAt });
  return true;
}

function newFolders(uploads: readonly LocalFile[], remote: RemoteTree): string[] {
  const present = foldersOf(remote.keys());
  const missing = [...foldersOf(uploads.map(({ path }) => path))].filter((folder) => !present.has(folder));
  const above = foldersOf(missing);
  return missing.filter((folder) => !above.has(folder));
}

function findInTheWay(uploads: readonly LocalFile[], remote: RemoteTree): string[] {
  const remoteFolders = foldersOf(remote.keys());
  const files = [...foldersOf(uploads.map(({ path }) => path))].filter((folder) => remote.has(folder));
  const folders = uploads.map(({ path }) => path).filter((path) => remoteFolders.has(path));
  return [...files, ...folders].sort();
}

/** PushSummary is what a push did, as `--json` prints it. */
export interface PushSummary {
  readonly uploaded: number;
  readonly bytes: number;
  readonly unchanged: number;
  readonly compared: number;
  readonly deleted: number;
  /** Not pushed by intention, such as links that lead out of the folder. */
  readonly left_out: OmittedFile[];
  /** Not pushed by a rule; a folder has a slash at its end. */
  readonly skipped: readonly OmittedFile[];
  /** In the bucket, although the rules skip them. */
  readonly skipped_there: readonly string[];
  /** Changed on the server since the last push, and replaced. */
  readonly replaces_others: readonly string[];
  /** Not deleted, although missing in the folder. */
  readonly kept: OmittedFile[];
  readonly failed: OmittedFile[];
  /** Not sent, because files that they may refer to failed. */
  readonly not_sent: number;
}

/** The interval at which the record is saved during a push, so that one that is killed can be continued. */
const saveIntervalMs = 5000;

/** Compares both sides, uploads what differs, and deletes what is gone if requested. The record is saved even when it fails. */
export async function pushOnce(ctx: Context, site: Site, signal: AbortSignal): Promise<PushSummary> {
  try {
    const { plan, local, remote } = await planPush(ctx, site, signal);
    for (const path of plan.replacesOthers)
      ctx.say(`note: ${visible(path)} was changed on the server since the last push and is replaced`);
    const removed = site.delete ? await removeInTheWay(ctx, site, plan, remote, signal) : new Set<string>();
    const { copied, bytes, left_out, failed } = await sendAll(ctx, site, plan, signal);
    const isDeleting = site.delete && failed.length === 0;
    const gone = isDeleting ? plan.gone.filter((path) => !removed.has(path)) : [];
    const { deleted, kept } = await removeGone(ctx, site, gone, { local, seen: remote }, signal);
    return {
      uploaded: copied,
      bytes,
      unchanged: plan.unchanged,
      compared: plan.compared,
      deleted: removed.size + deleted,
      left_out: [...local.omitted, ...left_out],
      skipped: local.skipped,
      skipped_there: plan.skippedThere,
      replaces_others: plan.replacesOthers,
      kept,
      failed,
      not_sent: plan.uploads.length - copied - left_out.length - failed.length,
    };
  } finally {
    await site.record.save();
  }
}

/** Uploads what the plan names, phase by phase, and saves the record now and then. */
async function sendAll(
  ctx: Context,
  { client, bucket, record }: Site,
  { uploads, folders }: PushPlan,
  signal: AbortSignal,
): Promise<CopySummary> {
  const files = client.bucket(bucket);
  let savedAt = ctx.clock.monotonic();
  const copy: CopyJob<LocalFile>["copy"] = async (file, tools, signal) => {
    const { path } = file;
    // Until the answer arrives it is unknown what the bucket holds.
    record.forget(path);
    const sent = await sendFile(file, { files, ...tools }, signal);
    // The upload set this time in the bucket, so a later push can tell whether it is still the same file.
    if (!("why" in sent)) record.set(path, { ...sent, remoteMtime: sent.stamp.mtime });
    if (ctx.clock.monotonic() - savedAt >= saveIntervalMs) {
      savedAt = ctx.clock.monotonic();
      await record.save();
    }
    return "why" in sent ? sent : sent.stamp.size;
  };
  const job = { what: "pushing", phases: inPhases(uploads), folders: { of: files, paths: folders }, copy };
  const done = newSummary();
  try {
    return await copyFiles(ctx, job, done, signal);
  } catch (error) {
    if (done.copied > 0)
      ctx.say(`${numberText(done.copied)} of ${countText(uploads.length, "file")} are uploaded and recorded`);
    throw error;
  }
}

const pages = /\.(html?|xhtml)$/i;
const code = /\.(css|m?js|cjs|json|map)$/i;
const overviews = /(^|\/)index\.(html?|xhtml)$|\.(xml|rss|atom|webmanifest)$/i;
const entrances = /^index\.(html?|xhtml)$|(^|\/)(sw|service-worker)\.js$/i;

/** The phase of a file: assets; styles and scripts, which refer to them; pages; overviews of pages; the front page and service workers. */
function phaseOf(path: string): number {
  if (entrances.test(path)) return 4;
  if (overviews.test(path)) return 3;
  if (pages.test(path)) return 2;
  return code.test(path) ? 1 : 0;
}

/**
 * Groups files into phases, each of which must be complete before the next begins, so that a visitor who is shown a page
 * finds what it refers to. Within a phase the deepest files come first.
 */
function inPhases<T extends { readonly path: string }>(files: readonly T[]): T[][] {
  const phases: T[][] = [[], [], [], [], []];
  for (const file of files) phases[phaseOf(file.path)]?.push(file);
  const depth = ({ path }: T) => path.split("/").length;
  return phases.filter((phase) => phase.length > 0).map((phase) => phase.sort((a, b) => depth(b) - depth(a)));
}

/** Removes files where folders have to be made, and folders where files have to be put. Returns the files that were removed with them. */
async function removeInTheWay(
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

/**
 * Deletes from the bucket what the folder does not hold, pages before what they refer to. A file that was changed in the
 * bucket since this push began (`seen`), or that somebody has locked, is kept.
 */
async function removeGone(
  ctx: Context,
  site: Site,
  gone: readonly string[],
  { local, seen }: { readonly local: LocalTree; readonly seen: RemoteTree },
  signal: AbortSignal,
): Promise<{ readonly deleted: number; readonly kept: OmittedFile[] }> {
  const kept: OmittedFile[] = [];
  let deleted = 0;
  if (gone.length === 0) return { deleted, kept };
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
        return void kept.push({ path, reason: "changed", why: "it was changed on the server just now" });
      try {
        await retry.attempt(signal, () => files.remove(path));
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        return void kept.push({ path, ...refusal });
      }
      left.delete(path);
      record.forget(path);
      deleted += 1;
    });
  const needed = foldersOf(left);
  const emptied = [...foldersOf(gone)].filter((folder) => !needed.has(folder) && !local.folders.has(folder));
  await removeEmptied(site, emptied, signal);
  return { deleted, kept };
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
