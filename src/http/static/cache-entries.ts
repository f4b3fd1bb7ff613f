import type { FileSnapshot, HeldContent } from "../../buckets/file-reader.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Encoding } from "../content/encoding.ts";
import type { Representation } from "../content/representation.ts";

/** CachedFile is what all variants of a cached file share. */
export interface CachedFile {
  /** As `cacheKey` makes it. */
  readonly key: string;
  readonly bucket: Bucket;
  readonly compressible: boolean;
}

/** CachedVariant is one variant of a file in memory. */
export interface CachedVariant {
  readonly representation: Representation;
  readonly blob: Blob;
  /** The files that must be unchanged, or still missing, for the variant to be valid. */
  readonly dependencies: readonly FileSnapshot[];
  /** The file whose content the blob is; undefined if the server compressed it. */
  readonly source: FileSnapshot | undefined;
  /** The tick in which the dependencies were last compared with the disk. */
  checkedTick: number;
  /** The source, held open until the end of the tick. */
  held: HeldContent | undefined;
  /**
   * The head of the response to a GET without conditions, and of a 304; made when first needed. A `Response` is copied faster
   * than its members.
   */
  whole: Response | undefined;
  notModified: Response | undefined;
}

/** CacheEntry is a cached file with its variants. */
export class CacheEntry {
  /** By the encodings that the client accepts, as `acceptedEncodings` returns them. */
  readonly variants = new Map<readonly Encoding[], CachedVariant>();
  /** The URLs in `byUrl` that lead here, the oldest first. */
  readonly urls: string[] = [];
  bytes = 0;
  /** Requested since the last eviction that met it. */
  used = false;

  constructor(readonly file: CachedFile) {}
}

/** KnownUrl is a URL for which the host, the route and the path were checked, and the cached file that they lead to. */
export interface KnownUrl {
  readonly entry: CacheEntry;
  /** The Host header that was checked. Bun makes the same URL of several, invalid ones included. */
  readonly host: string | null;
  /** The buckets of all host names, by which the host led to the file. */
  readonly hosts: ReadonlyMap<string, string>;
  /** The path, if it is at the root of the host. */
  readonly rootPath: string | undefined;
}

/**
 * cacheKey returns the key of a file. All spellings of a path (`%61bc.js`) have one key, so that nobody can have a file compressed and
 * cached once for each. `base` is the part of the path above the bucket's files, as sent; `decoded` is the rest, decoded. A path without
 * `%` is its own key. Two kinds of names would collide with such a path and are marked with NUL, which no path contains: a decoded name
 * that contains `%`, and a file `node/static/…` of the root bucket.
 */
export function cacheKey(base: string, decoded: string): string {
  if (base === "/" && decoded.startsWith("node/")) return `\0root\0${decoded}`;
  return decoded.includes("%") ? `\0${base}${decoded}` : base + decoded;
}

/** Bytes that an entry takes beside its content and its key, and a URL beside its text. */
const entryBytes = 1024;
const urlBytes = 128;
/** URLs kept for one file: a few host names and query strings. Nobody can fill the memory with more of them. */
const maxUrlsPerFile = 4;

/** CacheEntries keeps cached files by key and by URL within a number of bytes. */
export class CacheEntries {
  readonly byKey = new Map<string, CacheEntry>();
  readonly byUrl = new Map<string, KnownUrl>();
  readonly #maxBytes: () => number;
  #bytes = 0;
  /** Where the next eviction goes on. */
  #hand = this.byKey.values();

  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes that all entries take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** add returns whether the variant was added: one that is too large, or present already, is not. */
  add(file: CachedFile, accepted: readonly Encoding[], variant: CachedVariant): boolean {
    const { key } = file;
    const size = variant.blob.size + key.length * 2 + entryBytes;
    this.#evict();
    if (size > this.#maxBytes() / 8) return false;
    const present = this.byKey.get(key);
    if (present !== undefined && present.file.bucket !== file.bucket) this.remove(present);
    const entry = this.byKey.get(key) ?? new CacheEntry(file);
    if (entry.variants.has(accepted)) return false;
    entry.variants.set(accepted, variant);
    this.byKey.set(key, entry);
    this.#count(entry, size);
    this.#evict();
    return true;
  }

  /** addUrl does nothing for an entry that was removed. */
  addUrl(url: string, known: KnownUrl): void {
    const { entry } = known;
    if (this.byKey.get(entry.file.key) !== entry) return;
    const present = this.byUrl.get(url);
    if (present?.hosts === known.hosts) return;
    if (present !== undefined) this.#removeUrl(url, present.entry);
    if (entry.urls.length === maxUrlsPerFile) {
      this.#removeUrl(entry.urls[0] ?? "", entry);
    }
    entry.urls.push(url);
    this.byUrl.set(url, known);
    this.#count(entry, bytesOfUrl(url));
    this.#evict();
  }

  remove(entry: CacheEntry): void {
    this.byKey.delete(entry.file.key);
    for (const url of entry.urls) this.byUrl.delete(url);
    this.#bytes -= entry.bytes;
  }

  #removeUrl(url: string, entry: CacheEntry): void {
    entry.urls.splice(entry.urls.indexOf(url), 1);
    this.byUrl.delete(url);
    this.#count(entry, -bytesOfUrl(url));
  }

  /**
   * Removes entries until the rest fits, the oldest first; one that was requested since the last round gets another. The hand stays
   * where it was: a search from the start of the map would meet the places of all that were removed.
   */
  #evict(): void {
    while (this.#bytes > this.#maxBytes() && this.byKey.size > 0) {
      const { done, value } = this.#hand.next();
      if (done) this.#hand = this.byKey.values();
      else if (value.used) value.used = false;
      else this.remove(value);
    }
  }

  #count(entry: CacheEntry, bytes: number): void {
    entry.bytes += bytes;
    this.#bytes += bytes;
  }
}

function bytesOfUrl(url: string): number {
  return url.length * 2 + urlBytes;
}
