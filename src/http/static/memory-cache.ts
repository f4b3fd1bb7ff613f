import { PerTick } from "../../base/turns.ts";
import type { HeldContent } from "../../blobs/content.ts";
import type { BucketCache } from "../../buckets/bucket-cache.ts";
import { type FileSnapshot, type FolderChecks, isSettled } from "../../buckets/ports.ts";
import type { Bucket, BucketState } from "../../buckets/record.ts";
import { type Encoding, encodingsFor, plainOnly } from "../content/compression.ts";
import { sized } from "../content/plain.ts";
import {
  dispositionOf,
  hasPrecondition,
  maxCopiedBytes,
  notModifiedHeaders,
  type Representation,
  respond,
} from "../content/respond.ts";
import type { Variant } from "../content/variants.ts";
import { hasPreviewCookie } from "../preview/preview-cookie.ts";
import { isRootWorker } from "../request/browser-request.ts";

interface MemoryCacheOptions {
  readonly maxBytes: () => number;
  /** The records that cached files must still agree with. */
  readonly records: () => BucketCache;
}

/**
 * Freshness is what an answer may rest on, beside the record of its bucket:
 * - `tick`: one comparison with the store for all requests that arrive in a tick (`PerTick`). For a request that has not waited, and of
 *   which only its address is known: private files are not sent.
 * - `own`: a comparison for this request alone, after a wait.
 * - a bucket: the same, and the record is what was just read from the database. With `inTick`, one comparison serves all requests of a
 *   tick, as above, for callers who may read the bucket.
 * - a state: the same, where the store's copy of what the database says may be older than the request.
 */
type Freshness =
  | "tick"
  | "own"
  | { readonly bucket: Bucket; readonly inTick?: true }
  | { readonly state: BucketState };

/** MemoryCache keeps small files that are requested often, and answers from them after its files in the store were compared. */
export class MemoryCache {
  readonly #entries: CacheEntries;
  readonly #records: () => BucketCache;
  readonly #maxBytes: () => number;
  #hits = 0;
  #misses = 0;
  /** Results of comparing parent folders in this tick. */
  readonly #folders = new PerTick<FolderChecks>(() => new Map());

  constructor({ maxBytes, records }: MemoryCacheOptions) {
    this.#entries = new CacheEntries(maxBytes);
    this.#records = records;
    this.#maxBytes = maxBytes;
  }

  /** Requests answered from memory on arrival, GETs and HEADs that were not, and what the cache holds. */
  get stats() {
    return {
      hits: this.#hits,
      misses: this.#misses,
      files: this.#entries.byKey.size,
      bytes: this.#entries.bytes,
      maxBytes: this.#maxBytes(),
    };
  }

  /** Host names with the names of their buckets. */
  get hosts(): ReadonlyMap<string, string> {
    return this.#records().hosts;
  }

  /** Whether files may be compared with the store now: not where the state of a bucket may be older than the request. */
  get canCompare(): boolean {
    return !this.#records().mayLag;
  }

  /**
   * find returns the file that a GET for this URL was answered with before. All that the routes decide by is equal then: URL, Host header,
   * the buckets of all host names, method, no handshake of a WebSocket, no script of a service worker, no cookie of a preview.
   */
  find(request: Request): CacheEntry | undefined {
    const known = this.#entries.byUrl.get(request.url);
    if (known === undefined) return undefined;
    const { headers } = request;
    if (headers.get("host") !== known.host || known.hosts !== this.hosts || headers.has("upgrade"))
      return undefined;
    if (known.rootPath !== undefined && (isRootWorker(request, known.rootPath) || hasPreviewCookie(request)))
      return undefined;
    return known.entry;
  }

  /** get returns the file with this key. */
  get(key: string): CacheEntry | undefined {
    return this.#entries.byKey.get(key);
  }

  /** answer sends a file if it still is as it was; undefined if it has to be read again. */
  answer(request: Request, entry: CacheEntry | undefined, freshness: Freshness): Response | undefined {
    const variant = entry && variantFor(request, entry);
    if (entry === undefined || variant === undefined) return undefined;
    entry.used = true;
    if (freshness !== "tick")
      return this.#isStillCurrent(entry, variant, freshness) ? send(request, variant) : undefined;
    if (!entry.file.bucket.public || (!this.canCompare && wantsPresentState(request.headers)))
      return undefined;
    if (!this.#isCurrentInTick(entry, variant)) return undefined;
    this.#hits += 1;
    return send(request, variant);
  }

  /** To be called for a GET or HEAD that was not answered on arrival. */
  missed(): void {
    this.#misses += 1;
  }

  /** remember has `find` lead to an entry that has answered this GET. `rootPath` is its path at the root of the host. */
  remember(request: Request, entry: CacheEntry, rootPath?: string): void {
    const host = request.headers.get("host");
    this.#entries.addUrl(request.url, { entry, host, hosts: this.hosts, rootPath });
  }

  /** forgetUrls is to be called when the routes would decide otherwise about a host name. */
  forgetUrls(): void {
    this.#entries.removeUrls();
  }

  /** removeUnlessOf removes a file that was not read by these rules: its answer may be of another tree than what led to it. */
  removeUnlessOf(key: string, rules: FileSnapshot): void {
    const entry = this.#entries.byKey.get(key);
    if (entry === undefined) return;
    const isOther = [...entry.variants.values()].some(({ dependencies }) => !dependencies.includes(rules));
    if (isOther) this.#entries.remove(entry);
  }

  /** add caches a variant that is in memory, unless one of its files is so new that a change could go unseen. Returns whether it did. */
  add(
    file: CachedFile,
    { representation, dependencies, accepted, source }: Omit<Variant, "compressible">,
  ): boolean {
    const { body } = representation;
    if (body.kind !== "memory" || !dependencies.every(isSettled)) return false;
    return this.#entries.add(file, accepted, {
      representation,
      blob: body.blob,
      dependencies,
      source,
      checkedIn: undefined,
      held: undefined,
      whole: undefined,
      head: undefined,
      notModified: undefined,
    });
  }

  #isCurrentInTick(entry: CacheEntry, variant: CachedVariant): boolean {
    if (variant.checkedIn === this.#folders.get()) return true;
    return this.#records().isCurrent(entry.file.bucket) && this.#compareInTick(entry, variant);
  }

  #compareInTick(entry: CacheEntry, variant: CachedVariant): boolean {
    const folders = this.#folders.get();
    if (variant.checkedIn === folders) return true;
    if (!this.#compare(entry, variant, folders)) return false;
    variant.checkedIn = folders;
    return true;
  }

  #isStillCurrent(entry: CacheEntry, variant: CachedVariant, freshness: Exclude<Freshness, "tick">): boolean {
    const { bucket } = entry.file;
    if (freshness === "own")
      return this.#records().isCurrent(bucket) && this.#compare(entry, variant, new Map());
    if ("state" in freshness)
      return bucket === freshness.state.record && this.#compare(entry, variant, new Map(), freshness.state);
    if (!this.canCompare) return false;
    const { id, path } = freshness.bucket;
    if (bucket.id === id && bucket.path === path)
      return freshness.inTick
        ? this.#compareInTick(entry, variant)
        : this.#compare(entry, variant, new Map());
    this.#entries.remove(entry);
    return false;
  }

  /** Compares a variant with the store, and removes its entry if it is outdated. */
  #compare(entry: CacheEntry, variant: CachedVariant, folders: FolderChecks, state?: BucketState): boolean {
    if (variant.dependencies.every((file) => file.isCurrent(folders, state))) return true;
    this.#entries.remove(entry);
    return false;
  }
}

function send(request: Request, variant: CachedVariant): Response {
  const { headers } = request;
  const { representation } = variant;
  const { method } = request;
  const isHead = method === "HEAD";
  if (!(isHead || method === "GET") || hasPrecondition(headers)) return respond(request, representation);
  // A range counts for GET alone: RFC 9110 §14.2.
  if (!isHead && headers.has("range")) return respond(request, representation);
  const known = headers.get("if-none-match");
  if (known === null && !headers.has("if-modified-since")) {
    const { blob } = variant;
    if (isHead) {
      variant.head ??= respond(request, representation);
      return new Response(null, variant.head);
    }
    variant.whole ??= new Response(null, {
      headers: { ...dispositionOf(representation.body), ...representation.headers },
    });
    // With TLS the content is copied in any case, and from a file it costs a quarter more.
    const isSentByKernel = blob.size > maxCopiedBytes && request.url.startsWith("http:");
    return sized(new Response(isSentByKernel ? heldBlob(variant) : blob, variant.whole), blob.size);
  }
  if (known !== representation.etag) return respond(request, representation);
  variant.notModified ??= new Response(null, {
    status: 304,
    headers: notModifiedHeaders(representation.headers),
  });
  return new Response(null, variant.notModified);
}

/** The content for the kernel to send; from memory if the file cannot be held. One file is held for all responses of a tick. */
function heldBlob(variant: CachedVariant): Blob {
  if (variant.held === undefined) {
    const held = variant.source?.hold();
    if (held === undefined) return variant.blob;
    variant.held = held;
    // Bun has opened the files of all responses that were returned: it does so when they are.
    setImmediate(() => {
      variant.held = undefined;
      held.close();
    });
  }
  return variant.held.blob;
}

function variantFor({ headers }: Request, { variants, file }: CacheEntry): CachedVariant | undefined {
  return variants.get(file.compressible ? encodingsFor(headers) : plainOnly);
}

/** CachedFile is what all variants of a cached file share. */
interface CachedFile {
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
  /** The comparisons of the tick in which the dependencies were last compared with the store. */
  checkedIn: FolderChecks | undefined;
  /** The source, held open until the end of the tick. */
  held: HeldContent | undefined;
  /**
   * The head of the response to a GET without conditions, and of a 304; made when first needed. A `Response` is copied faster
   * than its members.
   */
  whole: Response | undefined;
  /** The same to a HEAD. */
  head: Response | undefined;
  notModified: Response | undefined;
}

/** CacheEntry is a cached file with its variants. */
class CacheEntry {
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
interface KnownUrl {
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

  removeUrls(): void {
    for (const [url, { entry }] of this.byUrl) this.#removeUrl(url, entry);
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

/** A directive that asks for validation at the origin (RFC 9111 §5.2.1). */
const validates = /(?:^|[\s,])(?:no-cache|max-age\s*=\s*"?0+"?)(?=$|[\s,;])/i;

/**
 * wantsPresentState returns whether a request must be answered by the state after it was sent, and not by one that is up to a second
 * old. Browsers send
 * `max-age=0` or `no-cache` when a user reloads a page. `Pragma: no-cache` counts without Cache-Control only (RFC 9111 §5.4).
 */
export function wantsPresentState(headers: Headers): boolean {
  const control = headers.get("cache-control");
  if (control !== null) return validates.test(control);
  return headers.get("pragma")?.toLowerCase().includes("no-cache") ?? false;
}
