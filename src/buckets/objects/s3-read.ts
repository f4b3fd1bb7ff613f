import type { S3Options } from "bun";
import type { Fault } from "../../base/fault.ts";
import { wholeNumber } from "../../base/numbers.ts";
import type { ByteRange } from "../ports.ts";
import { BlobDamagedFault, BlobMissingFault, storeUnavailable } from "./blob-faults.ts";
import { Deadline } from "./deadline.ts";
import { codeOfAnswer, s3Fault } from "./s3-faults.ts";
import { attempt, repeated, s3Request } from "./s3-requests.ts";

const action = "s3:GetObject";
/** An answer of more bytes is not an error in XML. */
const maxErrorBytes = 16 * 1024;

/** ByteReader is what is used of a reader: Bun's and the DOM's types of it differ. */
interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export interface S3ReadOptions {
  /** Of the blob, for errors. */
  readonly key: string;
  /** Of the object. */
  readonly objectKey: string;
  readonly range: ByteRange | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** S3Read reads an object, or a part of it. An answer that ends early is continued by another one, from the byte where it ended. */
export class S3Read {
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
      "the object store did not answer with the part of an object that was asked for; check endpoint of [files]",
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
