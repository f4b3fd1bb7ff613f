import type { OpenFile } from "../../buckets/tree.ts";
import { judge, rangeHolds, type Validators } from "./conditions.ts";
import { type ByteRange, contentRange, parseRanges } from "./ranges.ts";

/** One form of a file: its bytes, in memory or on the disk, and what its headers say. */
export interface Representation extends Validators {
  readonly size: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: { readonly blob: Blob } | { readonly file: OpenFile };
}

/** Bun opens what a response sends a moment after it was returned; only then may our own handle go. */
const openedAfterMs = 200;

/** Answers GET and HEAD: conditions first, then the range, then the whole. RFC 9110 §13.2, §14.2. */
export function respond(request: Request, representation: Representation): Response {
  const { headers, size } = representation;
  switch (judge(request.headers, representation)) {
    case "not modified":
      release(representation);
      return new Response(null, { status: 304, headers: unchangedHeaders(headers) });
    case "precondition failed":
      release(representation);
      return new Response(null, { status: 412, headers });
    case "send":
  }
  const wanted = request.method === "HEAD" ? null : request.headers.get("range");
  const ranges =
    wanted !== null && rangeHolds(request.headers.get("if-range"), representation)
      ? parseRanges(wanted, size)
      : undefined;
  if (ranges === undefined) return respondWhole(request, representation);
  if (ranges === "none") {
    release(representation);
    return new Response(null, { status: 416, headers: { ...headers, "content-range": `bytes */${size}` } });
  }
  const [only] = ranges;
  if (ranges.length > 1 || only === undefined) return multipart(representation, ranges);
  return new Response(body(representation, only), {
    status: 206,
    headers: { ...headers, "content-range": contentRange(only, size), ...wholeFile(representation) },
  });
}

/** Answers GET and HEAD with the whole, whatever their conditions say. */
export function respondWhole({ method }: Request, representation: Representation, status = 200): Response {
  const { headers, size } = representation;
  if (method !== "HEAD")
    return new Response(body(representation), {
      status,
      headers: { ...headers, ...wholeFile(representation) },
    });
  release(representation);
  return new Response(null, { status, headers: { ...headers, "content-length": String(size) } });
}

/** Bun would name the file after the handle it is sent from. */
function wholeFile({ content }: Representation): Record<string, string> {
  return "file" in content ? { "content-disposition": "inline" } : {};
}

function body({ content, size }: Representation, range?: ByteRange): Blob {
  if ("blob" in content)
    return range === undefined ? content.blob : content.blob.slice(range.start, range.end + 1);
  const { heldPath } = content.file;
  setTimeout(() => void content.file[Symbol.asyncDispose](), openedAfterMs);
  // Cut to the size that the headers and the validators speak of, whatever is appended meanwhile.
  return Bun.file(heldPath).slice(range?.start ?? 0, range === undefined ? size : range.end + 1);
}

function release({ content }: Representation): void {
  if ("file" in content) void content.file[Symbol.asyncDispose]();
}

/** What a 304 repeats: RFC 9110 §15.4.5. */
export function unchangedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { "content-type": _, "content-encoding": __, "accept-ranges": ___, ...kept } = headers;
  return kept;
}

/** A GET that asks for nothing but the file: the whole of it is the answer. */
export function isPlainGet({ method, headers }: Request): boolean {
  return (
    method === "GET" &&
    !headers.has("if-none-match") &&
    !headers.has("range") &&
    !headers.has("if-modified-since") &&
    !isGuarded(headers)
  );
}

/** A request that wants no answer but about the file it knows. */
export function isGuarded(headers: Headers): boolean {
  return headers.has("if-match") || headers.has("if-unmodified-since");
}

/** RFC 9110 §14.6. */
function multipart(representation: Representation, ranges: readonly ByteRange[]): Response {
  const { headers, size } = representation;
  const boundary = crypto.randomUUID();
  const head = (range: ByteRange, first: boolean) =>
    `${first ? "" : "\r\n"}--${boundary}\r\ncontent-type: ${headers["content-type"]}\r\ncontent-range: ${contentRange(range, size)}\r\n\r\n`;
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (const [at, range] of ranges.entries()) {
      yield Buffer.from(head(range, at === 0));
      yield* bytesOf(representation, range);
    }
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  return new Response(
    pulled(parts(), () => release(representation)),
    {
      status: 206,
      headers: {
        ...headers,
        "content-type": `multipart/byteranges; boundary=${boundary}`,
      },
    },
  );
}

/** Parts as they are taken. `done` is called once, also for a client that left before it took any, which starts no generator. */
function pulled(parts: AsyncGenerator<Uint8Array>, done: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await parts.next();
          if (!next.done) return controller.enqueue(next.value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        done();
      },
      cancel: done,
    },
    { highWaterMark: 0 },
  );
}

const chunkBytes = 256 * 1024;

async function* bytesOf({ content }: Representation, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  if ("blob" in content) {
    yield await content.blob.slice(start, end + 1).bytes();
    return;
  }
  for (let at = start; at <= end; ) {
    const wanted = Math.min(chunkBytes, end + 1 - at);
    const { bytesRead, buffer } = await content.file.handle.read(Buffer.alloc(wanted), 0, wanted, at);
    if (bytesRead === 0) throw new Error("the file became shorter while it was sent");
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
