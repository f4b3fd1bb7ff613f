import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { type FileCalls, fileCallsFor, syncFileCalls } from "../base/local-fs/file-calls.ts";
import { randomText } from "../base/numbers.ts";
import { sortInTurns } from "../base/turns.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import type { BlobStore, ByteRange, StoredBlob } from "./blob-store.ts";
import {
  type Content,
  type ContentSource,
  fetchVerified,
  type HeldContent,
  maxShortBytes,
} from "./content.ts";
import { clearUnfinishedIn, FolderPaths, holdLocalBlob, listFolder, openLocalBlob } from "./folder.ts";
import { RecentReads } from "./local-content.ts";
import { CacheFill, MemoryContent, RemoteContent } from "./remote-content.ts";

/** What another process may still be writing in the same folder is younger. */
const unfinishedMs = 3600 * 1000;
/** A disk that failed is tried again after this time. */
const retryMs = 30_000;
const fileMode = 0o600;
/** Blobs in memory that wait for the disk; further ones are not cached. */
const maxAdding = 64;

interface CacheFolderOptions {
  /** `cache_path`, absolute. */
  readonly path: string;
  /** The files together have at most this size. 0 caches nothing. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/**
 * CacheFolder keeps copies of blobs as files, within a number of bytes. A file has its name once it is whole and on the disk. A disk that
 * is full or fails is one line in the log, and nothing is cached until it works again.
 */
export class CacheFolder {
  readonly #options: CacheFolderOptions;
  readonly #paths: FolderPaths;
  readonly #index = new CacheIndex();
  /** Of files that are being written. */
  #reservedBytes = 0;
  #adding = 0;
  #isBroken = false;
  #brokenAt = 0;
  /** The file that was begun last since the disk failed. Only its success shows that the disk works again. */
  #retried: string | undefined;
  /** Undefined before the folders are created, and after a failure, which may be that somebody deleted them. */
  #created: Promise<void> | undefined;
  /** Resolves once the files of the last run are known. Until then they are not used. */
  readonly ready: Promise<void>;

  constructor(options: CacheFolderOptions) {
    this.#options = options;
    this.#paths = new FolderPaths(options.path);
    this.ready = outsideSpans(() => this.guarded(() => this.#findFiles())).then(() => {});
  }

  has(key: string): boolean {
    return this.#index.has(key);
  }

  pathOf(key: string): string {
    return this.#paths.ofBlob(key);
  }

  /** To be called when an entry is used. */
  use(key: string): void {
    if (!this.#index.use(key)) return;
    const now = new Date();
    void utimes(this.pathOf(key), now, now).catch(() => {});
  }

  /** Forgets an entry whose file turned out to be missing or wrong. */
  forget(key: string): void {
    this.#index.delete(key);
    void rm(this.pathOf(key), { force: true }).catch(() => {});
  }

  /**
   * Makes space for a file of this size, and returns a path to write it at; undefined if it should not be cached. To be given
   * back to `keep` or `discard`.
   */
  allocate(size: number): string | undefined {
    const { maxBytes } = this.#options;
    if (size > maxBytes / 4 || this.#reservedBytes + size > maxBytes / 2) return undefined;
    if (this.#isBroken && performance.now() - this.#brokenAt < retryMs) return undefined;
    this.#reservedBytes += size;
    for (const key of this.#index.evict(maxBytes - this.#reservedBytes)) this.forget(key);
    const path = join(this.#paths.unfinished, randomText(24));
    if (this.#isBroken) this.#retried = path;
    return path;
  }

  /** Puts a file that is whole and synced into the cache, under the name of its blob. */
  async keep(written: string, { key, size }: { readonly key: string; readonly size: number }): Promise<void> {
    try {
      await rename(written, this.pathOf(key)).catch(async (error) => {
        if (codeOf(error) !== "ENOENT") throw error;
        await mkdir(dirname(this.pathOf(key)), { recursive: true });
        await rename(written, this.pathOf(key));
      });
      this.#reservedBytes -= size;
      this.#index.add(key, size);
      if (written === this.#retried) this.#report(undefined);
    } catch (error) {
      await this.discard(written, size);
      throw error;
    }
  }

  async discard(written: string, size: number): Promise<void> {
    this.#reservedBytes -= size;
    await rm(written, { force: true }).catch(() => {});
  }

  /** Writes a blob that is in memory. Does not reject. */
  async add(blob: { readonly key: string; readonly size: number }, content: Uint8Array): Promise<void> {
    const isWanted = !this.has(blob.key) && this.#adding < maxAdding;
    const path = isWanted ? this.allocate(blob.size) : undefined;
    if (path === undefined) return;
    this.#adding += 1;
    await this.guarded(async () => {
      try {
        await writeFile(path, content, { flag: "wx", mode: fileMode, flush: true });
      } catch (error) {
        await this.discard(path, blob.size);
        throw error;
      }
      await this.keep(path, blob);
    }).finally(() => {
      this.#adding -= 1;
    });
  }

  /** Runs work on the cache's disk. Its failure is logged once, until a file was cached again. Returns whether it succeeded. */
  async guarded(work: () => Promise<unknown>): Promise<boolean> {
    try {
      this.#created ??= this.#create();
      await this.#created;
      await work();
      return true;
    } catch (error) {
      this.#created = undefined;
      const system = error instanceof Fault ? error.cause : error;
      if (codeOf(system) === undefined) throw error;
      this.#report(messageOf(system));
      return false;
    }
  }

  #report(reason: string | undefined): void {
    const { log, path } = this.#options;
    const wasBroken = this.#isBroken;
    this.#isBroken = reason !== undefined;
    this.#brokenAt = performance.now();
    this.#retried = undefined;
    if (wasBroken === this.#isBroken) return;
    outsideSpans(() =>
      reason === undefined
        ? log.event("cache.restored", "files are cached again", { cache_path: path })
        : log.event("cache.failed", "the cache folder cannot be used; files are not cached", {
            cache_path: path,
            reason,
          }),
    );
  }

  async #create(): Promise<void> {
    for (const folder of [this.#paths.blobs, this.#paths.unfinished])
      await mkdir(folder, { recursive: true, mode: 0o700 });
  }

  async #findFiles(): Promise<void> {
    await clearUnfinishedIn(this.#paths, unfinishedMs);
    const found: FoundEntry[] = [];
    for await (const batch of listFolder(this.#paths, undefined)) found.push(...batch);
    this.#index.addFound(await sortInTurns(found, (a, b) => a.storedAtMs - b.storedAtMs));
    for (const key of this.#index.evict(this.#options.maxBytes - this.#reservedBytes)) this.forget(key);
  }
}

interface Entry {
  readonly size: number;
  /** When the time of its file was last set, in Unix milliseconds: it tells the next start which entries were used last. */
  markedAtMs: number;
}

interface FoundEntry {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** When it was last used, as far as its file tells. */
  readonly storedAtMs: number;
}

/** The time of a file is set again at a use after this time. */
const markIntervalMs = 3600 * 1000;

/** CacheIndex knows which blobs are in the cache, from the least to the most recently used one. */
class CacheIndex {
  #entries = new Map<string, Entry>();
  #bytes = 0;

  /** The sizes of all entries together. */
  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Puts an entry last in the order of eviction. Returns whether the time of its file is to be set. */
  use(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const isDue = Date.now() - entry.markedAtMs > markIntervalMs;
    if (isDue) entry.markedAtMs = Date.now();
    return isDue;
  }

  add(key: string, size: number): void {
    this.delete(key);
    this.#entries.set(key, { size, markedAtMs: Date.now() });
    this.#bytes += size;
  }

  /** Adds what a start found, as less recently used than everything that was used since. */
  addFound(found: readonly FoundEntry[]): void {
    const used = this.#entries;
    this.#entries = new Map();
    for (const { key, size, storedAtMs } of found.filter(({ key }) => !used.has(key))) {
      this.#entries.set(key, { size, markedAtMs: storedAtMs });
      this.#bytes += size;
    }
    for (const [key, entry] of used) this.#entries.set(key, entry);
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }

  /** Removes the least recently used entries until all together have at most `maxBytes`. Returns their keys. */
  evict(maxBytes: number): string[] {
    const evicted: string[] = [];
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= maxBytes) break;
      this.delete(key);
      evicted.push(key);
    }
    return evicted;
  }
}

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
