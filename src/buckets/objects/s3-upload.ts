import type { S3Client, S3Options } from "bun";
import { Fault } from "../../base/fault.ts";
import { wholeNumber } from "../../base/numbers.ts";
import { storeUnavailable } from "./blob-faults.ts";
import { Deadline } from "./deadline.ts";
import type { HashedContent } from "./hashed-content.ts";
import { attempt, repeated, s3Request } from "./s3-requests.ts";

const action = "s3:PutObject";
/**
 * Content up to this size is sent as one request from memory, which can be repeated. A part of a larger upload must have this
 * size at least.
 */
const maxWholeBytes = 5 * 1024 * 1024;
/** A store accepts 10,000 parts: with these a file may have 80 GB. */
const partBytes = 8 * 1024 * 1024;
/** Parts that are sent at once. One upload holds these in memory, and the one that grows. */
const partsAtOnce = 2;
/** A step of a long upload is up to 16 MiB and may take so many times the usual deadline: 30 s by default, or 4.5 Mbit/s. */
const longStepFactor = 3;

export interface S3UploadOptions {
  readonly client: S3Client;
  readonly s3: S3Options;
  readonly objectKey: string;
  readonly contentDisposition: string;
  readonly type: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when a request that was given up has succeeded all the same. */
  readonly onLateSuccess: () => void;
}

/**
 * uploadObject stores content as one object, and proves its size: Bun's client takes any answer with a successful status for a success.
 * Nothing tells how much of a request was sent, so the deadline is for each piece that the client takes, and for the rest at the end.
 */
export async function uploadObject(content: HashedContent, options: S3UploadOptions): Promise<void> {
  using deadline = new Deadline(options.timeoutMs, options.signal);
  const chunks = watched(content, deadline);
  const { head, isWhole } = await gathered(chunks);
  deadline.restart(options.timeoutMs * (isWhole ? 1 : longStepFactor));
  try {
    if (isWhole) await repeated(deadline, () => send(head, options, deadline));
    else await send(new Response(rest(head, chunks)), options, deadline);
  } catch (error) {
    throw content.failure === undefined ? await causeOf(error, options, deadline) : content.failure.error;
  }
  deadline.restart(options.timeoutMs);
  await repeated(deadline, () => proveSize(content.size, options, deadline));
}

async function send(
  body: Uint8Array | Response,
  { client, objectKey, contentDisposition, type, onLateSuccess }: S3UploadOptions,
  deadline: Deadline,
): Promise<void> {
  const writing = client.write(objectKey, body, {
    contentDisposition,
    type,
    partSize: partBytes,
    queueSize: partsAtOnce,
  });
  try {
    await attempt(action, deadline, () => writing);
  } catch (error) {
    if (deadline.signal.aborted) writing.then(onLateSuccess, () => {});
    throw error;
  }
}

/**
 * causeOf is why an upload failed. Bun's client follows redirects, and reports any refusal of a long upload as an unknown error; an answer
 * to a read tells whether the store is away, or the bucket is missing or in another region.
 */
async function causeOf(
  error: unknown,
  { s3, objectKey }: S3UploadOptions,
  deadline: Deadline,
): Promise<unknown> {
  const isUnclear = error instanceof Fault && error.data.reason === "unavailable";
  if (!isUnclear || deadline.signal.aborted) return error;
  try {
    const { body } = await s3Request(s3, objectKey, { method: "GET", action: "s3:GetObject", deadline });
    body?.cancel().catch(() => {});
    return error;
  } catch (other) {
    return other;
  }
}

async function proveSize(
  size: number,
  { s3, objectKey }: S3UploadOptions,
  deadline: Deadline,
): Promise<void> {
  const { status, headers } = await s3Request(s3, objectKey, {
    method: "HEAD",
    action: "s3:GetObject",
    deadline,
  });
  if (status === 404 || wholeNumber(headers.get("content-length")) !== size)
    throw storeUnavailable("the object store accepted a file and did not store it; try again later");
}

/** The deadline runs while the store is waited for, and not while the source is. */
async function* watched(content: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  deadline.pause();
  for await (const chunk of content) {
    deadline.restart();
    yield chunk;
    deadline.signal.throwIfAborted();
    deadline.pause();
  }
  deadline.restart();
}

/** gathered is the beginning of content, and whether that is all of it. */
async function gathered(
  chunks: AsyncGenerator<Uint8Array>,
): Promise<{ readonly head: Uint8Array; readonly isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  for (let size = 0; size <= maxWholeBytes; ) {
    const next = await chunks.next();
    if (next.done) return { head: joined(parts), isWhole: true };
    parts.push(next.value);
    size += next.value.length;
  }
  return { head: joined(parts), isWhole: false };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

async function* rest(head: Uint8Array, chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* chunks;
}
