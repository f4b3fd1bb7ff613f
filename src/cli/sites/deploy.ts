import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { ClientError, type NodeServerClient, NotFound, patterns, RpcError } from "../../client/index.ts";
import { command, exitCodes, type Options, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { reportCertificates } from "../status/certs.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { countText, numberText, sizeText } from "../terminal/quantities.ts";
import { type CopyJob, copyFiles, inParallel, newSummary, RetryPolicy, sizeOf } from "../transfer/engine.ts";
import {
  hashIfReadable,
  type LocalFile,
  type LocalTree,
  readLocalTree,
  realFolder,
  sameStamp,
} from "../transfer/local-tree.ts";
import { type OmittedFile, reportOmitted, reportSkipped } from "../transfer/omitted-file.ts";
import { PushRecord } from "../transfer/record.ts";
import { sendFile } from "../transfer/send.ts";
import { SkipRules, skipNotes, skipOptions } from "../transfer/skip-rules.ts";
import { type LockContext, withTransferLock } from "../transfer/transfer-lock.ts";
import { checkDeploy, errorsIn, previewAddress, publishedAddress, reportProblems } from "./publish-result.ts";

const deployOptions = [
  ...remoteJson,
  [
    "--preview [name]",
    "print a preview address instead of publishing; with a name, one for all deploys of the name",
    { parse: parsePreviewName },
  ],
  ["--note <text>", "a note for `deploys`, such as a commit"],
  ["--force", "begin even if someone else is deploying to the bucket"],
  ...skipOptions,
] as const;

/** The name of a branch often has other characters. */
function parsePreviewName(text: string): string {
  if (patterns.previewName.test(text)) return text;
  const near = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
  const advice = near === "" ? "" : `, such as ${near}`;
  throw new WrongUsage(
    `--preview ${visible(text)}: a name has 1 to 63 characters, of a-z, 0-9 and - within it${advice}; the folder and the bucket come before --preview`,
  );
}

type DeployOptions = Options<typeof deployOptions>;

/** Deploying is a folder on its way to a bucket. */
interface Deploying {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly tree: LocalTree;
  readonly record: PushRecord;
  readonly options: DeployOptions;
}

/** Files of one call. The server takes 5,000, but answers when it has compared and copied all of them. */
const maxPerCall = 1000;

/** Longest time that the end of a failed deploy may take. */
const dropTimeoutMs = 5000;

const notice = "interrupted; nothing was published, run the command again";

/** Uploads a folder beside the files of a bucket and puts it in their place at once, or with `--preview` shows it first. */
export const deploy = command({
  name: "deploy <dir> <bucket>",
  summary: "deploy a folder to a bucket (atomic)",
  needs: ["static-bucket_deploy_begin", "files"],
  options: deployOptions,
  notes: `\n${skipNotes}\nThe previous site stays as a deploy; \`rollback\` publishes it again.`,
  async run({ dir, bucket, ...options }, ctx) {
    const client = await connect(ctx, options);
    const real = realFolder(ctx, dir);
    const tree = readLocalTree(real, SkipRules.read(real, options));
    if (tree.files.size === 0)
      throw new Fault("InvalidInput", `${dir} contains no files to deploy; nothing was done`);
    // What is known of the folder is its hashes; of a push it is also what the bucket has, so that is kept apart.
    const record = await PushRecord.open(ctx, { server: client.url, bucket: `${bucket}@`, dir: real });
    const deploying: Deploying = { client, bucket, tree, record, options };
    return interruptible(ctx, notice, (signal) =>
      withTransferLock(ctx, client, { bucket, what: "deploy" }, (lock) =>
        deployOnce(ctx, deploying, lock, signal),
      ),
    );
  },
});

async function deployOnce(
  ctx: Context,
  deploying: Deploying,
  lock: LockContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const { client, bucket, tree, record, options } = deploying;
  const deploy = await begin(deploying, lock);
  await lock.remember(deploy);
  let mayBePublished = false;
  try {
    const done = await fill(ctx, { client, bucket, deploy, record }, [...tree.files.values()], signal);
    reportSkipped(ctx, tree.skipped, options);
    reportOmitted(ctx, "not deployed", [...tree.omitted, ...done.left_out]);
    reportOmitted(ctx, "failed", done.failed);
    if (done.failed.length > 0) {
      ctx.warn(`nothing was published, because ${countText(done.failed.length, "file")} failed`);
      return { json: { ...done, complete: false, published: false }, code: exitCodes.failed };
    }
    if (!tree.files.has("index.html") && !tree.files.has("_redirects"))
      ctx.say(
        "note: the folder has no index.html, so the site has no start page; check that it is the generator's output",
      );
    signal.throwIfAborted();
    // From here on a signal is not heeded: whether it was published would not be known.
    mayBePublished = true;
    const outcome = await finish(ctx, deploying, deploy, done);
    await lock.remember(undefined);
    return outcome;
  } finally {
    if (!mayBePublished && (await drop(ctx, client, { bucket, deploy }))) await lock.remember(undefined);
  }
}

/** Begins a deploy. One that an earlier process of this user left behind half filled is deleted first. */
async function begin({ client, bucket, options }: Deploying, { leftDeploy }: LockContext): Promise<string> {
  const preview = typeof options.preview === "string" ? options.preview : undefined;
  const params = { name: bucket, note: options.note, preview, force: options.force };
  try {
    return (await client.call("static-bucket_deploy_begin", params)).deploy;
  } catch (error) {
    if (error instanceof NotFound)
      throw new Fault(
        "NotFound",
        `the server has no bucket ${bucket}; \`node-server buckets create ${bucket}\` creates it`,
      );
    if (!(error instanceof RpcError) || error.data.reason !== "deploy_open") throw error;
    const { deploy, username, by } = error.data;
    if (leftDeploy === undefined || deploy !== leftDeploy)
      throw new Fault(
        "Other",
        `${visible(String(username ?? by))} is deploying to this bucket (deploy ${visible(String(deploy))}); nothing was done. Try again later, or use --force`,
        { ...error.data, reason: "deploy_open" },
      );
    await client.call("static-bucket_deploy_delete", { name: bucket, deploy: leftDeploy });
    return (await client.call("static-bucket_deploy_begin", params)).deploy;
  }
}

/** Deletes a deploy that will not be published. False if the server cannot be reached; it does so by itself after a day. */
async function drop(
  ctx: Context,
  client: NodeServerClient,
  { bucket, deploy }: { readonly bucket: string; readonly deploy: string },
): Promise<boolean> {
  try {
    await client.call("static-bucket_deploy_delete", { name: bucket, deploy }, { timeoutMs: dropTimeoutMs });
    return true;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    ctx.say(
      `note: the unfinished deploy ${deploy} remains; \`node-server deploys ${bucket} --delete ${deploy}\` deletes it`,
    );
    return false;
  }
}

async function finish(
  ctx: Context,
  deploying: Deploying,
  deploy: string,
  done: FillSummary,
): Promise<Outcome> {
  const { client, bucket, tree, options } = deploying;
  const counts = `${countText(done.files, "file")} (${sizeText(done.bytes)}), ${numberText(done.uploaded)} uploaded (${sizeText(done.uploaded_bytes)})`;
  const left_out = [...tree.omitted, ...done.left_out];
  const summary = { deploy, ...done, left_out, skipped: tree.skipped };
  if (options.preview) {
    const checked = await checkDeploy(ctx, client, { bucket, deploy });
    const { address, expires } = await previewAddress(ctx, client, { bucket, deploy });
    ctx.say(`${bucket}: deploy ${deploy} is ready, not published: ${counts}`);
    ctx.say(`\`node-server deploys ${bucket} --publish ${deploy}\` publishes it; its preview:`);
    const complete = reportMissing(ctx, tree.omitted.length, errorsIn(checked));
    const { added, changed, removed, unchanged, problems } = checked;
    const changes = { added, changed, removed, unchanged };
    const json = { ...summary, complete, published: false, changes, problems, address, expires };
    return { json, text: `${address}\n`, code: complete ? exitCodes.done : exitCodes.failed };
  }
  // Publishing what is published already succeeds, so it can be repeated when the answer was lost.
  const published = await new RetryPolicy(ctx)
    .attempt(new AbortController().signal, () =>
      client.call("static-bucket_deploy_publish", { name: bucket, deploy }),
    )
    .catch((error: unknown) => {
      ctx.say(
        error instanceof RpcError
          ? `deploy ${deploy} is complete and not published; \`node-server deploys ${bucket} --publish ${deploy}\` publishes it`
          : `deploy ${deploy} is complete; \`node-server deploys ${bucket}\` shows whether it is published`,
      );
      throw error;
    });
  reportProblems(ctx, published);
  const address = publishedAddress(client, bucket, published);
  if (published.host !== null) await reportCertificates(ctx, client, [published.host]);
  const { replaced, problems } = published;
  ctx.say(`${bucket}: published ${deploy}: ${counts}`);
  if (replaced !== null) ctx.say(`\`node-server rollback ${bucket}\` goes back to ${replaced}`);
  const complete = reportMissing(ctx, tree.omitted.length, errorsIn(published));
  const json = { ...summary, complete, published: true, replaced, problems, address };
  return { json, text: `${address}\n`, code: complete ? exitCodes.done : exitCodes.failed };
}

/**
 * `reportMissing` returns whether a deploy has everything that the folder has, and reports what a job of CI must not overlook. A
 * file that vanished during the deploy is not missing.
 */
function reportMissing(ctx: Context, omitted: number, errors: number): boolean {
  const missing = [
    ...(omitted > 0
      ? [`${countText(omitted, "file")} of the folder cannot be deployed; rename or --exclude them`]
      : []),
    ...(errors > 0 ? [`${countText(errors, "line")} of _headers and _redirects cannot be applied`] : []),
  ];
  for (const what of missing) ctx.warn(`node-server: ${what}: see above`);
  return missing.length === 0;
}

/** Filling is a deploy that is under way, and what is known of the folder from earlier ones. */
interface Filling {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly deploy: string;
  readonly record: PushRecord;
}

/** FillSummary is what went into a deploy. */
interface FillSummary {
  readonly files: number;
  readonly bytes: number;
  readonly uploaded: number;
  readonly uploaded_bytes: number;
  readonly left_out: OmittedFile[];
  readonly failed: OmittedFile[];
}

interface FileDigest {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** Puts files into a deploy: the server takes over what it has, the others are uploaded, and then it is asked whether all arrived. */
async function fill(
  ctx: Context,
  filling: Filling,
  files: readonly LocalFile[],
  signal: AbortSignal,
): Promise<FillSummary> {
  try {
    const { announced, unreadable } = await hashAll(filling, files, signal);
    const missing = new Set(await add(ctx, filling, announced, signal));
    const uploads = files.filter(({ path }) => missing.has(path));
    const { sent, copied, bytes, left_out, failed } = await sendAll(ctx, filling, uploads, signal);
    const wrong = new Set(await add(ctx, filling, sent, signal));
    const arrived = [
      ...announced.filter(({ path }) => !missing.has(path)),
      ...sent.filter(({ path }) => !wrong.has(path)),
    ];
    const why = "the content that arrived differs from what was sent";
    const differing = [...wrong].map((path) => ({ path, reason: "digest_mismatch", why }) as const);
    return {
      files: arrived.length,
      bytes: sizeOf(arrived),
      uploaded: copied,
      uploaded_bytes: bytes,
      left_out,
      failed: [...unreadable, ...failed, ...differing],
    };
  } finally {
    await filling.record.save();
  }
}

/** Hashes the files that the record does not know. */
async function hashAll({ record }: Filling, files: readonly LocalFile[], signal: AbortSignal) {
  const paths = new Set(files.map(({ path }) => path));
  record.keepOnly((path) => paths.has(path));
  const announced: FileDigest[] = [];
  const unreadable: OmittedFile[] = [];
  await inParallel(files, signal, async ({ path, disk, stamp }) => {
    const known = record.get(path);
    const readAt = Date.now();
    const isKnown = known !== undefined && sameStamp(known.stamp, stamp);
    const hash = isKnown ? known.hash : await hashIfReadable(disk);
    if (hash === undefined)
      return void unreadable.push({
        path,
        reason: "not_permitted",
        why: `${disk} cannot be read; check its owner and its mode`,
      });
    if (!isKnown) record.set(path, { stamp, hash, remoteMtime: 0, readAt });
    announced.push({ path, size: stamp.size, sha256: hash });
  });
  return { announced, unreadable };
}

/** Announces files, and returns the paths of those that the deploy does not have. */
async function add(
  ctx: Context,
  { client, bucket, deploy }: Filling,
  files: readonly FileDigest[],
  signal: AbortSignal,
): Promise<string[]> {
  const missing: string[] = [];
  const retry = new RetryPolicy(ctx);
  for (let at = 0; at < files.length; at += maxPerCall) {
    const params = { name: bucket, deploy, files: files.slice(at, at + maxPerCall) };
    const answer = await retry.attempt(signal, () =>
      client.call("static-bucket_deploy_add", params, { signal }),
    );
    missing.push(...answer.missing);
  }
  return missing;
}

/** Uploads files, and returns what was sent beside the summary. */
async function sendAll(
  ctx: Context,
  { client, bucket, deploy, record }: Filling,
  uploads: readonly LocalFile[],
  signal: AbortSignal,
) {
  const sent: FileDigest[] = [];
  const files = client.bucket(`${bucket}@${deploy}`);
  const copy: CopyJob<LocalFile>["copy"] = async (file, tools, signal) => {
    const result = await sendFile(file, { files, ...tools }, signal);
    if ("why" in result) return result;
    record.set(file.path, { ...result, remoteMtime: 0 });
    sent.push({ path: file.path, size: result.stamp.size, sha256: result.hash });
    return result.stamp.size;
  };
  const job = { what: "deploying", phases: [uploads], copy };
  return { sent, ...(await copyFiles(ctx, job, newSummary(), signal)) };
}
