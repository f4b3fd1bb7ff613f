import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { endOfArchive } from "./records.ts";

/** Records that are compressed together: 0.1 ms of work. */
const blockBytes = 64 * 1024;

/**
 * CentralDirectory keeps the records of all members until the end of an archive. They are compressed meanwhile, because names in
 * a folder are alike: a member with a name of 60 characters takes about 25 bytes.
 */
export class CentralDirectory {
  readonly #blocks: Buffer[] = [];
  #open: Buffer[] = [];
  #openBytes = 0;
  #count = 0;
  #bytes = 0;

  add(record: Buffer): void {
    this.#open.push(record);
    this.#openBytes += record.length;
    this.#count += 1;
    this.#bytes += record.length;
    if (this.#openBytes < blockBytes) return;
    this.#blocks.push(zstdCompressSync(Buffer.concat(this.#open)));
    this.#open = [];
    this.#openBytes = 0;
  }

  /** All records, and the end of the archive, in which the directory begins at `offset`. */
  *pieces(offset: number): Generator<Uint8Array> {
    for (const block of this.#blocks) yield zstdDecompressSync(block);
    yield Buffer.concat([...this.#open, endOfArchive({ count: this.#count, bytes: this.#bytes, offset })]);
  }
}
