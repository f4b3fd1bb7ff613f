import { codeOf } from "../base/fault.ts";
import { type FileCalls, fileCallsFor, syncFileCalls } from "../base/local-fs/file-calls.ts";
import type { BlobStore, ByteRange, StoredBlob } from "./blob-store.ts";
import { CacheFolder, type CacheFolderOptions } from "./cache-folder.ts";
import {
  type Content,
  type ContentSource,
  fetchVerified,
  type HeldContent,
  maxShortBytes,
} from "./content.ts";
import { holdLocalBlob, openLocalBlob } from "./folder.ts";
import { RecentReads } from "./local-content.ts";
import { CacheFill, MemoryContent, RemoteContent } from "./remote-content.ts";

/** Larger blobs that are being written to the cache at the same time. */
const maxFills = 8;

interface BlobCacheOptions extends CacheFolderOptions {
  readonly store: BlobStore;
}

/**
 * BlobCache sends blobs of a remote store from files on the local disk, and fetches those that it has not: each once, however many
 * wait for it. A blob never changes, so what is cached is never outdated.
 */
export class BlobCache implements ContentSource {
  readonly #store: BlobStore;
  readonly #folder: CacheFolder;
  readonly #calls: FileCalls;
  readonly #isLocal: boolean;
  readonly #recentReads = new RecentReads();
  readonly #fetching = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  readonly #fills = new Map<string, Promise<CacheFill | undefined>>();
  readonly #closing = new AbortController();

  constructor({ store, ...folder }: BlobCacheOptions) {
    this.#store = store;
    this.#folder = new CacheFolder(folder);
    this.#calls = fileCallsFor(folder.path);
    this.#isLocal = this.#calls === syncFileCalls;
  }

  /** Resolves once the files of the last run are known. Until then they are fetched again. */
  get ready(): Promise<void> {
    return this.#folder.ready;
  }

  has(key: string): boolean {
    return this.#isLocal && this.#folder.has(key);
  }

  hold(blob: StoredBlob): HeldContent | undefined {
    if (!this.has(blob.key)) return undefined;
    const held = holdLocalBlob(blob, this.#folder.pathOf(blob.key));
    if (held !== undefined) this.#folder.use(blob.key);
    return held;
  }

  async open(blob: StoredBlob): Promise<Content> {
    const local = await this.#openLocal(blob);
    if (local !== undefined) return local;
    if (blob.size <= maxShortBytes) return new MemoryContent(await this.#fetch(blob));
    if (!this.#fills.has(blob.key)) await this.#probe(blob);
    return new RemoteContent(blob, {
      store: this.#store,
      cached: (range) => this.#read(blob, range),
    });
  }

  /** Ends what is being written to the cache. */
  close(): void {
    this.#closing.abort(new Error("the server stops"));
  }

  async #openLocal(blob: StoredBlob): Promise<Content | undefined> {
    const { key } = blob;
    if (!this.#folder.has(key)) return undefined;
    try {
      const path = this.#folder.pathOf(key);
      const content = await openLocalBlob(blob, { path, calls: this.#calls, recentReads: this.#recentReads });
      this.#folder.use(key);
      return content;
    } catch {
      // It was deleted, or the disk fails: the store has it.
      this.#folder.forget(key);
      return undefined;
    }
  }

  /** Asks for one byte, so that a store that is away or has lost the blob is reported before an answer begins. */
  async #probe({ key }: StoredBlob): Promise<void> {
    const stream = await this.#store.get(key, { start: 0, end: 0 }, this.#closing.signal);
    await stream.cancel();
  }

  #fetch(blob: StoredBlob): Promise<Uint8Array<ArrayBuffer>> {
    const { key } = blob;
    let fetching = this.#fetching.get(key);
    if (fetching === undefined) {
      fetching = fetchVerified(this.#store, blob, this.#closing.signal);
      this.#fetching.set(key, fetching);
      void this.#keep(blob, fetching).finally(() => this.#fetching.delete(key));
    }
    return fetching;
  }

  /** Writes fetched bytes to the disk. Who asks for them meanwhile gets those in memory. */
  async #keep(blob: StoredBlob, fetching: Promise<Uint8Array<ArrayBuffer>>): Promise<void> {
    // Those who wait for the bytes get the error.
    const bytes = await fetching.catch(() => undefined);
    if (bytes !== undefined) await this.#folder.add(blob, bytes);
  }

  async *#read(blob: StoredBlob, range: ByteRange): AsyncGenerator<Uint8Array> {
    const fill = await this.#fillFor(blob, range);
    if (fill !== undefined) return yield* fill.chunks(range);
    // A fill may have ended after the blob was opened.
    await using local = await this.#openLocal(blob);
    if (local !== undefined) yield* local.chunks(range);
  }

  /** A part of a blob is not a reason to fetch all of it. */
  async #fillFor(blob: StoredBlob, range: ByteRange): Promise<CacheFill | undefined> {
    const { key, size } = blob;
    const isMost = range.end + 1 - range.start >= size / 2;
    if (!this.#fills.has(key) && isMost && this.#fills.size < maxFills && !this.#folder.has(key)) {
      const starting = this.#startFill(blob);
      this.#fills.set(key, starting);
      if ((await starting) === undefined) this.#fills.delete(key);
    }
    const fill = await this.#fills.get(key);
    return fill?.serves(range) ? fill : undefined;
  }

  /** Undefined if the blob should not be cached, or the disk fails. */
  async #startFill(blob: StoredBlob): Promise<CacheFill | undefined> {
    const { key, size } = blob;
    const path = this.#folder.allocate(size);
    const stop = new AbortController();
    let fill: CacheFill | undefined;
    if (path !== undefined)
      await this.#folder.guarded(async () => {
        fill = await CacheFill.open(blob, path, stop);
      });
    if (path === undefined || fill === undefined) {
      if (path !== undefined) await this.#folder.discard(path, size);
      return undefined;
    }
    void this.#fill(fill, blob, { path, stop }).finally(() => this.#fills.delete(key));
    return fill;
  }

  /** Does not reject: readers of a fill that fails go on with the store. */
  async #fill(
    fill: CacheFill,
    blob: StoredBlob,
    { path, stop }: { readonly path: string; readonly stop: AbortController },
  ): Promise<void> {
    const { key, size } = blob;
    const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
    let isComplete = false;
    await this.#folder.guarded(async () => {
      try {
        if (!(await fill.run(this.#wholeOf(blob, signal)))) return;
      } catch (error) {
        // The disk's errors have a code; others are the store's, and its readers get them.
        if (codeOf(error) === undefined) return;
        throw error;
      }
      isComplete = true;
      await this.#folder.keep(path, { key, size });
    });
    if (!isComplete) await this.#folder.discard(path, size);
  }

  async *#wholeOf({ key, size }: StoredBlob, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* await this.#store.get(key, { start: 0, end: size - 1 }, signal);
  }
}
