import type { OpenFile } from "../../buckets/file-store.ts";
import type { CompressedStream } from "./compression.ts";
import type { Validators } from "./conditions.ts";
import type { ByteRange } from "./ranges.ts";

/** Body is the content of a representation. A file or a stream holds a descriptor: it must be sent or released, once. */
export type Body =
  | { readonly kind: "memory"; readonly blob: Blob }
  /** Sent from the disk, cut to the size that it had when it was opened. */
  | { readonly kind: "file"; readonly file: OpenFile }
  /** Compressed while it is sent, so its length is not known beforehand. */
  | { readonly kind: "stream"; readonly stream: CompressedStream };

/** Representation is one variant of a file as it goes over the wire: RFC 9110 §3.2. */
export interface Representation extends Validators {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** sizeOf returns the length in bytes; undefined for a stream. */
export function sizeOf(body: Body): number | undefined {
  switch (body.kind) {
    case "memory":
      return body.blob.size;
    case "file":
      return body.file.stats.size;
    case "stream":
      return undefined;
  }
}

/** release frees what a body holds that is not sent. */
export function release(body: Body): void {
  if (body.kind === "file") void body.file[Symbol.asyncDispose]();
  if (body.kind === "stream") body.stream.cancel();
}

/** toSend returns what a `Response` sends of a body, all of it or a range. The body needs no release afterwards. */
export function toSend(body: Body, range?: ByteRange): Blob | ReadableStream<Uint8Array> {
  switch (body.kind) {
    case "memory":
      return range === undefined ? body.blob : body.blob.slice(range.start, range.end + 1);
    case "file":
      return fileBlob(body.file, range);
    case "stream":
      return body.stream.start();
  }
}

/**
 * Bun sends a file with `sendfile` only if it may open it itself, from the held path, and it does so in the same event-loop tick in
 * which the handler's promise is fulfilled (Bun 1.4.4, plain and TLS). So our own handle is closed in the next tick. Callers must
 * not wait for I/O between this call and the return of the response.
 */
function fileBlob(file: OpenFile, range: ByteRange | undefined): Blob {
  setImmediate(() => void file[Symbol.asyncDispose]());
  // Cut to the size in the headers: more may be appended to the file while it is sent.
  return Bun.file(file.heldPath).slice(
    range?.start ?? 0,
    range === undefined ? file.stats.size : range.end + 1,
  );
}

const chunkBytes = 256 * 1024;

/** bytesOf reads a range of a body in chunks. It does not release the body. */
export async function* bytesOf(
  body: Exclude<Body, { readonly kind: "stream" }>,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  if (body.kind === "memory") {
    yield await body.blob.slice(start, end + 1).bytes();
    return;
  }
  for (let at = start; at <= end; ) {
    const wanted = Math.min(chunkBytes, end + 1 - at);
    const { bytesRead, buffer } = await body.file.handle.read(Buffer.alloc(wanted), 0, wanted, at);
    if (bytesRead === 0) throw new Error("the file became shorter while it was sent");
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
