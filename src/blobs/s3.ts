import { S3Client, type S3Options } from "bun";
import { z } from "zod";
import { key, readBy } from "../base/config-key.ts";
import { Fault } from "../base/fault.ts";
import { wholeNumber } from "../base/numbers.ts";
import { type BlobKind, wrongUrl } from "./blob-kind.ts";
import {
  BlobDamagedFault,
  type BlobInfo,
  BlobMissingFault,
  type BlobPurpose,
  type BlobStore,
  type ByteRange,
  checkProbe,
  isBlobKey,
  newBlobKey,
  type StoredBlob,
  storeUnavailable,
} from "./blob-store.ts";
import { HashedContent } from "./content.ts";
import {
  attempt,
  codeOfAnswer,
  Deadline,
  listObjects,
  maxErrorBytes,
  repeated,
  type S3Location,
  s3Fault,
  s3Request,
  toS3Options,
} from "./s3-requests.ts";

/** Objects that are deleted at the same time. */
const deletesAtOnce = 16;
/** The longest path that is written beside a blob; of a longer one the end. */
const maxDispositionChars = 900;
const never = new AbortController().signal;

const text = z.string().min(1).optional();

const endpoint = readBy((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Fault("InvalidInput", "must begin with https:// (or http://), such as https://s3.example.com");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new Fault(
      "InvalidInput",
      "must not contain keys or options; write access_key_id and secret_access_key below [files]",
    );
  return value.replace(/\/+$/, "");
});

const s3Keys = {
  endpoint: key(
    "URL",
    endpoint.optional(),
    "The address of an S3-compatible store. Default: the environment variable `AWS_ENDPOINT_URL`, else Amazon S3 in `region`.",
    { example: "https://s3.example.com" },
  ),
  region: key(
    "text",
    text,
    "The region of the S3 bucket. Default: the environment variable `AWS_REGION`, else `us-east-1`.",
    { example: "eu-central-1" },
  ),
  access_key_id: key(
    "text",
    text,
    "The access key for S3. Default: the environment variable `AWS_ACCESS_KEY_ID`.",
    { example: "AKIA…" },
  ),
  secret_access_key: key(
    "text",
    text,
    "The secret of the access key. Default: the environment variable `AWS_SECRET_ACCESS_KEY`.",
    { example: "…", isSecret: true },
  ),
  path_style: key(
    "boolean",
    z.boolean().default(true),
    "Name the S3 bucket in the path (`https://host/bucket/…`), which most stores accept; false names it in the host (`https://bucket.host/…`), as some stores require.",
  ),
};

/** The region that S3-compatible stores expect if they have none. */
const defaultRegion = "us-east-1";

/** s3Kind keeps blobs in a bucket of an S3-compatible store, `s3://bucket/prefix`. */
export const s3Kind: BlobKind<typeof s3Keys> = {
  scheme: "s3",
  form: "s3://bucket/prefix",
  keys: s3Keys,
  variables: {
    AWS_ACCESS_KEY_ID: "access_key_id",
    AWS_SECRET_ACCESS_KEY: "secret_access_key",
    AWS_REGION: "region",
    AWS_ENDPOINT_URL: "endpoint",
  },
  checkUrl: parseS3Url,
  missing: ({ access_key_id, secret_access_key }) =>
    access_key_id !== undefined && secret_access_key !== undefined
      ? undefined
      : "needs access_key_id and secret_access_key; write both below [files], or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  open: ({ url, endpoint, region, access_key_id, secret_access_key, path_style, request_timeout_ms }) =>
    new S3Blobs({
      ...parseS3Url(url),
      endpoint,
      region: region ?? defaultRegion,
      accessKeyId: access_key_id ?? "",
      secretAccessKey: secret_access_key ?? "",
      pathStyle: path_style,
      requestTimeoutMs: request_timeout_ms,
    }),
};

/** parseS3Url reads `s3://bucket/prefix`; the prefix has no slashes at its ends, and may be empty. */
function parseS3Url(url: string): { readonly bucket: string; readonly prefix: string } {
  const location = url.replace(/^s3:(\/\/)?/, "");
  if (/[@?#]/.test(location))
    throw wrongUrl(
      "must not contain keys or options; write access_key_id, secret_access_key and endpoint below [files]",
    );
  const [bucket = "", ...segments] = location.replace(/\/+$/, "").split("/");
  if (!url.startsWith("s3://") || !/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrongUrl('must name a bucket after s3://, such as "s3://my-bucket/node-server"');
  if (!segments.every((segment) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment)))
    throw wrongUrl(
      "must have a prefix of letters, digits, dots, hyphens and underscores, its folders separated by single slashes",
    );
  return { bucket, prefix: segments.join("/") };
}

export interface S3BlobsOptions extends S3Location {
  /** What all keys begin with, without a slash at its end; empty for none. */
  readonly prefix: string;
  /** The store must make progress within this time. */
  readonly requestTimeoutMs: number;
}

/**
 * S3Blobs keeps blobs as objects `<prefix>/<key>` of an S3-compatible store. What is left of uploads that were never finished is invisible
 * there, and deleted by a lifecycle rule of the bucket.
 */
export class S3Blobs implements BlobStore {
  readonly #options: S3BlobsOptions;
  readonly #s3: S3Options;
  readonly #client: S3Client;
  readonly #prefix: string;

  constructor(options: S3BlobsOptions) {
    this.#options = options;
    this.#s3 = toS3Options(options);
    this.#client = new S3Client(this.#s3);
    this.#prefix = options.prefix === "" ? "" : `${options.prefix}/`;
  }

  async put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { path, key: givenKey }: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob> {
    const key = givenKey ?? newBlobKey();
    const hashed = new HashedContent(content, signal);
    // The store may have what failed all the same, whole or in part. Nobody names a new key, so if this fails too, the sweep deletes it.
    const discard = () => {
      if (givenKey === undefined) this.delete([key]).catch(() => {});
    };
    try {
      await this.#upload(hashed, {
        objectKey: this.#prefix + key,
        path,
        signal,
        onLateSuccess: discard,
      });
    } catch (error) {
      discard();
      throw error;
    }
    return { key, size: hashed.size, sha256: hashed.sha256() };
  }

  async putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const objectKey = `${this.#prefix}manifests/${name}`;
    const onLateSuccess = () => {};
    await this.#upload(new HashedContent(content, signal), { objectKey, path: name, signal, onLateSuccess });
  }

  async getManifest(name: string, signal: AbortSignal): Promise<string | undefined> {
    const { requestTimeoutMs: timeoutMs } = this.#options;
    const objectKey = `${this.#prefix}manifests/${name}`;
    try {
      const found = await S3Read.open(this.#s3, {
        key: name,
        objectKey,
        range: undefined,
        timeoutMs,
        signal,
      });
      return await new Response(found).text();
    } catch (error) {
      if (error instanceof BlobMissingFault) return undefined;
      throw error;
    }
  }

  async get(
    key: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    if (!isBlobKey(key)) throw new BlobMissingFault(key);
    const { requestTimeoutMs: timeoutMs } = this.#options;
    return S3Read.open(this.#s3, { key, objectKey: this.#prefix + key, range, timeoutMs, signal });
  }

  async delete(keys: readonly string[]): Promise<void> {
    const remaining = keys.filter(isBlobKey);
    while (remaining.length > 0)
      await Promise.all(remaining.splice(0, deletesAtOnce).map((key) => this.#delete(key)));
  }

  async #delete(key: string): Promise<void> {
    using deadline = this.#deadline(never);
    await s3Request(this.#s3, this.#prefix + key, {
      method: "DELETE",
      action: "s3:DeleteObject",
      deadline,
    });
  }

  async *list(after = ""): AsyncGenerator<readonly BlobInfo[]> {
    for (let from: string | undefined = after; from !== undefined; ) {
      const page = await this.#page(from);
      yield page.blobs;
      from = page.next;
    }
  }

  /** One answer of the store, and from where the next one goes on. Manifests are after all blobs: a UUID has no letter above `f`. */
  async #page(after: string): Promise<{ readonly blobs: BlobInfo[]; readonly next: string | undefined }> {
    using deadline = this.#deadline(never);
    const where = { prefix: this.#prefix, after: this.#prefix + after };
    const page = await listObjects(this.#s3, where, deadline);
    const objects = page.objects.map(({ key, size, modified }) => ({
      key: key.slice(this.#prefix.length),
      size,
      // Without a time it counts as new, so that no sweep deletes it.
      storedAtMs: Date.parse(modified) || Date.now(),
    }));
    const last = objects.at(-1)?.key ?? "g";
    return {
      blobs: objects.filter(({ key }) => isBlobKey(key)),
      next: page.isTruncated && last < "g" ? last : undefined,
    };
  }

  /** The store does it by a lifecycle rule; Bun's client cannot list unfinished uploads. */
  async clearUnfinished(): Promise<number> {
    return 0;
  }

  async check(signal: AbortSignal): Promise<void> {
    await checkS3(this, this.#options, signal);
  }

  #deadline(signal: AbortSignal): Deadline {
    return new Deadline(this.#options.requestTimeoutMs, signal);
  }

  #upload(content: HashedContent, { path, ...object }: Upload): Promise<void> {
    return uploadObject(content, {
      ...object,
      client: this.#client,
      s3: this.#s3,
      contentDisposition: dispositionOf(path),
      type: "application/octet-stream",
      timeoutMs: this.#options.requestTimeoutMs,
    });
  }
}

interface Upload extends Pick<S3UploadOptions, "objectKey" | "signal" | "onLateSuccess"> {
  readonly path: string;
}

/** The path as RFC 8187 writes it: ASCII only, whatever the path contains. */
function dispositionOf(path: string): string {
  const encoded = encodeURIComponent(path.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const end = encoded.slice(-maxDispositionChars);
  // Cut where a name begins: a name has 255 bytes at most, which are 765 characters here.
  return `attachment; filename*=UTF-8''${encoded === end ? end : end.replace(/^.*?%2F/, "")}`;
}

/** checkS3 implements `BlobStore.check`. */
async function checkS3(
  store: BlobStore,
  { bucket, endpoint }: S3Location,
  signal: AbortSignal,
): Promise<void> {
  try {
    // First a read of what does not exist: its answer tells best what is wrong with keys, bucket or region.
    await store.get(newBlobKey(), undefined, signal).catch(ignoreMissing);
    await store.list().next();
    const { key } = await store.put(checkProbe, { path: "check" }, signal);
    const read = await new Response(await store.get(key, undefined, signal)).bytes();
    if (!checkProbe.equals(read))
      throw new Fault("IoError", "the object store returns different content than was written; check it");
    await store.delete([key]);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const at = endpoint === undefined ? "" : ` at ${new URL(endpoint).origin}`;
    throw new Fault(error.kind, `the bucket ${bucket}${at} cannot be used: ${error.detail}`, error.data);
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof BlobMissingFault)) throw error;
}

const action = "s3:GetObject";

/** ByteReader is what is used of a reader: Bun's and the DOM's types of it differ. */
interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

interface S3ReadOptions {
  /** Of the blob, for errors. */
  readonly key: string;
  /** Of the object. */
  readonly objectKey: string;
  readonly range: ByteRange | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** S3Read reads an object, or a part of it. An answer that ends early is continued by another one, from the byte where it ended. */
class S3Read {
  readonly #s3: S3Options;
  readonly #options: S3ReadOptions;
  readonly #deadline: Deadline;
  #reader: ByteReader | undefined;
  /** The next byte. */
  #at: number;
  /** After the last byte; Infinity until the store has said how many there are. */
  #end: number;

  private constructor(s3: S3Options, options: S3ReadOptions) {
    this.#s3 = s3;
    this.#options = options;
    this.#at = options.range?.start ?? 0;
    this.#end = options.range === undefined ? Number.POSITIVE_INFINITY : options.range.end + 1;
    this.#deadline = new Deadline(options.timeoutMs, options.signal);
  }

  /** open resolves once the store has begun to answer. */
  static async open(s3: S3Options, options: S3ReadOptions): Promise<ReadableStream<Uint8Array>> {
    const read = new S3Read(s3, options);
    try {
      await read.#ask();
      read.#deadline.pause();
    } catch (error) {
      await read.#close();
      throw error;
    }
    return new ReadableStream<Uint8Array>(
      { pull: (controller) => read.#pull(controller), cancel: () => read.#close() },
      { highWaterMark: 0 },
    );
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      this.#deadline.restart();
      const chunk = await repeated(this.#deadline, () => this.#next());
      this.#deadline.pause();
      if (chunk !== undefined) controller.enqueue(chunk);
      if (chunk !== undefined && this.#at < this.#end) return;
      await this.#close();
      controller.close();
    } catch (error) {
      await this.#close();
      controller.error(error);
    }
  }

  /** The next chunk; undefined at the end. A connection that was cut fails as unavailable, and the next call asks for the rest. */
  async #next(): Promise<Uint8Array | undefined> {
    if (this.#at >= this.#end) return undefined;
    if (this.#reader === undefined) await this.#ask();
    const reader = this.#reader;
    try {
      const { done, value } = await attempt(action, this.#deadline, async () => {
        const read = await reader?.read();
        return { done: read?.done ?? true, value: read?.value };
      });
      if (done && this.#end === Number.POSITIVE_INFINITY) return undefined;
      if (done || value === undefined) throw storeUnavailable("the object store ended its answer early");
      this.#at += value.length;
      if (this.#at > this.#end) throw new BlobDamagedFault(this.#options.key);
      return value;
    } catch (error) {
      this.#reader = undefined;
      reader?.cancel().catch(() => {});
      throw error;
    }
  }

  async #ask(): Promise<void> {
    const { objectKey, key, range } = this.#options;
    const isPart = range !== undefined || this.#at > 0;
    const last = this.#end === Number.POSITIVE_INFINITY ? "" : this.#end - 1;
    const response = await s3Request(this.#s3, objectKey, {
      method: "GET",
      action,
      headers: isPart ? { range: `bytes=${this.#at}-${last}` } : {},
      deadline: this.#deadline,
    });
    if (response.status === 404) throw new BlobMissingFault(key);
    // The object is shorter than it was when it was stored.
    if (response.status === 416) throw new BlobDamagedFault(key);
    if (isPart && response.status !== 206) throw await this.#notAPart(response);
    const isAsAsked = isPart
      ? response.headers.get("content-range")?.startsWith(`bytes ${this.#at}-`)
      : response.status === 200;
    const length = wholeNumber(response.headers.get("content-length"));
    const end = length === undefined ? this.#end : this.#at + length;
    if (!isAsAsked || (this.#end !== Number.POSITIVE_INFINITY && end !== this.#end)) {
      await response.body?.cancel();
      throw new BlobDamagedFault(key);
    }
    this.#end = end;
    this.#reader = response.body?.getReader();
  }

  /** The error that a successful answer has in its body. Anything else that is not a part says nothing about the blob either. */
  async #notAPart(response: Response): Promise<Fault> {
    const length = wholeNumber(response.headers.get("content-length"));
    if (length !== undefined && length <= maxErrorBytes) {
      const code = await attempt(action, this.#deadline, () => codeOfAnswer(response));
      if (!code.startsWith("HTTP")) return s3Fault(code, action);
    } else await response.body?.cancel();
    return storeUnavailable(
      "the object store did not return the requested part of an object; check endpoint of [files]",
    );
  }

  async #close(): Promise<void> {
    this.#deadline[Symbol.dispose]();
    const reader = this.#reader;
    this.#reader = undefined;
    // Not waited for: the store may be silent.
    reader?.cancel().catch(() => {});
  }
}

const uploadAction = "s3:PutObject";
/**
 * Content up to this size is sent as one request from memory, which can be repeated. A part of a larger upload must have this
 * size at least.
 */
const maxWholeBytes = 5 * 1024 * 1024;
/** A store accepts 10,000 parts: with these a file may have 80 GB. */
const partBytes = 8 * 1024 * 1024;
/** Parts that are sent at once. One upload holds these in memory, and the one that grows. */
const partsAtOnce = 2;
/** A step of a long upload is up to 16 MiB and may take this multiple of the usual deadline: 30 s by default, or 4.5 Mbit/s. */
const longStepFactor = 3;

interface S3UploadOptions {
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
async function uploadObject(content: HashedContent, options: S3UploadOptions): Promise<void> {
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
    await attempt(uploadAction, deadline, () => writing);
  } catch (error) {
    if (deadline.signal.aborted) writing.then(onLateSuccess, () => {});
    throw error;
  }
}

/**
 * causeOf returns why an upload failed. Bun's client follows redirects, and reports any refusal of a long upload as an unknown
 * error; an answer to a read tells whether the store is away, or the bucket is missing or in another region.
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
    throw storeUnavailable("the object store accepted a file but did not store it; try again later");
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

/** gathered returns the beginning of content, and whether that is all of it. */
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
