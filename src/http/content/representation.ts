import type { ByteRange, OpenFile } from "../../buckets/file-store.ts";
import type { CompressedStream } from "./compression.ts";
import type { Validators } from "./conditions.ts";

/** Body is the content of a representation. A file or a stream is open: it must be sent or released, once. */
export type Body =
  | { readonly kind: "memory"; readonly blob: Blob }
  /** Sent by its store, with the size that it had when it was opened. */
  | { readonly kind: "file"; readonly file: OpenFile }
  /** Compressed while it is sent, so its length is not known beforehand. */
  | { readonly kind: "stream"; readonly stream: CompressedStream };

/** SizedBody is a body whose length is known, so that ranges of it can be sent. */
export type SizedBody = Exclude<Body, { readonly kind: "stream" }>;

/** Representation is one variant of a file as it goes over the wire: RFC 9110 §3.2. */
export interface Representation extends Validators {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** sizeOf returns the length in bytes. */
export function sizeOf(body: SizedBody): number {
  return body.kind === "memory" ? body.blob.size : body.file.stats.size;
}

/** release frees what a body holds that is not sent. */
export function release(body: Body): void {
  if (body.kind === "file") void body.file[Symbol.asyncDispose]();
  if (body.kind === "stream") body.stream.cancel();
}

/**
 * toSend returns what a `Response` sends of a body, all of it or a range. The body needs no release afterwards. The caller returns
 * the response without waiting for I/O: see `OpenFile.body`.
 */
export function toSend(body: Body, range?: ByteRange): Blob | ReadableStream<Uint8Array> {
  switch (body.kind) {
    case "memory":
      return range === undefined ? body.blob : body.blob.slice(range.start, range.end + 1);
    case "file":
      return body.file.body(range);
    case "stream":
      return body.stream.start();
  }
}

/** bytesOf reads a range of a body in chunks. It does not release the body. */
export async function* bytesOf(body: SizedBody, range: ByteRange): AsyncGenerator<Uint8Array> {
  if (body.kind === "memory") yield await body.blob.slice(range.start, range.end + 1).bytes();
  else yield* body.file.chunks(range);
}
