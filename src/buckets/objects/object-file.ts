import { pulledStream } from "../../base/pulled-stream.ts";
import type { FileValue } from "../../db/rows/entry-values.ts";
import type { StoredBlob } from "../blobs/blob-store.ts";
import type { BlobContent } from "../blobs/content.ts";
import type { ByteRange, ChunkOptions, FileSnapshot, OpenFile } from "../ports.ts";
import { EntryStats } from "./entry.ts";
import { blobOf } from "./values.ts";

export interface ObjectFileOptions {
  readonly value: FileValue;
  readonly snapshot: () => FileSnapshot;
  /** Whether the content is on a local disk. Synchronous. */
  readonly isLocal: (blob: StoredBlob) => boolean;
  /** Opens the content. Throws a Fault, also for a blob that is missing. */
  readonly openBlob: (blob: StoredBlob) => Promise<BlobContent>;
}

/**
 * ObjectFile is a file whose content is a blob. Nothing asks the blob store before the content is needed: not for HEAD, and not
 * for a 304.
 */
export class ObjectFile implements OpenFile {
  readonly stats: EntryStats;
  readonly contentKey: string;
  readonly #blob: StoredBlob | undefined;
  readonly #options: ObjectFileOptions;
  #content: Promise<BlobContent> | undefined;
  #opened: BlobContent | undefined;

  constructor(options: ObjectFileOptions) {
    this.#options = options;
    this.stats = new EntryStats(options.value);
    this.contentKey = options.value.hash;
    this.#blob = blobOf(options.value);
  }

  get isRemote(): boolean {
    return this.#blob !== undefined && !this.#options.isLocal(this.#blob);
  }

  async prepare(): Promise<void> {
    await this.#open();
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#open())?.bytes() ?? new Uint8Array();
  }

  async *chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array> {
    const content = await this.#open();
    if (content !== undefined) yield* content.chunks(range, options);
  }

  body(range?: ByteRange): Blob | ReadableStream<Uint8Array> {
    if (this.#blob === undefined) return new Blob([]);
    const opened = this.#opened;
    if (opened === undefined) return this.#lateBody(range);
    this.#content = undefined;
    return opened.body(range);
  }

  async snapshot(): Promise<FileSnapshot> {
    return this.#options.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // One that could not be opened has nothing to close; whoever asked for it has the error.
    const content = await this.#content?.catch(() => undefined);
    this.#content = undefined;
    await content?.[Symbol.asyncDispose]();
  }

  /** Without `prepare`, the blob is opened when the client has room for the first bytes. */
  #lateBody(range: ByteRange | undefined): ReadableStream<Uint8Array> {
    return pulledStream(this.chunks(range), { onEnd: () => this[Symbol.asyncDispose]() });
  }

  async #open(): Promise<BlobContent | undefined> {
    if (this.#blob === undefined) return undefined;
    this.#content ??= this.#options.openBlob(this.#blob);
    this.#opened = await this.#content;
    return this.#opened;
  }
}
