import type { FileHandle } from "node:fs/promises";
import { Fault } from "../../base/fault.ts";
import type { ByteRange, FileSnapshot, OpenFile } from "../file-store.ts";
import type { TreePath } from "../path.ts";
import { toTreeFault } from "./disk-faults.ts";
import type { DiskStats } from "./entry.ts";

/** Divisible by three, so that the chunks of a file can be written as base64 one by one. */
const chunkBytes = 192 * 1024;

/** HeldFile is what an open file is made of, once it is proven to be inside the bucket. */
export interface HeldFile {
  readonly path: TreePath;
  readonly handle: FileHandle;
  /** A disk path to exactly the open file, valid until the handle is closed. */
  readonly heldPath: string;
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;
}

/** DiskFile is an open file, with what only the code of this folder may use: `handle`, `heldPath`, `stats.node`. */
export class DiskFile implements OpenFile {
  readonly handle: FileHandle;
  readonly heldPath: string;
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;
  readonly #path: TreePath;

  constructor({ path, handle, heldPath, stats, snapshot }: HeldFile) {
    this.#path = path;
    this.handle = handle;
    this.heldPath = heldPath;
    this.stats = stats;
    this.snapshot = snapshot;
  }

  get contentKey(): string {
    return `${this.stats.node.dev} ${this.stats.etag}`;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return await this.handle.readFile();
    } catch (error) {
      throw toTreeFault(error, this.#path);
    }
  }

  async *chunks({ start, end } = this.#whole()): AsyncGenerator<Uint8Array> {
    for (let at = start; at <= end; ) {
      const chunk = await this.#read(at, Math.min(chunkBytes, end + 1 - at));
      yield chunk;
      at += chunk.length;
    }
  }

  /**
   * Bun sends a file with `sendfile` only if it may open it itself, from the held path, and it does so in the same event-loop tick in
   * which the handler's promise is fulfilled (Bun 1.4.4, plain and TLS). So our own handle is closed in the next tick.
   */
  body({ start, end } = this.#whole()): Blob {
    setImmediate(() => void this.handle.close());
    // Cut to the size in the headers: more may be appended to the file while it is sent.
    return Bun.file(this.heldPath).slice(start, end + 1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.handle.close();
  }

  #whole(): ByteRange {
    return { start: 0, end: this.stats.size - 1 };
  }

  /** Reads exactly so many bytes; a read of the system may give fewer. */
  async #read(at: number, wanted: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(wanted);
    for (let got = 0; got < wanted; ) {
      const { bytesRead } = await this.handle.read(buffer, got, wanted - got, at + got).catch((error) => {
        throw toTreeFault(error, this.#path);
      });
      if (bytesRead === 0)
        throw new Fault("IoError", "the file was cut short while it was read; read it again");
      got += bytesRead;
    }
    return buffer;
  }
}
