import { closeSync, constants, existsSync, fstatSync, openSync, realpathSync, statSync } from "node:fs";
import { lstat } from "node:fs/promises";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { HeldContent } from "../../../blobs/content.ts";
import type { FileSnapshot, FolderChecks } from "../../ports.ts";
import { lstatSyncOrUndefined, sameContent, settledAtMs, statSyncOrUndefined } from "./stat.ts";

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
