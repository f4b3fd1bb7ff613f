import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { lstat } from "node:fs/promises";
import { fileClockTickMs } from "../../../base/clock.ts";
import { codeOf } from "../../../base/fault.ts";
import { type FileState, stateAt } from "../../../base/local-fs/local-calls.ts";
import { isAbsence, sameContent, statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { HeldContent } from "../../../blobs/content.ts";
import type { TreePath } from "../../path.ts";
import {
  etagOfContent,
  type FileEntry,
  type FileSnapshot,
  type FileStats,
  type FolderChecks,
} from "../../ports.ts";
import type { PathResolver } from "./resolve.ts";
import { storedHash } from "./stored-hash.ts";
import { storedRecord } from "./stored-record.ts";

/** AttributeSource reads what is stored with a file, and counts for a file in this state. */
interface AttributeSource {
  storedHash(state: FileState): string | undefined;
  storedRecord(state: FileState): Uint8Array | undefined;
}

/** DiskStats presents the state of a file as `FileStats`; the entity tag is computed when it is first read. */
export class DiskStats implements FileStats {
  readonly state: FileState;
  readonly #attributes: AttributeSource | undefined;
  #etag: string | undefined;
  /** Null until it is read. */
  #record: Uint8Array | undefined | null = null;

  /** `attributes` is undefined for what has none. */
  constructor(state: FileState, attributes?: AttributeSource) {
    this.state = state;
    this.#attributes = attributes;
  }

  get size(): number {
    return this.state.size;
  }

  get mode(): number {
    return this.state.mode & 0o777;
  }

  get modifiedMs(): number {
    return this.state.mtimeMs;
  }

  get accessedMs(): number {
    return this.state.atimeMs;
  }

  /** Not every file system stores it; then the time of the inode's last change is the oldest that is known. */
  get createdMs(): number {
    return this.state.birthtimeMs > 0 ? this.state.birthtimeMs : this.state.ctimeMs;
  }

  get etag(): string {
    if (this.#etag === undefined) {
      const sha256 = this.#attributes?.storedHash(this.state);
      this.#etag = sha256 === undefined ? etagOf(this.state) : etagOfContent(sha256);
    }
    return this.#etag;
  }

  get record(): Uint8Array | undefined {
    if (this.#record === null) this.#record = this.#attributes?.storedRecord(this.state);
    return this.#record;
  }

  get settledAtMs(): number {
    return settledAtMs(this.state);
  }
}

type EntryPaths = Pick<PathResolver, "diskPath" | "local">;

/** DiskEntry is a file or folder of a bucket. */
export class DiskEntry implements FileEntry, AttributeSource {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: DiskStats;
  readonly #paths: EntryPaths;

  private constructor(paths: EntryPaths, path: TreePath, stats: FileState) {
    this.#paths = paths;
    this.path = path;
    this.kind = stats.isDirectory() ? "folder" : "file";
    this.stats = new DiskStats(stats, paths.local !== undefined && this.kind === "file" ? this : undefined);
  }

  /** from is undefined for what is neither a regular file nor a folder. */
  static from(paths: EntryPaths, path: TreePath, stats: FileState | undefined): DiskEntry | undefined {
    return stats?.isFile() || stats?.isDirectory() ? new DiskEntry(paths, path, stats) : undefined;
  }

  storedHash(state: FileState): string | undefined {
    return storedHash(this.#diskPath, state);
  }

  storedRecord(state: FileState): Uint8Array | undefined {
    return storedRecord(this.#diskPath, state);
  }

  snapshot(): FileSnapshot {
    return new DiskSnapshot({ diskPath: this.#diskPath, stats: this.stats.state });
  }

  get #diskPath(): string {
    return this.#paths.diskPath(this.path);
  }
}

const micro = (ms: number) => Math.round(ms * 1000).toString(36);

/**
 * etagOf returns a strong validator: inode, size, and the times of the last change of the content and of the inode, in microseconds. The
 * inode's time moves even when a copy tool sets the content's time back.
 */
function etagOf({ ino, size, mtimeMs, ctimeMs }: FileState): string {
  const modified = micro(mtimeMs);
  const changed = ctimeMs === mtimeMs ? modified : micro(ctimeMs);
  return `"${ino.toString(36)}-${size.toString(36)}-${modified}-${changed}"`;
}

/** settledAtMs returns the time from which a further change is sure to show in the file's times. */
function settledAtMs({ ctimeMs }: FileState): number {
  return ctimeMs + fileClockTickMs;
}

/** Flags to open a file that may have been replaced since the snapshot: a FIFO in its place must not block, and a link is not followed. */
const holdFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

interface KnownFolder {
  readonly diskPath: string;
  readonly ino: number;
  readonly dev: number;
}

interface State {
  readonly diskPath: string;
  /** Undefined when nothing exists there. */
  readonly stats: FileState | undefined;
  /** The folders above it inside the bucket, none of them a link. */
  readonly folders?: readonly KnownFolder[];
  /** Where it is with every link resolved; given for a path that leads through one. */
  readonly realPath?: string;
}

/** DiskSnapshot compares a path on the disk with its earlier state. */
export class DiskSnapshot implements FileSnapshot {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  get settledAtMs(): number {
    const { stats } = this.#state;
    return stats === undefined ? 0 : settledAtMs(stats);
  }

  isCurrent(checks: FolderChecks): boolean {
    const { diskPath, stats, folders, realPath } = this.#state;
    // A third cheaper than to look at its stats; a link that leads nowhere does not exist either.
    if (stats === undefined) return !existsSync(diskPath);
    const now = lstatSyncOrUndefined(diskPath);
    if (realPath !== undefined || now?.isSymbolicLink()) {
      const target = statSyncOrUndefined(diskPath, statSync);
      return (
        target !== undefined && sameContent(target, stats) && realPath === realPathOrUndefinedSync(diskPath)
      );
    }
    if (now === undefined) return false;
    // A folder above that was moved elsewhere, with a link left behind, changes nothing about the file itself.
    return sameContent(now, stats) && (folders ?? []).every((folder) => isUnchanged(folder, checks));
  }

  /** Only on Linux, where the path of a descriptor opens exactly the file that was compared; other systems could open another one. */
  hold(): HeldContent | undefined {
    const { diskPath, stats, folders } = this.#state;
    if (process.platform !== "linux" || stats === undefined || folders === undefined) return undefined;
    const descriptor = openOrUndefined(diskPath);
    if (descriptor === undefined) return undefined;
    const close = () => closeSync(descriptor);
    if (sameContent(fstatSync(descriptor), stats))
      return { blob: Bun.file(`/proc/self/fd/${descriptor}`).slice(0, stats.size), close };
    close();
    return undefined;
  }
}

/** Any failure means that the content is not held: the caller has it in memory. */
function openOrUndefined(diskPath: string): number | undefined {
  try {
    return openSync(diskPath, holdFlags);
  } catch {
    return undefined;
  }
}

/** snapshotOf takes the state of an open file. `diskPaths` lead to the folders above it and to itself, from the top. */
export async function snapshotOf(
  diskPaths: readonly string[],
  { stats, realPath }: { readonly stats: FileState; readonly realPath: string },
): Promise<DiskSnapshot> {
  const folders: KnownFolder[] = [];
  const diskPath = diskPaths.at(-1) ?? realPath;
  for (const at of diskPaths) {
    const now = await statOrUndefined(at, lstat);
    if (now === undefined || now.isSymbolicLink()) return new DiskSnapshot({ diskPath, stats, realPath });
    if (at !== diskPath) folders.push({ diskPath: at, ino: now.ino, dev: now.dev });
  }
  return new DiskSnapshot({ diskPath, stats, folders });
}

function isUnchanged({ diskPath, ino, dev }: KnownFolder, checks: FolderChecks): boolean {
  let same = checks.get(diskPath);
  if (same === undefined) {
    const now = lstatSyncOrUndefined(diskPath);
    same = now?.isDirectory() === true && now.ino === ino && now.dev === dev;
    checks.set(diskPath, same);
  }
  return same;
}

function realPathOrUndefinedSync(diskPath: string): string | undefined {
  try {
    return realpathSync(diskPath);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** lstatSyncOrUndefined stats a path, or a link at its end; undefined when nothing exists there, or it cannot be read. */
function lstatSyncOrUndefined(diskPath: string): FileState | undefined {
  return stateAt(diskPath) ?? statSyncOrUndefined(diskPath, lstatSync);
}

/** statSyncOrUndefined is `statOrUndefined` for `statSync` and `lstatSync`; undefined also when the path cannot be read. */
function statSyncOrUndefined(
  diskPath: string,
  stat: (path: string, options: { throwIfNoEntry: false }) => Stats | undefined,
): Stats | undefined {
  try {
    return stat(diskPath, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error) || codeOf(error) === "EACCES" || codeOf(error) === "EIO") return undefined;
    throw error;
  }
}
