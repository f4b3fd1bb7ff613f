import { RawJson } from "../base/json.ts";
import type { OpenFile } from "../buckets/file-reader.ts";
import type { StreamedJson } from "../rpc/bodies.ts";

/**
 * Base64File is a file as a JSON string in base64, read while it is sent. It has the length that it had when it was opened, or the
 * stream fails.
 */
export class Base64File implements StreamedJson {
  readonly #file: OpenFile;
  readonly isStreamedJson = true;
  readonly bytes: number;
  /** The content is read while it is sent. */
  readonly heldBytes = 0;
  #isClosed = false;

  /** Takes the file over: it is disposed with this object. */
  constructor(file: OpenFile) {
    this.#file = file;
    // With the two quotes.
    this.bytes = base64Length(file.stats.size) + 2;
  }

  get contentBytes(): number {
    return this.#file.stats.size;
  }

  /** Asks a remote store for the content before the answer begins, so that a failure is an error and not an answer that breaks off. */
  async prepare(): Promise<this> {
    try {
      await this.#file.prepare?.();
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The whole content at once. */
  async whole(): Promise<RawJson> {
    try {
      const { buffer, byteOffset, length } = await this.#file.bytes();
      // Base64 has no character that JSON would escape.
      return new RawJson(`"${Buffer.from(buffer, byteOffset, length).toString("base64")}"`);
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from('"');
      // Base64 makes four letters of three bytes, so one or two bytes of a chunk may wait for the next.
      let waiting: Uint8Array = Buffer.alloc(0);
      for await (const chunk of this.#file.chunks()) {
        const bytes = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
        const whole = bytes.length - (bytes.length % 3);
        yield toBase64(bytes.subarray(0, whole));
        waiting = bytes.subarray(whole);
      }
      if (waiting.length > 0) yield toBase64(waiting);
      yield Buffer.from('"');
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file[Symbol.asyncDispose]();
  }
}

function toBase64({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(buffer, byteOffset, length).toString("base64"), "latin1");
}

/** `base64Length` is the number of base64 characters for this many bytes. */
function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
