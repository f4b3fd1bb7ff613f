import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { inParallel, isContentLost, RetryPolicy } from "../transfer/engine.ts";
import {
  hashIfReadable,
  type LocalFile,
  type LocalTree,
  readLocalTree,
  sameStamp,
} from "../transfer/local-tree.ts";
import type { PushRecord } from "../transfer/record.ts";
import { foldersOf, hashRemote, listRemote, type RemoteTree } from "../transfer/remote-tree.ts";
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
