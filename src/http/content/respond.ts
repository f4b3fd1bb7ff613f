// This folder sends content, for every protocol that has files. variants.ts selects how a file is sent: plain,
// compressed beforehand, or compressed now by compression.ts, which also compresses answers that are made for one
// request. Then this file answers: conditions.ts compares entity tags and times, a range is cut, and the kernel sends
// large files. media-type.ts derives the type from the name, plain.ts has the short answers for people, and knows the
// size of every answer.

import { wholeNumber } from "../../base/numbers.ts";
import type { ByteRange } from "../../blobs/blob-store.ts";
import { bodyOf } from "../../blobs/content.ts";
import type { OpenFile } from "../../buckets/ports.ts";
import type { CompressedStream } from "./compression.ts";
import { evaluateConditions, mayUseRange, type Validators } from "./conditions.ts";
import { pulledResponse, StreamMeter, sized } from "./plain.ts";

/** respond answers GET and HEAD: conditions first, then the range, then the whole. RFC 9110 §13.2, §14.2. */
export function respond(request: Request, representation: Representation): Response {
  const { headers, body } = representation;
  switch (evaluateConditions(request.headers, representation)) {
    case "not modified":
      release(body);
      return new Response(null, { status: 304, headers: notModifiedHeaders(headers) });
    case "precondition failed":
      release(body);
      return new Response(null, { status: 412, headers });
    case "send":
      return body.kind === "stream" || body.kind === "unneeded" || request.method === "HEAD"
        ? respondWhole(request, representation)
        : respondRange(request, representation, body);
  }
}

function respondRange(request: Request, representation: Representation, body: SizedBody): Response {
  const { headers } = representation;
  const size = sizeOf(body);
  const ranges = rangesOf(request, representation, size);
  if (ranges === undefined) return respondWhole(request, representation);
  if (ranges === "unsatisfiable") {
    release(body);
    const { "content-type": _, ...repeated } = headers;
    return new Response(null, { status: 416, headers: { ...repeated, "content-range": `bytes */${size}` } });
  }
  const [only] = ranges;
  if (ranges.length > 1 || only === undefined) return multipart(headers, { body, size }, ranges);
  const response = new Response(toSend(body, only), {
    status: 206,
    headers: { ...dispositionOf(body), ...headers, "content-range": contentRange(only, size) },
  });
  return sized(response, only.end + 1 - only.start);
}

/** respondWhole answers GET and HEAD with the whole content, whatever their conditions say. */
export function respondWhole({ method }: Request, { headers, body }: Representation, status = 200): Response {
  if (method !== "HEAD" && body.kind !== "unneeded") {
    const init = { status, headers: { ...dispositionOf(body), ...headers } };
    if (body.kind !== "stream") return sized(new Response(toSend(body), init), sizeOf(body));
    const meter = new StreamMeter();
    return sized(new Response(body.stream.start(meter), init), meter);
  }
  const size = body.kind === "stream" ? undefined : sizeOf(body);
  const length: Record<string, string> = size === undefined ? {} : { "content-length": String(size) };
  release(body);
  return new Response(null, { status, headers: { ...headers, ...length } });
}

/**
 * maxCopiedBytes is the size up to which content in memory is sent from there. Larger content is sent by the kernel from the file: to copy
 * 1 MiB to the socket takes twice as long as to open the file.
 */
export const maxCopiedBytes = 512 * 1024;

/** dispositionOf returns a header for what may be sent from a file: without it, Bun adds one with a path of the disk. */
export function dispositionOf(body: Body): Record<string, string> {
  const isLarge = body.kind === "memory" && body.blob.size > maxCopiedBytes;
  return body.kind === "file" || isLarge ? { "content-disposition": "inline" } : {};
}

/** notModifiedHeaders returns the headers that a 304 repeats: RFC 9110 §15.4.5. */
export function notModifiedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { "content-type": _, "content-encoding": __, "accept-ranges": ___, ...repeated } = headers;
  return repeated;
}

/** hasPrecondition returns whether the request has a condition that can fail with 412. */
export function hasPrecondition(headers: Headers): boolean {
  return headers.has("if-match") || headers.has("if-unmodified-since");
}

/** Several ranges in one response: RFC 9110 §14.6. */
function multipart(
  headers: Representation["headers"],
  { body, size }: { readonly body: SizedBody; readonly size: number },
  ranges: readonly ByteRange[],
): Response {
  const boundary = crypto.randomUUID();
  const head = (range: ByteRange, first: boolean) =>
    `${first ? "" : "\r\n"}--${boundary}\r\ncontent-type: ${headers["content-type"]}\r\ncontent-range: ${contentRange(range, size)}\r\n\r\n`;
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (const [at, range] of ranges.entries()) {
      yield Buffer.from(head(range, at === 0));
      yield* bytesOf(body, range);
    }
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  return pulledResponse(
    parts(),
    { status: 206, headers: { ...headers, "content-type": `multipart/byteranges; boundary=${boundary}` } },
    { onEnd: () => release(body) },
  );
}

/** needsContent returns whether the answer to a GET or HEAD has a body: not if the client has the content already. */
export function needsContent({ method, headers }: Request, validators: Validators): boolean {
  return method !== "HEAD" && evaluateConditions(headers, validators) === "send";
}

/** isRangeMissing returns whether a GET asks for a range that the content does not have: the answer is 416, without a part of it. */
export function isRangeMissing(request: Request, validators: Validators, size: number): boolean {
  return rangesOf(request, validators, size) === "unsatisfiable";
}

/** The ranges that a request asks for; undefined if the whole has to be sent. */
function rangesOf(
  { headers }: Request,
  validators: Validators,
  size: number,
): ReturnType<typeof parseRanges> {
  return mayUseRange(headers.get("if-range"), validators)
    ? parseRanges(headers.get("range"), size)
    : undefined;
}

/** The length in bytes. */
function sizeOf(body: SizedBody): number;
function sizeOf(body: Exclude<Body, { readonly kind: "stream" }>): number | undefined;
function sizeOf(body: Exclude<Body, { readonly kind: "stream" }>): number | undefined {
  if (body.kind === "unneeded") return body.size;
  return body.kind === "memory" ? body.blob.size : body.file.stats.size;
}

/** Frees what a body holds that is not sent. */
function release(body: Body): void {
  if (body.kind === "file") void body.file[Symbol.asyncDispose]();
  if (body.kind === "stream") body.stream.cancel();
}

/**
 * toSend returns the content for a `Response`, all of it or a range. It must be returned without waiting for I/O (see
 * `bodyOf`); the body needs no release afterwards.
 */
function toSend(body: SizedBody, range?: ByteRange): Blob | ReadableStream<Uint8Array> {
  switch (body.kind) {
    case "memory":
      return range === undefined ? body.blob : body.blob.slice(range.start, range.end + 1);
    case "file":
      return bodyOf(body.file, range);
  }
}

/** Reads a range of a body in chunks. It does not release the body. */
async function* bytesOf(body: SizedBody, range: ByteRange): AsyncGenerator<Uint8Array> {
  if (body.kind === "memory") yield await body.blob.slice(range.start, range.end + 1).bytes();
  else yield* body.file.chunks(range);
}

/** More ranges than this, or ranges that overlap, are an attack or a mistake: the whole file is sent. */
const maxRanges = 64;

/** parseRanges reads a Range header: RFC 9110 §14. Undefined if it is absent or must be ignored. */
function parseRanges(
  header: string | null,
  size: number,
): readonly ByteRange[] | "unsatisfiable" | undefined {
  const list = header === null ? undefined : /^bytes\s*=\s*(.+)$/i.exec(header)?.[1];
  if (list === undefined) return undefined;
  const items = list.split(",").map((item) => item.trim());
  if (items.length > maxRanges) return undefined;
  const ranges: ByteRange[] = [];
  for (const item of items) {
    const [first, last] = /^(\d*)-(\d*)$/.exec(item)?.slice(1).map(wholeNumber) ?? [];
    if (first === undefined && last === undefined) return undefined;
    if (first !== undefined && last !== undefined && last < first) return undefined;
    const range =
      first === undefined
        ? lastBytes(last ?? 0, size)
        : { start: first, end: Math.min(last ?? size - 1, size - 1) };
    if (range.start < size && range.start <= range.end) ranges.push(range);
  }
  if (ranges.length === 0) return "unsatisfiable";
  return overlap(ranges) ? undefined : ranges;
}

function lastBytes(count: number, size: number): ByteRange {
  return count === 0 ? { start: size, end: size } : { start: Math.max(0, size - count), end: size - 1 };
}

function overlap(ranges: readonly ByteRange[]): boolean {
  const sorted = [...ranges].sort((a, b) => a.start - b.start);
  return sorted.some((range, at) => at > 0 && range.start <= (sorted[at - 1]?.end ?? -1));
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end}/${size}`;
}

/** Body is the content of a representation. A file or a stream is open: it must be sent or released, once. */
export type Body =
  | { readonly kind: "memory"; readonly blob: Blob }
  /** Sent by its store, with the size that it had when it was opened. */
  | { readonly kind: "file"; readonly file: OpenFile }
  /** Compressed while it is sent, so its length is not known beforehand. */
  | { readonly kind: "stream"; readonly stream: CompressedStream }
  /** Not needed for the answer, and so not asked for in a remote store. Its length is undefined if only compressing it would tell. */
  | { readonly kind: "unneeded"; readonly size: number | undefined };

/** SizedBody is a body whose length is known, so that ranges of it can be sent. */
type SizedBody = Extract<Body, { readonly kind: "memory" | "file" }>;

/** Representation is one variant of a file as it goes over the wire: RFC 9110 §3.2. */
export interface Representation extends Validators {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}
