import { closeSync, constants, existsSync, fstatSync, openSync, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { orAborted } from "../base/clock.ts";
import { SharedRuns } from "../base/concurrency.ts";
import { codeOf, Fault, messageOf, outOfDescriptors } from "../base/fault.ts";
import { createFolderCommand, currentUser, folderProblem } from "../base/local-fs/access.ts";
import {
  asyncFileCalls,
  type FileCalls,
  type FileDescriptor,
  fileCallsFor,
  syncFileCalls,
  writeAll,
} from "../base/local-fs/file-calls.ts";
import { type DiskUsage, diskUsageOf, statOrUndefined } from "../base/local-fs/stat.ts";
import { randomText } from "../base/numbers.ts";
import { byCodeUnits, Pacer, sortInTurns } from "../base/turns.ts";
import { type BlobKind, type OpenBlobsOptions, wrongUrl } from "./blob-kind.ts";
import {
  BlobDamagedFault,
  type BlobInfo,
  BlobMissingFault,
  type BlobPurpose,
  type BlobStore,
  type ByteRange,
  checkProbe,
  isBlobKey,
  newBlobKey,
  type StoredBlob,
  storeUnavailable,
  storeUnusable,
} from "./blob-store.ts";
import {
  type ChunkOptions,
  type Content,
  type ContentSource,
  HashedContent,
  type HeldContent,
  verified,
} from "./content.ts";
import { LocalContent, RecentReads } from "./local-content.ts";

/** An unfinished upload that nothing was written to for this time is left over from a crash: no node writes to it any more. */
const unfinishedMs = 24 * 3600 * 1000;
/** Blobs may be those of private buckets. */
const fileMode = 0o640;
const chunkBytes = 192 * 1024;
/** Files that are deleted at the same time. */
const deletesAtOnce = 16;

/** folderKind keeps blobs in a folder, `file:///absolute/folder`. */
export const folderKind: BlobKind<Record<never, never>> = {
  scheme: "file",
  form: "file:///absolute/folder",
  keys: {},
  checkUrl: folderIn,
  folderOf: folderIn,
  open: ({ url }, options) => new FolderBlobs(folderIn(url), options),
};

function folderIn(url: string): string {
  if (!/^file:\/\/\/[^/]/.test(url))
    throw wrongUrl(
      'must name an absolute folder with three slashes, such as "file:///srv/node-server/blobs"',
    );
  const path = url.slice("file://".length);
  try {
    if (!/[?#]|%00/.test(path)) return resolve(decodeURIComponent(path));
  } catch {
    // Explained below.
  }
  throw wrongUrl("has a character that must be encoded in a URL: write % as %25, ? as %3F and # as %23");
}

/**
 * FolderBlobs keeps blobs as files of a folder, which several nodes may share by a network file system. A file grows in `unfinished/`
 * and is renamed when it is whole, so the name of a blob proves that it is complete.
 */
export class FolderBlobs implements BlobStore {
  /** Opens the blobs to send them. */
  readonly content: ContentSource;
  readonly #paths: FolderPaths;
  readonly #sync: boolean;
  /** For calls that change names: beside syncs they may have to wait until the file system has written its journal. */
  readonly #changes: FileCalls;
  readonly #folderSyncs = new SharedRuns();
  /** Whether the folder was a store before, by an earlier check or by what the caller knows. */
  #wasSeen: boolean;
  /** The shards whose folders are known to exist. */
  readonly #shards = new Set<string>();

  /** `folder` is absolute. It must exist: one that is missing may be one that is not mounted. */
  constructor(folder: string, { sync, holdsContent = false }: OpenBlobsOptions) {
    this.#paths = new FolderPaths(folder);
    this.content = new FolderContent(this.#paths);
    this.#sync = sync;
    this.#wasSeen = holdsContent;
    this.#changes = sync ? asyncFileCalls : fileCallsFor(folder);
  }

  /** The folder has no place for the purpose: the nightly manifest says it. */
  async put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { key: givenKey }: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob> {
    const key = givenKey ?? newBlobKey();
    const path = this.#paths.ofBlob(key);
    const hashed = new HashedContent(content, signal);
    try {
      await this.#ensureShard(shardOf(key));
      if (content instanceof Uint8Array) await hashed.drain();
      await this.#write(content instanceof Uint8Array ? content : hashed, path);
      return { key, size: hashed.size, sha256: hashed.sha256() };
    } catch (error) {
      // Under a given key may be what was there before.
      if (givenKey === undefined) await rm(path, { force: true }).catch(() => {});
      throw toPutFault(error, hashed);
    }
  }

  async putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const hashed = new HashedContent(content, signal);
    try {
      await this.#write(hashed, this.#paths.ofManifest(name));
    } catch (error) {
      throw toPutFault(error, hashed);
    }
  }

  async getManifest(name: string): Promise<string | undefined> {
    try {
      return await readFile(this.#paths.ofManifest(name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw toFolderFault(error);
    }
  }

  async get(
    key: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    signal.throwIfAborted();
    const file = await this.#open(key);
    try {
      const { size } = await file.stat();
      const { start, end } = range ?? { start: 0, end: size - 1 };
      return streamOf(file, { key, start, end, signal });
    } catch (error) {
      await file.close();
      throw toFolderFault(error);
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += deletesAtOnce)
      await Promise.all(
        keys
          .slice(at, at + deletesAtOnce)
          .map((key) => attempt(rm(this.#paths.ofBlob(key), { force: true }))),
      );
  }

  list(after?: string): AsyncGenerator<readonly BlobInfo[]> {
    return listFolder(this.#paths, after);
  }

  /**
   * A new folder must be checked before its first use: this creates the folders in it. Later checks create nothing in an empty
   * folder: its mount may be lost.
   */
  async check(signal: AbortSignal): Promise<void> {
    await checkFolder({ store: this, paths: this.#paths, isNew: !this.#wasSeen }, signal);
    this.#wasSeen = true;
  }

  diskUsage(): Promise<DiskUsage> {
    return attempt(diskUsageOf(this.#paths.blobs));
  }

  async clearUnfinished(): Promise<number> {
    return attempt(clearUnfinishedIn(this.#paths, unfinishedMs));
  }

  async #open(key: string): Promise<FileDescriptor> {
    try {
      return await asyncFileCalls.open(this.#paths.ofBlob(key), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      throw await toReadFault(error, key, this.#paths);
    }
  }

  /** Writes a file in `unfinished/`, and renames it once it is whole. */
  async #write(content: Uint8Array | AsyncIterable<Uint8Array>, path: string): Promise<void> {
    const growing = join(this.#paths.unfinished, randomText(24));
    try {
      await this.#fill(growing, content);
      await this.#rename(growing, path);
    } catch (error) {
      await rm(growing, { force: true }).catch(() => {});
      throw error;
    }
    await this.#syncFolder(dirname(path));
  }

  /** Renames a file; if somebody has removed the folder of its shard, creates that first. */
  async #rename(growing: string, path: string): Promise<void> {
    try {
      await this.#changes.rename(growing, path);
    } catch (error) {
      const folder = dirname(path);
      if (codeOf(error) !== "ENOENT" || dirname(folder) !== this.#paths.blobs) throw error;
      this.#shards.delete(basename(folder));
      await this.#ensureShard(basename(folder));
      await this.#changes.rename(growing, path);
    }
  }

  async #fill(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    // One job for a thread of the pool, where a descriptor would take one for each of its calls.
    if (content instanceof Uint8Array)
      return writeFile(path, content, { flag: "wx", mode: fileMode, flush: this.#sync });
    const file = await this.#changes.open(path, "wx", fileMode);
    try {
      for await (const chunk of content) await writeAll(file, chunk);
      if (this.#sync) await file.datasync();
    } finally {
      await file.close();
    }
  }

  /**
   * Creates the folder of a shard, if this process has not used it yet, and makes its name durable: another node may have just
   * created it.
   */
  async #ensureShard(name: string): Promise<void> {
    if (this.#shards.has(name)) return;
    try {
      await this.#changes.mkdir(this.#paths.shard(name));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    await this.#syncFolder(this.#paths.blobs);
    this.#shards.add(name);
  }

  async #syncFolder(path: string): Promise<void> {
    if (!this.#sync) return;
    await this.#folderSyncs.next(path, async () => {
      const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
      await folder.sync().finally(() => folder.close());
    });
  }
}

/** The error of an upload: that of its source as it is, or that of the disk as a Fault. */
function toPutFault(error: unknown, content: HashedContent): unknown {
  return content.failure === undefined ? toFolderFault(error) : content.failure.error;
}

async function attempt<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toFolderFault(error);
  }
}

/** The stream of a part of a file, which it closes at its end. */
function streamOf(
  file: FileDescriptor,
  { key, start, end, signal }: ByteRange & { readonly key: string; readonly signal: AbortSignal },
): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          signal.throwIfAborted();
          const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(chunkBytes, end + 1 - at)));
          const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
          if (bytesRead === 0 && buffer.length > 0) throw new BlobDamagedFault(key);
          at += bytesRead;
          if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead));
          if (at <= end) return;
          await file.close();
          controller.close();
        } catch (error) {
          await file.close();
          controller.error(toFolderFault(error));
        }
      },
      cancel: async () => file.close(),
    },
    { highWaterMark: 0 },
  );
}

/**
 * FolderPaths are the disk paths of a FolderBlobs: `blobs/<last two digits of the key>/<key>`, `manifests/<name>` and `unfinished/`. The
 * first digits of a key are its time; the last ones are random, so the folders stay equally large: 4,000 names in each for a million.
 */
export class FolderPaths {
  readonly root: string;
  readonly blobs: string;
  readonly manifests: string;
  /** Uploads grow here. It is on the same file system, so that they can be renamed. */
  readonly unfinished: string;

  constructor(root: string) {
    this.root = root;
    this.blobs = join(root, "blobs");
    this.manifests = join(root, "manifests");
    this.unfinished = join(root, "unfinished");
  }

  ofBlob(key: string): string {
    if (!isBlobKey(key)) throw new BlobMissingFault(key);
    return join(this.shard(shardOf(key)), key);
  }

  shard(name: string): string {
    return join(this.blobs, name);
  }

  ofManifest(name: string): string {
    if (name === "" || name.includes("/") || name.startsWith("."))
      throw new TypeError(`${name} is not a file name`);
    return join(this.manifests, name);
  }
}

/** shardOf returns the name of the folder that a blob is in. */
function shardOf(key: string): string {
  return key.slice(-2);
}

/** FolderContent sends the files of a FolderBlobs as they are: a cache of them would be a second copy. */
export class FolderContent implements ContentSource {
  readonly #paths: FolderPaths;
  readonly #calls: FileCalls;
  readonly #recentReads = new RecentReads();
  /** A synchronous call to a network file system that does not answer would stop this process. */
  readonly #isLocal: boolean;

  constructor(paths: FolderPaths) {
    this.#paths = paths;
    this.#calls = fileCallsFor(paths.root);
    this.#isLocal = this.#calls === syncFileCalls;
  }

  has(key: string): boolean {
    return this.#isLocal && existsSync(this.#paths.ofBlob(key));
  }

  hold(blob: StoredBlob): HeldContent | undefined {
    return this.#isLocal ? holdLocalBlob(blob, this.#paths.ofBlob(blob.key)) : undefined;
  }

  async open(blob: StoredBlob): Promise<Content> {
    try {
      return await openLocalBlob(blob, {
        path: this.#paths.ofBlob(blob.key),
        calls: this.#calls,
        recentReads: this.#recentReads,
        verifies: true,
      });
    } catch (error) {
      throw await toReadFault(error, blob.key, this.#paths);
    }
  }
}

/** toReadFault tells a blob that is missing from a folder that is: without the folder of all blobs it is not this one that is lost. */
async function toReadFault(error: unknown, key: string, { blobs }: FolderPaths): Promise<unknown> {
  if (codeOf(error) !== "ENOENT") return toFolderFault(error);
  try {
    return (await statOrUndefined(blobs, lstat)) === undefined
      ? toFolderFault(error)
      : new BlobMissingFault(key, { cause: error });
  } catch (other) {
    return toFolderFault(other);
  }
}

/** clearUnfinishedIn deletes files of `unfinished/` that were last written to before `ageMs`. Returns how many. */
export async function clearUnfinishedIn({ unfinished }: FolderPaths, ageMs: number): Promise<number> {
  let cleared = 0;
  for (const name of await readdir(unfinished)) {
    const path = join(unfinished, name);
    const stats = await statOrUndefined(path, lstat);
    if (stats === undefined || !stats.isFile() || Date.now() - stats.mtimeMs < ageMs) continue;
    await rm(path, { force: true });
    cleared += 1;
  }
  return cleared;
}

const denied = "the server lacks the permission in the blob folder; check owner and mode of its files";
const away = "the blob folder is missing on the server; mount its file system again";

/** Codes of a network file system that cannot be reached, or was taken away. */
const unavailable = new Set(["ESTALE", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENOTCONN", "ENODEV"]);

const details: Readonly<Record<string, string>> = {
  ENOSPC: "the disk of the blob folder is full; nothing was changed",
  EDQUOT: "the disk quota of the blob folder is used up; nothing was changed",
  EFBIG: "the file is too large for the disk of the blob folder; nothing was changed",
  EMFILE: outOfDescriptors,
  ENFILE: outOfDescriptors,
};

/** Advice for the operator alone. */
const refused: Readonly<Record<string, string>> = {
  EROFS: "the blob folder is read-only; mount it writable",
  EACCES: denied,
  EPERM: denied,
};

/** toFolderFault turns a system error into a Fault that names no path: clients see it. Other errors are returned as they are. */
function toFolderFault(error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof Fault || code === undefined) return error;
  if (code === "ENOENT" || code === "ENOTDIR") return storeUnavailable(away, error);
  if (unavailable.has(code))
    return storeUnavailable(
      `the file system of the blob folder does not answer (${code}); check its mount`,
      error,
    );
  if (refused[code] !== undefined) return storeUnusable(refused[code], error);
  const reason = code === "ENOSPC" || code === "EDQUOT" ? ({ reason: "disk_full" } as const) : {};
  return new Fault("IoError", details[code] ?? `the disk of the blob folder failed (${code})`, reason, {
    cause: error,
  });
}

interface CheckedFolder {
  readonly store: BlobStore;
  readonly paths: FolderPaths;
  /** Whether it may be empty. If not, a folder without `blobs` is one that is not mounted. */
  readonly isNew: boolean;
}

/**
 * checkFolder implements `BlobStore.check`. It creates the folders of a new store, but never the folder itself: where it is missing, its
 * file system may not be mounted, and what is written then would be hidden by the mount.
 */
async function checkFolder(folder: CheckedFolder, signal: AbortSignal): Promise<void> {
  await answerOf(examine(folder, signal), folder.paths.root, signal);
}

/** answerOf ends with the signal: a network file system that does not answer holds a thread for as long as it likes. */
async function answerOf(work: Promise<void>, path: string, signal: AbortSignal): Promise<void> {
  try {
    await orAborted(work, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw storeUnavailable(`the folder ${path} does not answer; check its disk or network mount`);
  }
}

async function examine({ store, paths, isNew }: CheckedFolder, signal: AbortSignal): Promise<void> {
  const { root } = paths;
  try {
    if (!(await stat(root)).isDirectory()) throw unusable(root, "is a file, not a folder; name another path");
    if (!isNew && (await statOrUndefined(paths.blobs, stat)) === undefined)
      throw storeUnavailable(
        `the folder ${root} of [files] url is empty, but the database names files in it; mount its file system again, or move the files there with \`node-server migrate --files ${pathToFileURL(root)}\``,
      );
    for (const folder of [paths.blobs, paths.manifests, paths.unfinished]) await makeFolder(folder);
    const { key } = await store.put(checkProbe, { path: "check" }, signal);
    const read = await new Response(await store.get(key, undefined, signal)).bytes();
    if (!checkProbe.equals(read))
      throw unusable(root, "returns different content than was written; check its disk");
    if (!(await readdir(paths.shard(shardOf(key)))).includes(key))
      throw unusable(root, "does not list a file that was just written; check its mount options");
    await store.delete([key]);
  } catch (error) {
    throw explained(error, root);
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Names the folder, and what an operator has to do. An error that is not of the system says so already. */
function explained(error: unknown, root: string): unknown {
  const code = codeOf(error instanceof Fault ? error.cause : error);
  if (code === undefined) return error;
  if (code === "ENOENT" && !existsSync(root))
    return storeUnavailable(
      `the folder ${root} of [files] url does not exist; mount its file system, or create it: \`${createFolderCommand(root, currentUser())}\``,
      error,
    );
  const problem = folderProblem(root);
  if (problem !== undefined) return unusable(problem.path, problem.why, error);
  const { detail, data } = error instanceof Fault ? error : { detail: messageOf(error), data: {} };
  return new Fault("IoError", `the folder ${root} of [files] url cannot be used: ${detail}`, data, {
    cause: error,
  });
}

function unusable(path: string, why: string, cause?: unknown): Fault {
  return new Fault("IoError", `the folder ${path} of [files] url ${why}`, {}, { cause });
}

/** Keys that are held in memory at once, about 10 MB. A larger store is read several times from its beginning, one such part each time. */
const maxKeys = 128 * 1024;
/** Blobs in a batch: they are looked at together, by the threads of the pool. */
const batchKeys = 256;

/** listFolder implements `BlobStore.list`: by key, though the folders that blobs are spread over have each keys of all times. */
export async function* listFolder(
  paths: FolderPaths,
  after: string | undefined,
): AsyncGenerator<readonly BlobInfo[]> {
  try {
    let from = after ?? "";
    for (;;) {
      const keys = await smallestKeys(paths, from);
      for (let at = 0; at < keys.length; at += batchKeys) {
        const found = await Promise.all(
          keys.slice(at, at + batchKeys).map((key) => infoOf(paths.ofBlob(key), key)),
        );
        yield found.filter((info) => info !== undefined);
      }
      if (keys.length < maxKeys) return;
      from = keys.at(-1) ?? from;
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw toFolderFault(error);
    throw storeUnavailable(
      `the folder ${paths.root} has no folder \`blobs\`: mount its file system, or start the server once, which creates it in a new store`,
      error,
    );
  }
}

/** smallestKeys returns the next keys after `after`, sorted, at most `maxKeys`. */
async function smallestKeys(paths: FolderPaths, after: string): Promise<string[]> {
  const pacer = new Pacer();
  let keys: string[] = [];
  /** Greater keys belong to a later part. */
  let last = "~";
  for (const shard of await readdir(paths.blobs)) {
    for (const name of await namesIn(paths.shard(shard))) {
      if (name > after && name < last && isBlobKey(name) && shardOf(name) === shard) keys.push(name);
      if (pacer.isDue) await pacer.nextTurn();
    }
    if (keys.length < 2 * maxKeys) continue;
    keys = (await sortInTurns(keys, byCodeUnits)).slice(0, maxKeys);
    last = keys.at(-1) ?? last;
  }
  return (await sortInTurns(keys, byCodeUnits)).slice(0, maxKeys);
}

/** A file beside the folders is not ours. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Undefined for a blob that was deleted meanwhile. */
async function infoOf(path: string, key: string): Promise<BlobInfo | undefined> {
  try {
    const stats: Stats = await lstat(path);
    return stats.isFile() ? { key, size: stats.size, storedAtMs: stats.mtimeMs } : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const neverAborted = new AbortController().signal;

interface LocalBlobOptions {
  /** The file that has the content. */
  readonly path: string;
  readonly calls: FileCalls;
  readonly recentReads: RecentReads;
  /** Whether the file is all there is of the content, so that nobody else has compared it with its hash. */
  readonly verifies?: boolean;
}

/** LocalBlob is a blob that is a file of this machine, held open. Deleting the file does not end reading it. */
class LocalBlob extends LocalContent implements Content {
  readonly #blob: StoredBlob;
  readonly #verifies: boolean;

  constructor(blob: StoredBlob, handle: FileDescriptor, { path, recentReads, verifies }: LocalBlobOptions) {
    const heldPath = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
    super({ handle, heldPath, size: blob.size, recentReads, toFault: toFolderFault });
    this.#blob = blob;
    this.#verifies = verifies ?? false;
  }

  get contentKey(): string {
    return this.#blob.key;
  }

  /** A range is not verified, nor what the kernel sends: only the whole has a hash, and it is sent before it would be known. */
  override async *chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array> {
    const { size } = this.#blob;
    const isWhole = range === undefined || (range.start === 0 && range.end === size - 1);
    // The last chunk is held back, so its memory cannot be used again for the next one.
    if (this.#verifies && isWhole) yield* verified(super.chunks(), this.#blob);
    else yield* super.chunks(range, options);
  }

  protected override async verify(bytes: Uint8Array): Promise<void> {
    if (!this.#verifies) return;
    const hashed = new HashedContent(bytes, neverAborted);
    await hashed.drain();
    if (hashed.sha256() !== this.#blob.sha256) throw new BlobDamagedFault(this.#blob.key);
  }
}

/** openLocalBlob opens the file of a blob. Throws the system's error, or BlobMissingFault if the file has another size. */
export async function openLocalBlob(blob: StoredBlob, options: LocalBlobOptions): Promise<Content> {
  const handle = await options.calls.open(options.path, openFlags);
  try {
    if ((await handle.stat()).size !== blob.size) throw new BlobDamagedFault(blob.key);
    return new LocalBlob(blob, handle, options);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** holdLocalBlob is `ContentSource.hold` for a file. Only on Linux, where the path of a descriptor opens exactly the file that is open. */
export function holdLocalBlob({ size }: StoredBlob, path: string): HeldContent | undefined {
  if (process.platform !== "linux") return undefined;
  const descriptor = openOrUndefined(path);
  if (descriptor === undefined) return undefined;
  const close = () => closeSync(descriptor);
  if (fstatSync(descriptor).size === size)
    return { blob: Bun.file(`/proc/self/fd/${descriptor}`).slice(0, size), close };
  close();
  return undefined;
}

/** Any failure means that the content is not held: `open` reports it. */
function openOrUndefined(path: string): number | undefined {
  try {
    return openSync(path, openFlags);
  } catch {
    return undefined;
  }
}
