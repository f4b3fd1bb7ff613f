import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { sortInTurns } from "../base/turns.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import { clearUnfinishedIn, FolderPaths, listFolder } from "./folder.ts";

/** What another process may still be writing in the same folder is younger. */
const unfinishedMs = 3600 * 1000;
/** A disk that failed is tried again after this time. */
const retryMs = 30_000;
const fileMode = 0o600;
/** Blobs in memory that wait for the disk; further ones are not cached. */
const maxAdding = 64;

export interface CacheFolderOptions {
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
