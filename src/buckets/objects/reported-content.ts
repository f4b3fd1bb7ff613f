import { StoreFault } from "../blobs/blob-store.ts";
import type { BlobContent } from "../blobs/content.ts";
import type { ByteRange, ChunkOptions } from "../ports.ts";

/** ReportedContent is the content of a blob that calls `report` if the store fails while it is read. */
export class ReportedContent implements BlobContent {
  readonly #content: BlobContent;
  readonly #report: (fault: StoreFault) => void;

  constructor(content: BlobContent, report: (fault: StoreFault) => void) {
    this.#content = content;
    this.#report = report;
  }

  bytes(): ReturnType<BlobContent["bytes"]> {
    return this.#observe(this.#content.bytes());
  }

  async *chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#content.chunks(range, options);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** A file of the disk is given on as it is: the kernel sends it. */
  body(range?: ByteRange): Blob | ReadableStream<Uint8Array> {
    const body = this.#content.body(range);
    if (body instanceof Blob) return body;
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await this.#observe(reader.read());
          if (value !== undefined) controller.enqueue(value);
          if (done) controller.close();
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#content[Symbol.asyncDispose]();
  }

  async #observe<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.#noted(error);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof StoreFault) this.#report(error);
    return error;
  }
}
