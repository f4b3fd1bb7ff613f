import { constants, lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, open, readdir, statfs } from "node:fs/promises";
import { Fault } from "../../base/fault.ts";
import { childPath, stagedPrefix, type TreePath } from "../path.ts";
import { toTreeFault } from "./disk-faults.ts";
import { sameContent } from "./etag.ts";
import { type Ground, notFound } from "./resolve.ts";
import { isAbsence, lookAt, lookNow } from "./stat.ts";

/** A FIFO must not hold up whoever opens it; what it is gets decided on what was opened. */
const careful = constants.O_RDONLY | constants.O_NONBLOCK;
/** How often something is looked for that is replaced all the time. */
const looks = 20;
/** So many entries of a folder are looked at before others get their turn. */
const batchSize = 128;

export interface TreeEntry {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: Stats;
}

/** What a path showed, undefined for nothing. */
export interface Look {
  readonly path: TreePath;
  readonly stats: Stats | undefined;
  /** The folders above it, none of them a link. */
  readonly above?: ReadonlyArray<{ readonly diskPath: string; readonly ino: number; readonly dev: number }>;
  /** Where it is once every link is resolved, for what was reached through one. */
  readonly real?: string;
}

/** A file that was found to be regular and inside its bucket, held open. */
export interface OpenFile extends AsyncDisposable {
  readonly handle: FileHandle;
  readonly stats: Stats;
  /** A path to exactly what was opened, whatever happens to its name. */
  readonly heldPath: string;
  /** Where it was, every link resolved. */
  readonly realPath: string;
}

/**
 * One bucket's folder: with `changes`, the only code that touches bucket files. Links are followed only as long as they stay
 * inside (proven on what was opened, so a swap changes nothing), are not listed, and are never written through. Sockets,
 * FIFOs and devices do not exist.
 */
export class Tree {
  constructor(private readonly ground: Ground) {}

  /** What stands at the path, or undefined. */
  async find(path: TreePath): Promise<TreeEntry | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const spelled = await this.ground.spell(path);
        const entry = toEntry(spelled, await this.ground.look(spelled));
        return entry !== undefined && (await this.ground.contains(spelled)) ? entry : undefined;
      } catch (error) {
        if (!isAbsence(error)) throw toTreeFault(error, path);
        // It was there and was not: gone, or just being replaced, which another look tells.
        if (attempt === looks) return undefined;
      }
    }
  }

  /**
   * Whether a path still shows what it showed. At once, because it is asked for every request. `folders` remembers, for as
   * long as the asker thinks fit, which folders are still what they were.
   */
  isUnchanged({ path, stats, above, real }: Look, folders: Map<string, boolean>): boolean {
    const disk = this.ground.diskPath(path);
    const now = lookNow(disk, lstatSync);
    if (real !== undefined || now?.isSymbolicLink()) {
      const target = lookNow(disk, statSync);
      if (target === undefined || stats === undefined) return target === stats;
      return sameContent(target, stats) && real === realNow(disk);
    }
    if (now === undefined || stats === undefined) return now === stats;
    // A folder above that was moved elsewhere, with a link left behind, changes nothing about the file itself.
    return sameContent(now, stats) && (above ?? []).every((folder) => isSame(folder, folders));
  }

  /** What a file that was opened is to be held against later. */
  async lookOf(path: TreePath, { stats, realPath: real }: OpenFile): Promise<Look> {
    const names = path.split("/");
    const above = [];
    for (const at of names.keys()) {
      const diskPath = this.ground.diskPath(names.slice(0, at + 1).join("/") as TreePath);
      const now = await lookAt(diskPath, lstat);
      if (now === undefined || now.isSymbolicLink()) return { path, stats, real };
      if (at < names.length - 1) above.push({ diskPath, ino: now.ino, dev: now.dev });
    }
    return { path, stats, above };
  }

  /** Opens a file for reading; NotFound when there is none. */
  async open(path: TreePath): Promise<OpenFile> {
    const spelled = await this.ground.spell(path);
    let handle: FileHandle | undefined;
    try {
      const entry = toEntry(spelled, await this.ground.look(spelled));
      if (entry === undefined) throw notFound(path);
      if (entry.kind === "folder")
        throw (await this.ground.contains(spelled)) ? isFolder(path) : notFound(path);
      handle = await open(this.ground.diskPath(spelled), careful);
      const [held, stats] = await Promise.all([this.ground.held(handle, spelled), handle.stat()]);
      if (held === undefined || !stats.isFile()) throw notFound(path);
      const kept = handle;
      return {
        handle,
        stats,
        heldPath: held.path,
        realPath: held.real,
        [Symbol.asyncDispose]: () => kept.close(),
      };
    } catch (error) {
      await handle?.close();
      throw toTreeFault(error, path);
    }
  }

  /** A whole small file. */
  async read(path: TreePath, maxBytes: number): Promise<Buffer> {
    await using file = await this.open(path);
    if (file.stats.size <= maxBytes) return await file.handle.readFile();
    throw new Fault("IoError", `the file has ${file.stats.size} bytes, which is above ${maxBytes}`, {
      limit: maxBytes,
      actual: file.stats.size,
    });
  }

  /** What a folder holds, by name, some at a time: files and folders, no links, nothing special. */
  async *entries(folder: TreePath): AsyncGenerator<TreeEntry[]> {
    const found = await this.find(folder);
    if (found === undefined) throw notFound(folder);
    if (found.kind === "file")
      throw new Fault("InvalidInput", "the path is a file, not a folder", { path: folder });
    const { path } = found;
    const names = await this.#names(path);
    for (let at = 0; at < names.length; at += batchSize) {
      const batch = names.slice(at, at + batchSize);
      // Each batch in the folder opened anew, so that none is held open while a slow reader takes its time.
      const entries = await this.#inFolder(path, (held) =>
        batch.map((name) => toEntry(childPath(path, name), lstatSync(held(name), { throwIfNoEntry: false }))),
      );
      yield entries.filter((entry) => entry !== undefined);
    }
  }

  /** Everything below a folder, folders before what they hold. One that cannot be read ends it, or is told if so wished. */
  async *walk(
    folder: TreePath,
    unreadable?: (path: TreePath, error: unknown) => void,
  ): AsyncGenerator<TreeEntry> {
    const folders = [folder];
    for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
      try {
        for await (const entries of this.entries(at)) {
          for (const entry of entries) {
            if (entry.kind === "folder") folders.push(entry.path);
            yield entry;
          }
        }
      } catch (error) {
        // A folder inside may go while it is walked; the one that was asked for may not.
        const gone = at !== folder && error instanceof Fault && error.kind === "NotFound";
        if (!gone && unreadable === undefined) throw error;
        if (!gone) unreadable?.(at, error);
      }
    }
  }

  /** Every file below a folder, sorted by path. */
  async files(folder: TreePath): Promise<TreeEntry[]> {
    const files: TreeEntry[] = [];
    for await (const entry of this.walk(folder)) if (entry.kind === "file") files.push(entry);
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** What the file system says of its room. */
  async room(): Promise<{ readonly availableBytes: number; readonly usedBytes: number }> {
    const { bavail, bfree, blocks, bsize } = await statfs(this.ground.root);
    return { availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize };
  }

  async #names(folder: TreePath): Promise<string[]> {
    try {
      return await this.ground.inFolder(folder, false, async (held) => {
        const names = await readdir(held.at(""));
        return names.filter((name) => isServed(folder, name)).sort();
      });
    } catch (error) {
      throw toTreeFault(error, folder);
    }
  }

  async #inFolder<T>(folder: TreePath, use: (held: (name: string) => string) => T): Promise<T> {
    try {
      return await this.ground.inFolder(folder, false, async (held) => use((name) => held.at(name)));
    } catch (error) {
      throw toTreeFault(error, folder);
    }
  }
}

function isSame(
  { diskPath, ino, dev }: { readonly diskPath: string; readonly ino: number; readonly dev: number },
  known: Map<string, boolean>,
): boolean {
  let same = known.get(diskPath);
  if (same === undefined) {
    const now = lookNow(diskPath, lstatSync);
    same = now?.isDirectory() === true && now.ino === ino && now.dev === dev;
    known.set(diskPath, same);
  }
  return same;
}

function realNow(diskPath: string): string | undefined {
  try {
    return realpathSync(diskPath);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Whether a name on the disk can be asked for: not what is on its way, nor what no path can say. */
function isServed(folder: TreePath, name: string): boolean {
  if (name.startsWith(stagedPrefix) || name.includes("\\")) return false;
  return folder !== "" || !/^[A-Za-z]:/.test(name);
}

export function toEntry(path: TreePath, stats: Stats | undefined): TreeEntry | undefined {
  if (stats?.isDirectory()) return { path, kind: "folder", stats };
  return stats?.isFile() ? { path, kind: "file", stats } : undefined;
}

export function isFolder(path: TreePath): Fault {
  return new Fault("InvalidInput", "the path is a folder, not a file", { path });
}
