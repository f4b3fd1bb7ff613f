import type { OpenFile } from "../../buckets/file-reader.ts";
import type { CompressedStream } from "./compression.ts";
import type { Validators } from "./conditions.ts";

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
export type SizedBody = Extract<Body, { readonly kind: "memory" | "file" }>;

/** Representation is one variant of a file as it goes over the wire: RFC 9110 §3.2. */
export interface Representation extends Validators {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}
