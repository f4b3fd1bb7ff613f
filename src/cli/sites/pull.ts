import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Fault } from "../../base/fault.ts";
import { folderProblem } from "../../base/local-fs/access.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { command, exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { interruptible, untilStopped } from "../terminal/interrupt.ts";
import { countText, numberText, sizeText } from "../terminal/quantities.ts";
import {
  type CopyJob,
  copyFiles,
  inParallel,
  newSummary,
  planText,
  reportCopies,
} from "../transfer/engine.ts";
import { fetchFile, removeLocal, whyUnwritable } from "../transfer/fetch.ts";
import {
  hashIfReadable,
  type LocalFile,
  type LocalTree,
  readLocalTree,
  realFolder,
  sameStamp,
} from "../transfer/local-tree.ts";
import { type OmittedFile, reportOmitted } from "../transfer/omitted-file.ts";
import { PushRecord } from "../transfer/record.ts";
import { BucketReader, listRemote, type RemoteFile, type RemoteTree } from "../transfer/remote-tree.ts";
import { SkipRules } from "../transfer/skip-rules.ts";
import { followChanges } from "./watch.ts";

interface PullItem extends RemoteFile {
  readonly path: string;
}

interface PullSummary {
  readonly downloaded: number;
  readonly bytes: number;
  readonly unchanged: number;
  readonly deleted: number;
  readonly left_out: readonly OmittedFile[];
  readonly kept: readonly OmittedFile[];
  readonly failed: readonly OmittedFile[];
}

interface Pull {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly dir: string;
  readonly record: PushRecord;
}

const notice = "interrupted; downloaded files are complete, and the same command continues from there";

/** Downloads what differs between a bucket and a folder. */
export const pull = command({
  name: "pull <bucket> <dir>",
  summary: "download the changed files of a bucket into a folder",
  needs: ["static-bucket-file_list", "static-bucket-file_read"],
  options: [
    ...remoteJson,
    ["--delete", "also delete files that are not in the bucket"],
    ["--dry-run", "show what would happen and change nothing"],
    ["-w, --watch", "pull again whenever the bucket changes, until Ctrl+C"],
  ],
  notes:
    "\nFiles and folders named .git or .DS_Store are not downloaded and not deleted.\n--delete keeps files that a push of the folder would skip.",
  async run({ bucket, dir, watch, ...options }, ctx) {
    if (watch && options.dryRun) throw new WrongUsage("--watch changes files; it cannot be a --dry-run");
    const client = await connect(ctx, options);
    const pulled = { client, bucket, dir, options };
    if (!watch) return interruptible(ctx, notice, (signal) => pullOnce(ctx, pulled, signal));
    await untilStopped(ctx, ({ signal }) =>
      followChanges(ctx, client, {
        bucket,
        signal,
        togetherMs,
        run: async () => showOutcome(ctx, await pullOnce(ctx, pulled, signal), options.json === true),
      }),
    );
    return exitCodes.done;
  },
});

/** Changes within this time are pulled together. */
const togetherMs = 500;

async function showOutcome(ctx: Context, { json, after = [] }: Outcome, isJson: boolean): Promise<void> {
  if (isJson) await ctx.printJson(json);
  else for (const line of after) ctx.say(line);
}

interface PullRequest {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly dir: string;
  readonly options: { readonly delete?: boolean; readonly dryRun?: boolean };
}

async function pullOnce(
  ctx: Context,
  { client, bucket, dir, options }: PullRequest,
  signal: AbortSignal,
): Promise<Outcome> {
  const folder = ctx.path(dir);
  const remote = await listRemote(client, bucket, {
    missing: "`node-server buckets` lists its buckets",
    signal,
  });
  const problem = folderProblem(folder);
  if (problem !== undefined) throw new Fault("IoError", `nothing was pulled: ${problem.path} ${problem.why}`);
  if (!options.dryRun) await mkdir(folder, { recursive: true });
  const real = await realFolderIfAny(ctx, folder, options.dryRun === true);
  const local = real === undefined ? emptyTree : readLocalTree(real);
  if (options.delete && remote.size === 0 && local.files.size > 0)
    throw new Fault(
      "InvalidInput",
      `the bucket ${bucket} is empty; \`--delete\` would empty ${dir}, so nothing was done`,
    );
  const record = await PushRecord.open(ctx, { server: client.url, bucket, dir: real ?? folder });
  const wanted = await choose(remote, { local, record }, signal);
  const gone = options.delete && real !== undefined ? goneFrom(ctx, remote, local, SkipRules.read(real)) : [];
  if (options.dryRun || real === undefined) return showPlan(ctx, wanted, gone);
  const summary = await apply(ctx, { client, bucket, dir: real, record }, wanted, gone, signal);
  return report(ctx, bucket, summary);
}

/** Files here that the bucket does not have. Those that a push skips cannot be in the bucket, so they stay. */
function goneFrom(ctx: Context, remote: RemoteTree, local: LocalTree, rules: SkipRules): LocalFile[] {
  const missing = [...local.files.values()].filter(({ path }) => !remote.has(path));
  const gone = missing.filter(({ path }) => rules.whySkipped(path) === undefined);
  if (gone.length < missing.length)
    ctx.say(
      `${countText(missing.length - gone.length, "file")} that a push skips were not deleted, although the bucket does not have them`,
    );
  return gone;
}

/** Fetches the chosen files, and then removes what is gone from the bucket, unless a file could not be fetched. */
async function apply(
  ctx: Context,
  pull: Pull,
  { files, unchanged, omitted }: Choice,
  gone: readonly LocalFile[],
  signal: AbortSignal,
): Promise<PullSummary> {
  const { client, bucket, dir, record } = pull;
  const source = new BucketReader(client, bucket);
  let downloaded = 0;
  const copy: CopyJob<PullItem>["copy"] = async ({ path, size, mtime }, tools, signal) => {
    const got = await fetchFile({ path, size, mtime, dir }, { files: source, ...tools }, signal);
    if ("why" in got) return got;
    record.set(path, { ...got, remoteMtime: mtime });
    if (!got.changed) return 0;
    downloaded += 1;
    return size;
  };
  try {
    const job = { what: "pulling", phases: [files], copy };
    const { copied, bytes, failed } = await copyFiles(ctx, job, newSummary(), signal);
    const kept: OmittedFile[] = [];
    const removed = failed.length === 0 ? gone : [];
    for (const file of removed) {
      const refusal = removeLocal(dir, file);
      if (refusal !== undefined) kept.push({ path: file.path, ...refusal });
    }
    return {
      downloaded,
      bytes,
      // A file may turn out to be here already.
      unchanged: unchanged + copied - downloaded,
      deleted: removed.length - kept.length,
      left_out: omitted,
      kept,
      failed,
    };
  } finally {
    await record.save();
  }
}

const emptyTree: LocalTree = { files: new Map(), folders: new Set(), omitted: [], skipped: [] };

async function realFolderIfAny(ctx: Context, dir: string, dry: boolean): Promise<string | undefined> {
  // A dry run does not make the folder, so it may be missing.
  return dry && statSync(dir, { throwIfNoEntry: false }) === undefined ? undefined : realFolder(ctx, dir);
}

interface Choice {
  readonly files: readonly PullItem[];
  readonly omitted: readonly OmittedFile[];
  readonly unchanged: number;
}

/** Chooses the files to fetch: those that may be written and are not proven to be here already. */
async function choose(
  remote: RemoteTree,
  { local, record }: { readonly local: LocalTree; readonly record: PushRecord },
  signal: AbortSignal,
): Promise<Choice> {
  const files: PullItem[] = [];
  const omitted: OmittedFile[] = [];
  let unchanged = 0;
  await inParallel(remote, signal, async ([path, there]) => {
    const refusal = whyUnwritable(path);
    if (refusal !== undefined) return void omitted.push({ path, ...refusal });
    const [here, known] = [local.files.get(path), record.get(path)];
    if (here === undefined || known === undefined || !record.vouchesFor(path, there))
      return void files.push({ path, ...there });
    if (!sameStamp(here.stamp, known.stamp)) {
      const readAt = Date.now();
      const hash = here.stamp.size === there.size ? await hashIfReadable(here.disk) : "";
      if (hash !== known.hash) return void files.push({ path, ...there });
      record.set(path, { stamp: here.stamp, hash, remoteMtime: there.mtime, readAt });
    }
    unchanged += 1;
  });
  return { files, omitted, unchanged };
}

function showPlan(
  ctx: Context,
  { files, omitted, unchanged }: Choice,
  gone: readonly { readonly path: string }[],
): Outcome {
  const downloads = files.map(({ path, size }) => ({ path, size }));
  const deletes = gone.map(({ path }) => path);
  reportOmitted(ctx, "not pulled", omitted);
  const json = { dry_run: true, downloads, deletes, unchanged, left_out: omitted };
  const sum = `would download ${countText(downloads.length, "file")} at most and delete ${numberText(deletes.length)}; ${numberText(unchanged)} unchanged; nothing was done`;
  return { json, text: planText("download", downloads, deletes), after: [sum] };
}

function report(ctx: Context, bucket: string, summary: PullSummary): Outcome {
  const { downloaded, bytes, deleted, unchanged } = summary;
  const line = `${bucket}: ${countText(downloaded, "file")} downloaded (${sizeText(bytes)}), ${numberText(deleted)} deleted, ${numberText(unchanged)} unchanged`;
  return reportCopies(ctx, { verb: "pulled", summary, lines: [line] });
}
