import { Fault } from "../base/fault.ts";
import type { FileDescriptor } from "../base/local-fs/file-calls.ts";
import type { ByteRange } from "./blob-store.ts";
import type { ChunkOptions } from "./content.ts";

/** Divisible by three, so that the chunks of a file can be written as base64 one by one. */
const chunkBytes = 192 * 1024;

/** A file up to this size may be read without a thread. */
const maxShortBytes = 64 * 1024;
const maxRecent = 1000;

/**
 * RecentReads are the short files that were read a while ago. The system most likely has their content in memory still: reading it from
 * there takes a microsecond, and a thread would take twenty.
 */
export class RecentReads {
  readonly #keys = new Set<string>();

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    if (this.#keys.size >= maxRecent) this.#keys.clear();
    this.#keys.add(key);
  }
}

interface LocalContentOptions {
  readonly handle: FileDescriptor;
  /** A disk path to exactly the open file, valid until the handle is closed. */
  readonly heldPath: string;
  /** In bytes. */
  readonly size: number;
  readonly recentReads: RecentReads;
  /** Turns an error of the disk into a Fault. */
  readonly toFault: (error: unknown) => unknown;
}

/** LocalContent is the content of a file on the disk that is held open. Its methods are those of `OpenFile`. */
export abstract class LocalContent implements AsyncDisposable {
  readonly handle: FileDescriptor;
  readonly heldPath: string;
  readonly #size: number;
  readonly #recentReads: RecentReads;
  readonly #toFault: (error: unknown) => unknown;

  constructor({ handle, heldPath, size, recentReads, toFault }: LocalContentOptions) {
    this.handle = handle;
    this.heldPath = heldPath;
    this.#size = size;
    this.#recentReads = recentReads;
    this.#toFault = toFault;
  }

  abstract get contentKey(): string;

  /** False also for files that are not short, or not on a local disk. */
  get isReadAgain(): boolean {
    return this.#recentReads.has(this.contentKey);
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#size > maxShortBytes || this.handle.readSync === undefined) return this.#verifiedBytes();
    if (this.#recentReads.has(this.contentKey)) return this.#readSync();
    const bytes = await this.#verifiedBytes();
    this.#recentReads.add(this.contentKey);
    return bytes;
  }

  /** verify throws if the whole content is not what it should be. Content that was read a while ago is not verified again. */
  protected async verify(_bytes: Uint8Array): Promise<void> {}

  async #verifiedBytes(): Promise<Buffer<ArrayBuffer>> {
    const bytes = await this.#read(0, this.#size);
    await this.verify(bytes);
    return bytes;
  }

  async *chunks(
    { start, end } = this.#whole(),
    { reusesMemory = false }: ChunkOptions = {},
  ): AsyncGenerator<Uint8Array> {
    const reused = reusesMemory ? Buffer.allocUnsafe(Math.min(chunkBytes, end + 1 - start)) : undefined;
    for (let at = start; at <= end; ) {
      const length = Math.min(chunkBytes, end + 1 - at);
      const chunk = reused?.subarray(0, length) ?? Buffer.allocUnsafe(length);
      const got = await this.#readInto(chunk, at);
      if (got > 0) yield chunk.subarray(0, got);
      if (got < length) throw cutShort();
      at += length;
    }
  }

  /**
   * Bun sends a file with `sendfile` only if it may open it itself, from the held path, and it does so in the same event-loop tick in
   * which the handler's promise is fulfilled (Bun 1.4.4, plain and TLS). So our own handle is closed in the next tick.
   */
  blob({ start, end } = this.#whole()): Blob {
    setImmediate(() => void this.handle.close());
    // Cut to the size in the headers: more may be appended to the file while it is sent.
    return Bun.file(this.heldPath).slice(start, end + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handle.close();
  }

  #whole(): ByteRange {
    return { start: 0, end: this.#size - 1 };
  }

  #readSync(): Buffer<ArrayBuffer> {
    const wanted = this.#size;
    const buffer = Buffer.allocUnsafe(wanted);
    try {
      for (let got = 0; got < wanted; ) {
        const bytesRead = this.handle.readSync?.(buffer, got, wanted - got, got) ?? 0;
        if (bytesRead === 0) throw cutShort();
        got += bytesRead;
      }
      return buffer;
    } catch (error) {
      throw this.#toFault(error);
    }
  }

  async #read(at: number, wanted: number): Promise<Buffer<ArrayBuffer>> {
    const buffer = Buffer.allocUnsafe(wanted);
    if ((await this.#readInto(buffer, at)) < wanted) throw cutShort();
    return buffer;
  }

  /** Fills the buffer, or as much of it as the file has, and returns how much. A single read of the system may give less. */
  async #readInto(buffer: Buffer, at: number): Promise<number> {
    const wanted = buffer.length;
    let got = 0;
    while (got < wanted) {
      const { bytesRead } = await this.handle.read(buffer, got, wanted - got, at + got).catch((error) => {
        throw this.#toFault(error);
      });
      if (bytesRead === 0) break;
      got += bytesRead;
    }
    return got;
  }
}

function cutShort(): Fault {
  return new Fault("IoError", "the file was cut short while it was read; read it again");
}
