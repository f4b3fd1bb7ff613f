import { constants } from "node:fs";
import { realpath } from "node:fs/promises";
import { Fault } from "../../../base/fault.ts";
import {
  asyncFileCalls,
  type FileDescriptor,
  fileCallsFor,
  syncFileCalls,
} from "../../../base/local-fs/file-calls.ts";
import type { Folder } from "../../../base/local-fs/folder.ts";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import { type DiskUsage, diskUsageOf, isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { byCodeUnits, nextTurn, sortInTurns } from "../../../base/turns.ts";
import { LocalContent, RecentReads } from "../../../blobs/local-content.ts";
import {
  childPath,
  listedPath,
  splitPath,
  stagedPrefix,
  type TreePath,
  treeRoot,
  withAncestors,
} from "../../path.ts";
import {
  type FileEntry,
  type FileReader,
  type FileSizes,
  type FileSnapshot,
  isFile,
  isFolder,
  notFound,
  type OpenFile,
  type PinnedReader,
  type PublishedFiles,
  type ResolvedPath,
  TreeExchanged,
  type TreeReader,
  type UnlistedName,
} from "../../ports.ts";
import { toTreeFault } from "./disk-faults.ts";
import { DiskEntry, DiskSnapshot, DiskStats, snapshotOf } from "./entry.ts";
import { fileSizes } from "./remove-tree.ts";
import { type OpenedFile, openBelow, PathResolver } from "./resolve.ts";
import { storedHash } from "./stored-hash.ts";
import { storedRecord } from "./stored-record.ts";

/** Opening a FIFO without O_NONBLOCK would wait for a writer. What was opened is checked afterwards. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK;
/** Reads of a path that another program keeps replacing, before it counts as missing. */
const maxAttempts = 20;
/** Entries of a folder that are read before other work gets the event loop. */
const batchEntries = 128;
/** Names of a folder that are in memory for a list in order: more than a page of S3 has. */
const maxNamesAtOnce = 1100;

/**
 * DiskReader reads a bucket's folder. That something is inside is proven on what was opened, so swapping a link changes nothing. It has
 * more than 15 methods because most of `FileReader` tries again when the tree is exchanged meanwhile, one attempt being a method.
 */
export class DiskReader implements FileReader {
  readonly #paths: PathResolver;
  readonly #recentReads = new RecentReads();
  readonly #readsAttributes: boolean;

  /** The number of times that this process has exchanged the tree with another one. */
  #exchanges = 0;

  /** Attributes are read without waiting, so that they are read on local disks alone. */
  constructor(paths: PathResolver, { readsAttributes = paths.local !== undefined } = {}) {
    this.#paths = paths;
    this.#readsAttributes = readsAttributes;
  }

  pinned(tree?: string): PinnedReader {
    const present = () => String(this.#exchanges);
    return new PinnedDiskReader(this, { tree: tree ?? present(), present });
  }

  /** To be called in the same turn of the event loop in which the tree was exchanged with another one. */
  exchanged(): void {
    this.#exchanges += 1;
  }

  async find(path: TreePath): Promise<DiskEntry | undefined> {
    const now = this.#paths.local?.stat(path);
    if (now !== undefined) return DiskEntry.from(this.#paths, path, now);
    return this.#entryAt(path, () => this.#paths.matchUnicode(path));
  }

  async resolve(asked: TreePath): Promise<ResolvedPath> {
    const now = asked === treeRoot ? undefined : this.#paths.local?.statWithParent(asked);
    if (now !== undefined) {
      const parent = DiskEntry.from(this.#paths, splitPath(asked).folder, now.folder);
      return { requested: asked, path: asked, entry: DiskEntry.from(this.#paths, asked, now.own), parent };
    }
    try {
      const requested = await this.#paths.matchUnicode(asked);
      if (requested === treeRoot)
        return { requested, path: treeRoot, entry: await this.#entryAt(treeRoot), parent: undefined };
      for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
        const resolved = await this.#resolveOnce(requested);
        if (resolved !== undefined) return resolved;
      }
      return { requested, path: requested, entry: undefined, parent: undefined };
    } catch (error) {
      throw toTreeFault(error, asked);
    }
  }

  /** Reads first and proves afterwards that the read was inside the bucket. Undefined when the folder vanished in between. */
  async #resolveOnce(requested: TreePath): Promise<ResolvedPath | undefined> {
    const { folder, name } = splitPath(requested);
    const [stats, folderStats] = await Promise.all([
      statOrUndefined(this.#paths.diskPath(requested), this.#paths.calls.lstat),
      this.#paths.stat(folder),
    ]);
    const resolved = await this.#paths.resolveFolder(folder);
    if (resolved.state === "missing" && folderStats !== undefined) return undefined;
    const path = childPath(resolved.path, name);
    if (resolved.state !== "inside") return { requested, path, entry: undefined, parent: undefined };
    return {
      requested,
      path,
      entry: stats?.isSymbolicLink() ? await this.#entryAt(path) : DiskEntry.from(this.#paths, path, stats),
      parent: DiskEntry.from(this.#paths, resolved.path, folderStats),
    };
  }

  async #entryAt(path: TreePath, spell = async () => path): Promise<DiskEntry | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const spelled = await spell();
        const entry = DiskEntry.from(this.#paths, spelled, await this.#paths.stat(spelled));
        return entry !== undefined && (await this.#paths.contains(spelled)) ? entry : undefined;
      } catch (error) {
        if (!isAbsence(error)) throw toTreeFault(error, path);
        // It vanished between stat and realpath: deleted, or in the middle of a replacement. Retry to tell which.
        if (attempt === maxAttempts) return undefined;
      }
    }
  }

  async open(path: TreePath): Promise<DiskFile> {
    const found = await this.openOrFind(path);
    if (found === undefined) throw notFound(path);
    if (found instanceof DiskEntry) throw isFolder(path);
    return found;
  }

  async openOrFind(path: TreePath): Promise<DiskFile | DiskEntry | undefined> {
    const now = this.#paths.local?.open(path, openFlags);
    if (now !== undefined) return this.#toFile(path, now);
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const found = await this.#openOnce(path);
      if (found !== "moved") return found;
    }
    throw notFound(path);
  }

  /** `moved` if the file that was opened is not inside the bucket any more, because the whole tree was exchanged meanwhile. */
  async #openOnce(path: TreePath): Promise<DiskFile | DiskEntry | "moved" | undefined> {
    const spelled = await this.#paths.matchUnicode(path);
    let handle: FileDescriptor | undefined;
    try {
      const entry = DiskEntry.from(this.#paths, spelled, await this.#paths.stat(spelled));
      if (entry === undefined) return undefined;
      if (entry.kind === "folder") return await this.#entryAt(spelled);
      handle = await this.#paths.calls.open(this.#paths.diskPath(spelled), openFlags);
      const held = await this.#paths.verifyHandle(handle, spelled);
      const stats = await handle.stat();
      if (held === undefined && !(await this.#paths.leadsTo(spelled, stats))) {
        await handle.close();
        return "moved";
      }
      // A link that leads out, or a path that is not a file any more, does not exist.
      if (held === undefined || !stats.isFile()) {
        await handle.close();
        return undefined;
      }
      return this.#toFile(spelled, { handle, heldPath: held.path, realPath: held.real, stats });
    } catch (error) {
      await handle?.close();
      throw toTreeFault(error, path);
    }
  }

  #toFile(path: TreePath, { handle, heldPath, realPath, stats }: OpenedFile): DiskFile {
    const attributes = {
      storedHash: (state: FileState) => (this.#paths.local ? storedHash(handle.fd, state) : undefined),
      storedRecord: (state: FileState) => storedRecord(handle.fd, state),
    };
    return new DiskFile({
      path,
      handle,
      heldPath,
      stats: new DiskStats(stats, this.#readsAttributes ? attributes : undefined),
      recentReads: this.#recentReads,
      snapshot: () => this.#snapshotOfOpen(path, { stats, realPath }),
    });
  }

  #snapshotOfOpen(path: TreePath, held: Pick<OpenedFile, "stats" | "realPath">): Promise<FileSnapshot> {
    const paths = withAncestors(path).filter((at) => at !== treeRoot);
    const diskPaths = paths.reverse().map((at) => this.#paths.diskPath(at));
    return snapshotOf(diskPaths, held);
  }

  async *entries(asked: TreePath | FileEntry): AsyncGenerator<DiskEntry[]> {
    const folder = typeof asked === "string" ? asked : asked.path;
    // A small folder on a local disk takes no wait.
    const content = this.#paths.local?.readFolder(folder, batchEntries);
    if (content !== undefined)
      return yield content.flatMap(([name, stats]) => this.#listed(folder, name, stats) ?? []);
    const { path, names, first } = await this.#names(folder);
    yield first;
    for (let at = batchEntries; at < names.length; at += batchEntries) {
      await nextTurn();
      yield await this.#inFolder(path, async (held) =>
        this.#read(held, path, names.slice(at, at + batchEntries)),
      );
    }
  }

  async *entriesAfter(folder: TreePath, after: string): AsyncGenerator<DiskEntry[]> {
    for (let last: string | undefined = after; last !== undefined; ) {
      const from: string = last;
      const { path, first, names, isRest } = await this.#atFolder(folder, async (held, path) => {
        const found = await held.firstNames(from, maxNamesAtOnce);
        return { ...found, path, first: this.#read(held, path, found.names.slice(0, batchEntries)) };
      });
      yield first;
      for (let at = batchEntries; at < names.length; at += batchEntries) {
        await nextTurn();
        yield await this.#inFolder(path, async (held) =>
          this.#read(held, path, names.slice(at, at + batchEntries)),
        );
      }
      last = isRest ? undefined : names.at(-1);
    }
  }

  /** Undefined for what no path can name, or is neither a file nor a folder. */
  #listed(folder: TreePath, name: string, state: FileState | undefined): DiskEntry | undefined {
    const path = listedPath(folder, name);
    return path && DiskEntry.from(this.#paths, path, state);
  }

  /**
   * The names in a folder, sorted, and the entries of the first ones. Folders are opened again for each batch, so that none stays
   * open while a slow client reads.
   */
  #names(folder: TreePath) {
    return this.#atFolder(folder, async (held, path) => {
      const names = await sortInTurns(await held.names(), byCodeUnits);
      return { path, names, first: this.#read(held, path, names.slice(0, batchEntries)) };
    });
  }

  /** Throws NotFound, and InvalidInput for a file. */
  async #atFolder<T>(folder: TreePath, use: (held: Folder, path: TreePath) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const path = await this.#paths.matchUnicode(folder);
      try {
        return await this.#inFolder(path, (held) => use(held, path));
      } catch (error) {
        const found = await this.find(folder);
        if (found === undefined) throw notFound(folder);
        if (found.kind === "file") throw isFile(folder);
        // It vanished and is back: in the middle of a replacement.
        if (!isNotFound(error) || attempt === maxAttempts) throw error;
      }
    }
  }

  async unlisted(folder: TreePath): Promise<UnlistedName[]> {
    return this.#inFolder(folder, async (held) =>
      (await held.names()).flatMap((name) => {
        const state = held.lstatSync(name);
        if (name.startsWith(stagedPrefix) || this.#listed(folder, name, state) !== undefined) return [];
        // What has no state was removed meanwhile, unless its name is not UTF-8.
        const isThere = state !== undefined || name.includes("\ufffd");
        return isThere ? [{ name, isLink: state?.isSymbolicLink() ?? false }] : [];
      }),
    );
  }

  #read(held: Folder, folder: TreePath, names: readonly string[]): DiskEntry[] {
    return names.flatMap((name) => {
      return this.#listed(folder, name, held.lstatSync(name)) ?? [];
    });
  }

  async #inFolder<T>(folder: TreePath, use: (held: Folder) => Promise<T>): Promise<T> {
    try {
      return await this.#paths.inFolder(folder, { create: false }, use);
    } catch (error) {
      throw toTreeFault(error, folder);
    }
  }

  fileSizes(): AsyncGenerator<FileSizes> {
    return fileSizes(this.#paths.root);
  }

  snapshotOfMissing(path: TreePath): FileSnapshot {
    return new DiskSnapshot({ diskPath: this.#paths.diskPath(path), stats: undefined });
  }

  diskUsage(): Promise<DiskUsage> {
    return diskUsageOf(this.#paths.root);
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Fault && error.kind === "NotFound";
}

interface DiskPin {
  readonly tree: string;
  /** The tree that is in place now. Synchronous. */
  readonly present: () => string;
}

/** PinnedDiskReader checks after each read whether its tree is still in place: what was read then is of this tree. */
export class PinnedDiskReader implements PinnedReader {
  readonly tree: string;
  readonly #reader: TreeReader;
  readonly #present: () => string;

  constructor(reader: TreeReader, { tree, present }: DiskPin) {
    this.#reader = reader;
    this.tree = tree;
    this.#present = present;
  }

  find(path: TreePath): Promise<FileEntry | undefined> {
    return this.#inTree(() => this.#reader.find(path));
  }

  open(path: TreePath): Promise<OpenFile> {
    return this.#inTree(() => this.#reader.open(path));
  }

  openOrFind(path: TreePath): Promise<OpenFile | FileEntry | undefined> {
    return this.#inTree(() => this.#reader.openOrFind(path));
  }

  snapshotOfMissing(path: TreePath): FileSnapshot {
    return this.#reader.snapshotOfMissing(path);
  }

  async #inTree<T extends OpenFile | FileEntry | undefined>(read: () => Promise<T>): Promise<T> {
    let found: T;
    try {
      found = await read();
    } catch (error) {
      throw this.#isExchanged ? new TreeExchanged() : error;
    }
    if (!this.#isExchanged) return found;
    if (found !== undefined && !("kind" in found)) await found[Symbol.asyncDispose]();
    throw new TreeExchanged();
  }

  get #isExchanged(): boolean {
    return this.#present() !== this.tree;
  }
}

/** HeldFile is what an open file is made of, once it is proven to be inside the bucket. */
interface HeldFile {
  readonly path: TreePath;
  readonly handle: FileDescriptor;
  /** A disk path to exactly the open file, valid until the handle is closed. */
  readonly heldPath: string;
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;
  readonly recentReads: RecentReads;
}

/** DiskFile is an open file, with what only the code of this folder may use: `handle`, `heldPath`, `stats.state`. */
export class DiskFile extends LocalContent implements OpenFile {
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;

  constructor({ path, stats, snapshot, ...held }: HeldFile) {
    super({ ...held, size: stats.size, toFault: (error) => toTreeFault(error, path) });
    this.stats = stats;
    this.snapshot = snapshot;
  }

  get contentKey(): string {
    return `${this.stats.state.dev} ${this.stats.etag}`;
  }

  async isChanged(): Promise<boolean> {
    const { size, mtimeMs } = await this.handle.stat();
    return size !== this.stats.size || mtimeMs !== this.stats.modifiedMs;
  }
}

/** publishedOnDisk reads the buckets below `static_path`. */
export function publishedOnDisk(staticPath: string): PublishedFiles {
  return {
    async open({ path }) {
      const folder = await openHeld(staticPath, path);
      // A tree that another deploy replaces meanwhile is not deleted as long as it is locked. Two backups at once: one lock serves
      // both as long as it lasts.
      folder.tryLock();
      // Not the calls for a local disk: they take the present path of the folder for granted, and the server may exchange it.
      const reader = new DiskReader(new PathResolver(folder.at(""), asyncFileCalls), {
        readsAttributes: fileCallsFor(staticPath) === syncFileCalls,
      });
      return { reader, [Symbol.asyncDispose]: () => folder.close() };
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function openHeld(staticPath: string, path: string): Promise<Folder> {
  try {
    return await openBelow(await realpath(staticPath), path.split("/"));
  } catch (error) {
    throw toTreeFault(error, treeRoot);
  }
}
