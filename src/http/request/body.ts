import { type MemoryBudget, uncountedBytes } from "../../base/memory-budget.ts";
import { wholeNumber } from "../../base/numbers.ts";
import type { BucketFiles, WriteOptions, WrittenFile } from "../../buckets/bucket-files.ts";
import type { TreePath } from "../../buckets/path.ts";
import { errorReason, serviceUnavailable } from "../content/plain.ts";
import type { UnsizedBodies } from "./connection-limiter.ts";
import { HttpError } from "./http-error.ts";

/** Chunks read before the event loop gets to other requests; those that arrive meanwhile come as one. */
const chunksPerTick = 64;

const received = Symbol("received");

/** A request with the number of bytes of its body that were read. */
interface ReadRequest extends Request {
  [received]?: number;
}

/** bodyChunks reads the body of a request as it arrives. A client that sends a byte at a time does not keep the event loop busy. */
export async function* bodyChunks(request: ReadRequest): AsyncGenerator<Uint8Array> {
  let count = 0;
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    request[received] = bytes;
    yield chunk;
    count += 1;
    if (count % chunksPerTick === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Bun buffers at most this much of a body that is not read. */
const maxUnreadBytes = 1024 * 1024;

/**
 * receivedBytes returns the size of a request's body: what `bodyChunks` has read, else its Content-Length, which a client can set to
 * anything, so that it counts only as far as Bun reads by itself.
 */
export function receivedBytes(request: ReadRequest): number {
  const read = request[received];
  if (read !== undefined) return read;
  return Math.min(declaredLength(request) ?? 0, maxUnreadBytes);
}

/** declaredLength returns the Content-Length of a request; undefined if it has none. The router refuses one that is not a number. */
export function declaredLength({ headers }: Request): number | undefined {
  return wholeNumber(headers.get("content-length"));
}

/**
 * readBody reads a body of at most `maxBytes`; undefined if it is larger. A short one with a Content-Length, which Bun does not
 * exceed, is read whole, because pieces cost twice the time of a small call. Others are counted as they arrive.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > maxBytes) return undefined;
  if (declared !== undefined && declared <= uncountedBytes) return Buffer.from(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** UnreadBodies bounds the bodies of requests whose caller is not known yet. */
export interface UnreadBodies {
  readonly memory: MemoryBudget;
  readonly unsizedBodies: UnsizedBodies;
}

/** countUnread counts the body of an unknown caller until it is disposed; undefined if there are too many. */
export function countUnread(
  request: Request,
  address: string,
  { memory, unsizedBodies }: UnreadBodies,
): Disposable | undefined {
  const account = memory.open(address);
  const declared = declaredLength(request);
  // `body` is read last: it makes a stream, and a body that is read whole afterwards would go through it.
  if (declared !== undefined || request.body === null)
    return account.hold(Math.min(declared ?? 0, maxUnreadBytes)) ? account : undefined;
  const permit = unsizedBodies.tryAcquire(address);
  if (permit === undefined) return undefined;
  return { [Symbol.dispose]: () => permit.release() };
}

/** tooManyUnread answers a request that is refused before anything of its body is kept. */
export function tooManyUnread(): Response {
  const response = serviceUnavailable("too many requests of unknown callers are being sent; try again");
  // Otherwise Bun would parse the rest of the body.
  response.headers.set("connection", "close");
  return response;
}

/**
 * A body up to this size is read as a whole: a stream costs more than writing it. It usually arrives with its headers, and must arrive
 * within `idleSeconds`, because nothing shows its progress.
 */
const maxWholeBytes = 16 * 1024;

/** UploadingRequest is a request whose body becomes a file: a ReceivedRequest of the pipeline. */
interface UploadingRequest {
  readonly request: Request;
  readonly deps: { readonly maxUploadBytes: () => number };
  /** Gives the client the whole idle time again. */
  restartIdleTimer(): void;
}

/** UploadedFile is what the body of a request becomes. */
interface UploadedFile extends Omit<WriteOptions, "onWritten"> {
  readonly files: BucketFiles;
  readonly path: TreePath;
}

/**
 * uploadBody writes the body to a staged file, syncs it and renames it. A failure before the rename leaves the old file unchanged. What
 * forbids the upload is checked in its turn; for a long body also before it is read. A body that is not what its digests say is refused.
 */
export async function uploadBody(
  received: UploadingRequest,
  { files, path, ...options }: UploadedFile,
): Promise<WrittenFile> {
  const { request } = received;
  const maxBytes = received.deps.maxUploadBytes();
  const { declared, expected } = lengthsIn(request, maxBytes);
  const isShort = declared !== undefined && declared <= maxWholeBytes;
  if (!isShort) await files.examine(await files.reader.resolve(path), options);
  const digests = new BodyDigests(request.headers);
  await using staged = await files.stage(
    isShort ? await shortBody(request, digests) : bodyOf(received, maxBytes, digests),
    path,
  );
  for (const length of [declared, expected]) {
    if (length !== undefined && length !== staged.size)
      throw new HttpError(400, `${staged.size} of ${length} bytes arrived; the file is unchanged`);
  }
  digests.assertRight();
  return await files.write(path, staged, options);
}

/** The lengths that the headers announce. Throws for a body that cannot become the file: a part of it, encoded, or too large. */
function lengthsIn({ headers }: Request, maxBytes: number) {
  // RFC 9110 §14.5: a part must not be stored as if it were the whole.
  if (headers.has("content-range"))
    throw new HttpError(400, "a part of a file cannot be uploaded; send it whole");
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw new HttpError(415, "send the file as it is, without a content encoding");
  const declared = lengthIn(headers, "content-length");
  const expected = lengthIn(headers, "x-expected-entity-length");
  if (maxBytes > 0 && Math.max(declared ?? 0, expected ?? 0) > maxBytes) throw tooBig(maxBytes);
  return { declared, expected };
}

async function shortBody(request: Request, digests: BodyDigests): Promise<Uint8Array> {
  const bytes = await request.bytes();
  digests.update(bytes);
  return bytes;
}

/** The body, within its limit. However slow, it is read as long as bytes arrive: its sender has proven a token or a link. */
async function* bodyOf(
  received: UploadingRequest,
  maxBytes: number,
  digests: BodyDigests,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bodyChunks(received.request)) {
    received.restartIdleTimer();
    size += chunk.byteLength;
    if (maxBytes > 0 && size > maxBytes) throw tooBig(maxBytes);
    digests.update(chunk);
    yield chunk;
  }
}

function lengthIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  if (text === null) return undefined;
  const length = wholeNumber(text);
  if (length === undefined) throw new HttpError(400, `${name} is not a length`);
  return length;
}

function tooBig(limit: number): HttpError {
  return new HttpError(413, `the upload exceeds ${limit} bytes (max_upload_size)`);
}

interface Hasher {
  update(chunk: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

const adlerBase = 65521;

/** Adler32 is the checksum of zlib, which ownCloud's clients use for speed. */
class Adler32 implements Hasher {
  #low = 1;
  #high = 0;

  /** The sums of the parts make those of the whole, as in zlib's adler32_combine. */
  update(chunk: Uint8Array): void {
    const sum = Bun.hash.adler32(chunk);
    const rest = chunk.length % adlerBase;
    this.#high = (this.#high + rest * (this.#low + adlerBase - 1) + (sum >>> 16)) % adlerBase;
    this.#low = (this.#low + (sum & 0xffff) + adlerBase - 1) % adlerBase;
  }

  digest(): string {
    return ((this.#high * 0x10000 + this.#low) >>> 0).toString(16).padStart(8, "0");
  }
}

const crypto = (name: "md5" | "sha1" | "sha256" | "sha512" | "sha3-256") => () => new Bun.CryptoHasher(name);
/** Algorithms of `OC-Checksum`, and how many hexadecimal digits each has. */
const ocAlgorithms: Readonly<Record<string, { readonly digits: number; readonly open: () => Hasher }>> = {
  ADLER32: { digits: 8, open: () => new Adler32() },
  MD5: { digits: 32, open: crypto("md5") },
  SHA1: { digits: 40, open: crypto("sha1") },
  SHA256: { digits: 64, open: crypto("sha256") },
  "SHA3-256": { digits: 64, open: crypto("sha3-256") },
};
/** Those of RFC 9530 that are not retired, and how many bytes each has. */
const rfcAlgorithms = [
  { name: "sha-256", bytes: 32, open: crypto("sha256") },
  { name: "sha-512", bytes: 64, open: crypto("sha512") },
] as const;

interface ExpectedDigest {
  readonly header: string;
  readonly hex: string;
  readonly hasher: Hasher;
}

/**
 * BodyDigests compares a body with the digests that its request has of it: `OC-Checksum`, `Content-MD5`, and `Repr-Digest` and
 * `Content-Digest` of RFC 9530. Algorithms that are not known are ignored, as that RFC wants; a known one that is not a digest is 400.
 */
class BodyDigests {
  readonly #wanted: readonly ExpectedDigest[];

  constructor(headers: Headers) {
    this.#wanted = [
      ...ocChecksum(headers),
      ...contentMd5(headers),
      ...rfcDigests(headers, "repr-digest"),
      ...rfcDigests(headers, "content-digest"),
    ];
  }

  update(chunk: Uint8Array): void {
    for (const { hasher } of this.#wanted) hasher.update(chunk);
  }

  /** Throws 400 unless all digests are right. To be called once, after the last chunk. */
  assertRight(): void {
    for (const { header, hex, hasher } of this.#wanted)
      if (hasher.digest("hex") !== hex)
        throw new HttpError(400, `the content does not match ${header}; nothing was changed, send it again`, {
          headers: errorReason("digest_mismatch"),
        });
  }
}

function ocChecksum(headers: Headers): ExpectedDigest[] {
  const header = "OC-Checksum";
  const text = headers.get(header);
  const [name = "", digest = ""] = text?.trim().split(":") ?? [];
  const algorithm = ocAlgorithms[name.toUpperCase()];
  if (text === null || algorithm === undefined) return [];
  // Some clients leave out zeros at the beginning of ADLER32.
  const hex = digest.toLowerCase().padStart(algorithm.digits, "0");
  if (!/^[0-9a-f]+$/.test(digest.toLowerCase()) || hex.length !== algorithm.digits) throw malformed(header);
  return [{ header, hex, hasher: algorithm.open() }];
}

function contentMd5(headers: Headers): ExpectedDigest[] {
  const header = "Content-MD5";
  const text = headers.get(header);
  return text === null ? [] : [{ header, hex: hexOf(header, text.trim(), 16), hasher: crypto("md5")() }];
}

function rfcDigests(headers: Headers, name: "repr-digest" | "content-digest"): ExpectedDigest[] {
  const header = name === "repr-digest" ? "Repr-Digest" : "Content-Digest";
  const members = headers.get(name)?.split(",") ?? [];
  return members.flatMap((member) => {
    const [, key = "", value = ""] = /^\s*([^=;\s]+)\s*(?:=\s*(.*?)\s*)?$/.exec(member) ?? [];
    // Keys are in lower case, but those of the older header `Digest` were not. Its client believes that the digest is compared.
    const algorithm = rfcAlgorithms.find(({ name }) => name === key.toLowerCase());
    if (algorithm === undefined) return [];
    // RFC 8941 §3.1.2: parameters that are not known are ignored.
    const text = /^:([^:]*):(?:;.*)?$/.exec(value)?.[1] ?? "";
    return [{ header, hex: hexOf(header, text, algorithm.bytes), hasher: algorithm.open() }];
  });
}

function hexOf(header: string, base64: string, bytes: number): string {
  const decoded = Buffer.from(base64, "base64");
  if (decoded.length !== bytes || !/^[A-Za-z0-9+/]+=*$/.test(base64)) throw malformed(header);
  return decoded.toString("hex");
}

function malformed(header: string): HttpError {
  return new HttpError(400, `${header} is not a digest; nothing was changed`);
}
