import { pipeline, Readable, Transform } from "node:stream";
import { FairSemaphore } from "../../base/fair-semaphore.ts";
import { isSettled, type OpenFile } from "../../buckets/file-reader.ts";
import type { StreamMeter } from "../request/response-size.ts";
import type { ContentBudget } from "./content-budget.ts";
import { compress, compressor, type Encoding } from "./encoding.ts";

/** Files compressed whole at a time. Each occupies a thread of the pool and up to 20 MB. */
const maxWholeFiles = 2;
/** Files that wait to be compressed whole. Each holds a descriptor and no content. */
const maxWaitingFiles = 32;
/** Large files compressed while they are sent. A client that does not read keeps one until its connection times out. */
const maxStreams = 8;

/** CompressedStream is a large file that can be compressed while it is sent. One of its methods must be called, once. */
export interface CompressedStream {
  /** `meter` counts the compressed bytes. */
  start(meter: StreamMeter): ReadableStream<Uint8Array>;
  cancel(): void;
}

/**
 * Compression makes the compressed variants of files and bounds what that costs: clients that request one file at the same time share
 * one compression, and a file that would have to wait for too many others goes out plain.
 */
export class Compression {
  readonly #semaphore = new FairSemaphore(maxWholeFiles);
  /** Compressions that run or wait, by the file's content and the encoding. */
  readonly #shared = new Map<string, Promise<Blob>>();
  #unfinished = 0;
  #streams = 0;
  readonly #budget: ContentBudget;

  constructor(budget: ContentBudget) {
    this.#budget = budget;
  }

  /**
   * Compresses a small file and closes it. Undefined if too many others wait or the budget is spent; the file is then still open
   * and the caller must close it.
   */
  whole(file: OpenFile, encoding: Encoding): Promise<Blob> | undefined {
    const key = `${encoding} ${file.contentKey}`;
    const running = this.#shared.get(key);
    if (running !== undefined) return closeAndWait(file, running);
    if (this.#unfinished >= maxWholeFiles + maxWaitingFiles || this.#budget.isSpent) return undefined;
    // A file changed a moment ago may change again under the same validator, so the result is not shared with other requests.
    if (!isSettled(file.stats)) return this.#compress(file, encoding);
    const compressed = this.#compress(file, encoding).finally(() => this.#shared.delete(key));
    this.#shared.set(key, compressed);
    return compressed;
  }

  async #compress(file: OpenFile, encoding: Encoding): Promise<Blob> {
    await using opened = file;
    this.#unfinished += 1;
    await this.#semaphore.acquire();
    try {
      const blob = new Blob([await compress(await opened.bytes(), encoding)]);
      this.#budget.add(blob.size);
      return blob;
    } finally {
      this.#semaphore.release();
      this.#unfinished -= 1;
    }
  }

  /** Compresses a large file while it is sent and closes it. Undefined if too many streams run; the caller must then close the file. */
  stream(file: OpenFile, encoding: Encoding): CompressedStream | undefined {
    if (this.#streams >= maxStreams) return undefined;
    this.#streams += 1;
    const close = () => {
      this.#streams -= 1;
      void file[Symbol.asyncDispose]();
    };
    return {
      start: (meter) => {
        const counted = new Transform({
          transform(chunk: Uint8Array, _, done) {
            meter.add(chunk.byteLength);
            done(null, chunk);
          },
        });
        const compressing = compressor(encoding);
        const written = writeInto(compressing, file);
        // Called once: all was sent, or the client left and the streams were destroyed with it.
        pipeline(compressing, counted, () => {
          meter.end();
          void written.then(close);
        });
        return Readable.toWeb(counted) as unknown as ReadableStream<Uint8Array>;
      },
      cancel: close,
    };
  }
}

async function closeAndWait(file: OpenFile, running: Promise<Blob>): Promise<Blob> {
  await file[Symbol.asyncDispose]();
  return running;
}

/**
 * Writes a file into a compressor and ends it; resolves when the file is needed no more. A compressor that is destroyed ends the
 * reading, and a file that cannot be read destroys the compressor. All of the file is read into the same memory: with new memory for
 * each chunk, the garbage collector would stop the server fifty times a second.
 */
async function writeInto(compressing: Transform, file: OpenFile): Promise<void> {
  try {
    for await (const chunk of file.chunks(undefined, { reusesMemory: true }))
      if (!(await isTaken(compressing, chunk))) return;
    compressing.end();
  } catch (error) {
    compressing.destroy(error as Error);
  }
}

/** True once the chunk is compressed, false if the compressor was destroyed, which may then not report to a `write` any more. */
function isTaken(compressing: Transform, chunk: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    compressing.once("close", onClose);
    compressing.write(chunk, (error) => {
      compressing.off("close", onClose);
      resolve(error == null);
    });
  });
}
