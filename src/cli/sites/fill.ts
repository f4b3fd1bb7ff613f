import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { hashIfReadable, type LocalFile, sameStamp } from "../transfer/local-tree.ts";
import { openMeter } from "../transfer/meter.ts";
import type { OmittedFile } from "../transfer/omitted-file.ts";
import type { PushRecord } from "../transfer/record.ts";
import { sendFile } from "../transfer/send.ts";
import { inParallel, RetryPolicy } from "../transfer/transfer.ts";

/** Files of one call. The server takes 5,000, but answers when it has compared and copied all of them. */
const maxPerCall = 1000;

/** Filling is a deploy that is under way, and what is known of the folder from earlier ones. */
export interface Filling {
  readonly client: NodeServerClient;
  readonly bucket: string;
  readonly deploy: string;
  readonly record: PushRecord;
}

/** FillSummary is what went into a deploy. */
export interface FillSummary {
  files: number;
  bytes: number;
  uploaded: number;
  uploaded_bytes: number;
  readonly left_out: OmittedFile[];
  readonly failed: OmittedFile[];
}

interface FileDigest {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** Puts files into a deploy: the server takes over what it has, the others are uploaded, and then it is asked whether all arrived. */
export async function fill(
  ctx: Context,
  filling: Filling,
  files: readonly LocalFile[],
  signal: AbortSignal,
): Promise<FillSummary> {
  const done: FillSummary = { files: 0, bytes: 0, uploaded: 0, uploaded_bytes: 0, left_out: [], failed: [] };
  try {
    const announced = await hashAll(filling, files, done, signal);
    const missing = new Set(await add(ctx, filling, announced, signal));
    for (const { path, size } of announced) if (!missing.has(path)) count(done, size);
    const uploads = files.filter(({ path }) => missing.has(path));
    const sent = await sendAll(ctx, filling, uploads, done, signal);
    const wrong = new Set(await add(ctx, filling, sent, signal));
    for (const { path, size } of sent) {
      if (wrong.has(path))
        done.failed.push({
          path,
          reason: "digest_mismatch",
          why: "the content that arrived differs from what was sent",
        });
      else count(done, size);
    }
    return done;
  } finally {
    await filling.record.save();
  }
}

function count(done: FillSummary, size: number): void {
  done.files += 1;
  done.bytes += size;
}

/** Hashes the files that the record does not know. */
async function hashAll(
  { record }: Filling,
  files: readonly LocalFile[],
  done: FillSummary,
  signal: AbortSignal,
): Promise<FileDigest[]> {
  const paths = new Set(files.map(({ path }) => path));
  record.keepOnly((path) => paths.has(path));
  const announced: FileDigest[] = [];
  await inParallel(files, signal, async ({ path, disk, stamp }) => {
    const known = record.get(path);
    const readAt = Date.now();
    const isKnown = known !== undefined && sameStamp(known.stamp, stamp);
    const hash = isKnown ? known.hash : await hashIfReadable(disk);
    if (hash === undefined)
      return void done.failed.push({
        path,
        reason: "not_permitted",
        why: `${disk} cannot be read; check its owner and its mode`,
      });
    if (!isKnown) record.set(path, { stamp, hash, remoteMtime: 0, readAt });
    announced.push({ path, size: stamp.size, sha256: hash });
  });
  return announced;
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
      client.callAny("static-bucket_deploy_add", params, signal),
    );
    missing.push(...(answer as { missing: string[] }).missing);
  }
  return missing;
}

async function sendAll(
  ctx: Context,
  { client, bucket, deploy, record }: Filling,
  uploads: readonly LocalFile[],
  done: FillSummary,
  signal: AbortSignal,
): Promise<FileDigest[]> {
  const sent: FileDigest[] = [];
  if (uploads.length === 0) return sent;
  const bytes = uploads.reduce((sum, { stamp }) => sum + stamp.size, 0);
  const meter = openMeter(ctx, "deploying", { bytes, files: uploads.length });
  const retry = new RetryPolicy({ clock: ctx.clock, say: (line) => meter.say(line) });
  const transfer = { files: client.bucket(`${bucket}@${deploy}`), meter, retry };
  try {
    await inParallel(uploads, signal, async (file, signal) => {
      const { path } = file;
      const result = await sendFile(file, transfer, signal);
      meter.fileDone();
      if ("why" in result) {
        const { reason, why, harmless } = result;
        return void (harmless ? done.left_out : done.failed).push({ path, reason, why });
      }
      record.set(path, { ...result, remoteMtime: 0 });
      sent.push({ path, size: result.stamp.size, sha256: result.hash });
      done.uploaded += 1;
      done.uploaded_bytes += result.stamp.size;
    });
  } finally {
    meter.end();
  }
  return sent;
}
