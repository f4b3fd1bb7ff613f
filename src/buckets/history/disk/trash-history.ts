import { lstat, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf, isDiskFull } from "../../../base/fault.ts";
import type { FileCalls } from "../../../base/local-fs/file-calls.ts";
import { Folder } from "../../../base/local-fs/folder.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { Pacer } from "../../../base/turns.ts";
import type { Logger } from "../../../log/hub.ts";
import {
  isBelow,
  parseTreePath,
  pathBelow,
  splitPath,
  type TreePath,
  transplant,
  treeRoot,
} from "../../path.ts";
import type { Failure, FileVersion, HistoryOptions, OpenFile, VersionName } from "../../ports.ts";
import { filesBelow } from "../../tree-ops.ts";
import { copyOpenFile, copyTree } from "../../trees/disk/copy.ts";
import { crossesDisks } from "../../trees/disk/disk-faults.ts";
import { DiskReader } from "../../trees/disk/read.ts";
import { type NameInFolder, PathResolver, refuseTooDeep } from "../../trees/disk/resolve.ts";
import { DiskStagedFile, type Staging } from "../../trees/disk/staging.ts";
import { storedRecord } from "../../trees/disk/stored-record.ts";
import { isTaken, keepsNoVersions, noSuchVersion } from "../faults.ts";
import type { BucketTrash, FoundItem, Retained } from "./bucket-trash.ts";

/** Something in an item, at the path that it had. */
interface Part {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly modifiedMs: number;
}

/**
 * trashHistory implements `Versions.list`. It reads the names of everything in the trash, and the stats of as many items as
 * it returns.
 */
export async function trashHistory(
  trash: BucketTrash,
  path: TreePath,
  options: HistoryOptions,
): Promise<FileVersion[]> {
  const { max, after, filesOnly = false, matches = () => true } = options;
  const now = trash.now();
  const pacer = new Pacer();
  const found: FileVersion[] = [];
  let same: FileVersion[] = [];
  const endVersion = () => {
    found.push(...same.sort(byPath));
    same = [];
  };
  for (const item of await trash.items()) {
    if (pacer.isDue) await pacer.nextTurn();
    if (item.retainedUntilMs < now || (after !== undefined && item.version > after.version)) continue;
    // Two processes may have made one version each at the same time.
    if (same[0] !== undefined && same[0].version !== item.version) endVersion();
    if (found.length >= max) break;
    if (item.path !== undefined && !concerns(item.path, path)) continue;
    // What matches only below it is listed only if the files of a folder are.
    if (item.path !== undefined && !filesOnly && !isBelow(path, item.path) && !matches(item.path)) continue;
    const top = await trash.locate(item);
    if (top === undefined) continue;
    const { version, removedAtMs, retainedUntilMs } = item;
    for (const part of await partsOf(top, path, options)) {
      const one = { ...part, version };
      if (matches(one.path) && (after === undefined || follows(one, after)))
        same.push({ ...one, removedAtMs, retainedUntilMs });
    }
  }
  endVersion();
  return found.slice(0, max);
}

/** Whether what was removed at `top` has something at `path` or below it. */
function concerns(top: TreePath, path: TreePath): boolean {
  return top === path || isBelow(top, path) || isBelow(path, top);
}

async function partsOf(
  { path: top, diskPath, stats }: FoundItem,
  path: TreePath,
  { filesOnly }: HistoryOptions,
): Promise<Part[]> {
  if (!concerns(top, path)) return [];
  const isInside = isBelow(path, top);
  const modifiedMs = stats.mtimeMs;
  if (stats.isFile()) return isInside ? [] : [{ path: top, kind: "file", size: stats.size, modifiedMs }];
  if (!stats.isDirectory()) return [];
  if (!isInside && !filesOnly) return [{ path: top, kind: "folder", size: 0, modifiedMs }];
  const reader = new DiskReader(new PathResolver(diskPath));
  const inner = isInside ? (parseTreePath(pathBelow(path, top)) ?? treeRoot) : treeRoot;
  const entry = await reader.find(inner);
  if (entry === undefined) return [];
  const originalPath = (at: TreePath) => (at === treeRoot ? top : transplant(at, treeRoot, top));
  if (entry.kind === "folder" && filesOnly)
    return (await filesBelow(reader, inner)).map((file) => ({
      ...file,
      path: originalPath(file.path),
      kind: "file",
    }));
  const size = entry.kind === "folder" ? 0 : entry.stats.size;
  return [{ path: originalPath(entry.path), kind: entry.kind, size, modifiedMs: entry.stats.modifiedMs }];
}

function follows(one: VersionName, after: VersionName): boolean {
  return one.version < after.version || (one.version === after.version && one.path > after.path);
}

function byPath(a: VersionName, b: VersionName): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

interface VersionRestoreOptions {
  readonly trash: BucketTrash;
  /** Keeps the file that is replaced. */
  readonly trashWriter: TrashWriter | undefined;
  /** Of the bucket. */
  readonly paths: PathResolver;
  readonly staging: Staging;
  readonly calls: FileCalls;
  readonly sync: boolean;
  readonly stopping: AbortSignal;
}

/** Source is the item to move, in a folder of the trash that is held open. */
interface Source {
  readonly folder: Folder;
  readonly name: string;
}

/**
 * VersionRestore moves what is in the trash back into the bucket, where it is not a version any more. The rename is the change: a crash
 * leaves it in the trash or in the bucket.
 */
export class VersionRestore {
  readonly #options: VersionRestoreOptions;

  constructor(options: VersionRestoreOptions) {
    this.#options = options;
  }

  /** run implements `TreeHistory.restoreVersion`. */
  async run(
    wanted: VersionName,
    to: TreePath,
    synced: (folder: Folder) => Promise<void>,
  ): Promise<FileVersion["kind"]> {
    const found = await this.#find(wanted);
    const { folder, name } = splitPath(to);
    return this.#options.paths.inFolder(folder, { create: true }, async (parent) => {
      const kind = await this.#restore(found, wanted, { parent, name, path: to });
      await synced(parent);
      return kind;
    });
  }

  async #find(wanted: VersionName): Promise<FoundItem> {
    const { trash } = this.#options;
    const found = await trash.find(wanted);
    if (found !== undefined && (await hasPart(found, wanted))) return found;
    throw trash.isOn || !(await trash.isEmpty()) ? noSuchVersion(wanted) : keepsNoVersions();
  }

  async #restore(found: FoundItem, wanted: VersionName, target: NameInFolder): Promise<FileVersion["kind"]> {
    if (found.path !== wanted.path)
      return inside(found, wanted, (source) => this.#move(source, wanted, target));
    const folder = await Folder.open(dirname(found.diskPath));
    try {
      const kind = await this.#move({ folder, name: basename(found.diskPath) }, wanted, target);
      await this.#options.trash.tidy(found);
      return kind;
    } finally {
      await folder.close();
    }
  }

  async #move(source: Source, wanted: VersionName, target: NameInFolder): Promise<FileVersion["kind"]> {
    const { trashWriter } = this.#options;
    const from = source.folder.at(source.name);
    const [stats, old] = await Promise.all([
      statOrUndefined(from, lstat),
      statOrUndefined(target.parent.at(target.name), lstat),
    ]);
    if (!stats?.isFile() && !stats?.isDirectory()) throw noSuchVersion(wanted);
    if (old !== undefined && !(old.isFile() && stats.isFile())) throw isTaken(target.path);
    try {
      if (stats.isDirectory()) await this.#moveFolder(from, target);
      else if (old === undefined || trashWriter === undefined) await this.#moveFile(from, target, stats.size);
      else
        await trashWriter.retainDuring(target, { removes: false }, () =>
          this.#moveFile(from, target, stats.size),
        );
    } catch (error) {
      // Somebody else restored or purged it meanwhile.
      throw isAbsence(error) && (await statOrUndefined(from, lstat)) === undefined
        ? noSuchVersion(wanted)
        : error;
    }
    return stats.isFile() ? "file" : "folder";
  }

  async #moveFile(from: string, { parent, name }: NameInFolder, size: number): Promise<void> {
    const { staging, sync, calls } = this.#options;
    const staged = new DiskStagedFile(from, size, storedRecord(from, await lstat(from)));
    await staging.moveInto(parent, name, { staged, sync, calls });
    if (!staged.isRenamed) await rm(from, { force: true });
  }

  async #moveFolder(from: string, { parent, name, path }: NameInFolder): Promise<void> {
    const { staging, paths, sync, stopping: signal } = this.#options;
    const source = new PathResolver(from);
    const reader = new DiskReader(source);
    const entry = await reader.find(treeRoot);
    if (entry === undefined) return;
    await refuseTooDeep(source, entry, [paths.diskPath(path)]);
    try {
      return await rename(from, parent.at(name));
    } catch (error) {
      if (codeOf(error) !== "EXDEV") throw error;
    }
    const staged = await staging.allocateBeside(parent);
    try {
      const options = { diskPath: staged.path, to: path, recursive: true, sync, signal };
      const [failure] = await copyTree(reader, entry, options);
      if (failure !== undefined) throw failure.fault;
      await rename(staged.path, parent.at(name));
      await rm(from, { recursive: true, force: true });
    } finally {
      await rm(staged.path, { recursive: true, force: true }).finally(() => staged.done());
    }
  }
}

/** openVersion opens the content of a file in the trash. A link in a folder that was deleted may lead elsewhere, so the way is proven. */
export async function openVersion(trash: BucketTrash, wanted: VersionName): Promise<OpenFile> {
  const found = await trash.find(wanted);
  if (found === undefined) throw noSuchVersion(wanted);
  if (found.stats.isDirectory())
    return new DiskReader(new PathResolver(found.diskPath)).open(innerPath(found, wanted));
  const folder = new DiskReader(new PathResolver(dirname(found.diskPath)));
  return folder.open(basename(found.diskPath) as TreePath);
}

/** Whether a version has something at the path that is wanted. */
async function hasPart(found: FoundItem, wanted: VersionName): Promise<boolean> {
  if (found.path === wanted.path) return true;
  if (!found.stats.isDirectory()) return false;
  return (
    (await new DiskReader(new PathResolver(found.diskPath)).find(innerPath(found, wanted))) !== undefined
  );
}

/** Opens the folder of a part of a folder that was deleted. A link in it may lead elsewhere, so the way is proven as in a bucket. */
function inside<T>(found: FoundItem, wanted: VersionName, use: (source: Source) => Promise<T>): Promise<T> {
  const { folder, name } = splitPath(innerPath(found, wanted));
  const paths = new PathResolver(found.diskPath);
  return paths.inFolder(folder, { create: false }, (held) => use({ folder: held, name }));
}

function innerPath(found: FoundItem, wanted: VersionName): TreePath {
  return parseTreePath(pathBelow(wanted.path, found.path)) ?? treeRoot;
}

/** Errors of a hard link that a copy does not have: another file system, one without links, a file of another user, too many links. */
const cannotLink = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

interface TrashWriterOptions {
  readonly bucket: string;
  readonly trash: BucketTrash;
  readonly reader: DiskReader;
  readonly staging: Staging;
  /** For hard links. */
  readonly calls: FileCalls;
  readonly sync: boolean;
  /** Ends copies when the server stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

/**
 * TrashWriter puts into the trash what a change is about to delete or replace. It moves a folder; a file stays in its place until
 * the change itself removes or replaces it, so that a reader always finds the old content or the new.
 */
export class TrashWriter {
  readonly #options: TrashWriterOptions;

  constructor(options: TrashWriterOptions) {
    this.#options = options;
  }

  /**
   * retainDuring links the file at a name into the trash, if there is one, and runs `change`, which removes or replaces the file. It gets
   * the version, if there is one. If `change` throws, the trash keeps nothing.
   */
  async retainDuring<T>(
    target: NameInFolder,
    options: { readonly removes: boolean },
    change: (version: number | undefined) => Promise<T>,
  ): Promise<T> {
    const retained = await this.#unlessImpossible(target.path, options, () => this.#retainFile(target));
    try {
      return await change(retained?.version);
    } catch (error) {
      if (retained !== undefined) await rm(retained.diskPath, { force: true });
      throw error;
    }
  }

  /**
   * retainFolder moves a folder into the trash, or copies it there if it is on another file system. `moved` is where it is now;
   * undefined if the folder is still in its place. With `failures`, some of it cannot be retained, and it must stay. `beforeMove`
   * is called with the disk path before the folder is moved there.
   */
  async retainFolder(
    { parent, name, path }: NameInFolder,
    options: { readonly removes: boolean; readonly beforeMove?: (at: string) => Promise<void> },
  ): Promise<{
    readonly moved?: Retained;
    readonly version?: number | undefined;
    readonly failures: Failure[];
  }> {
    const { trash } = this.#options;
    const retained = await this.#unlessImpossible(path, options, async () => {
      try {
        const moved = await trash.put(path, async (at) => {
          await options.beforeMove?.(at);
          await rename(parent.at(name), at);
        });
        return { moved, version: moved.version, failures: [] };
      } catch (error) {
        if (!crossesDisks(error)) throw error;
        return await this.#copyFolder(path);
      }
    });
    return retained ?? { failures: [] };
  }

  /** Undefined if there is no file. */
  async #retainFile({ parent, name, path }: NameInFolder): Promise<Retained | undefined> {
    const { trash, calls } = this.#options;
    const from = parent.at(name);
    // A symbolic link has no content of its own.
    if (!(await statOrUndefined(from, lstat))?.isFile()) return undefined;
    try {
      return await trash.put(path, async (to) => calls.link(from, to));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      if (!cannotLink.has(codeOf(error) ?? "")) throw error;
      return this.#copyFile(path);
    }
  }

  async #copyFile(path: TreePath): Promise<Retained> {
    const { trash, reader, staging, sync, stopping: signal } = this.#options;
    const copy = await staging.allocate();
    try {
      await using file = await reader.open(path);
      await copyOpenFile(file, copy, { sync, signal });
      return await trash.put(path, async (to) => {
        if ((await statOrUndefined(to, lstat)) !== undefined)
          throw Object.assign(new Error(), { code: "EEXIST" });
        await rename(copy, to);
      });
    } finally {
      await rm(copy, { force: true });
    }
  }

  async #copyFolder(
    path: TreePath,
  ): Promise<{ readonly version?: number | undefined; readonly failures: Failure[] }> {
    const { trash, reader, staging, sync, stopping: signal } = this.#options;
    const entry = await reader.find(path);
    if (entry === undefined) return { failures: [] };
    const diskPath = await staging.allocate();
    try {
      const failures = await copyTree(reader, entry, { diskPath, to: path, recursive: true, sync, signal });
      const kept = failures.length > 0 ? undefined : await trash.put(path, (to) => rename(diskPath, to));
      return { version: kept?.version, failures };
    } finally {
      await rm(diskPath, { recursive: true, force: true });
    }
  }

  /** Skips a path that is too long for the trash and, on a full disk, what is deleted: that may be done to free the disk. */
  async #unlessImpossible<T>(
    path: TreePath,
    { removes }: { readonly removes: boolean },
    retain: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await retain();
    } catch (error) {
      const isFull = isDiskFull(error);
      if (codeOf(error) !== "ENAMETOOLONG" && !(isFull && removes)) throw error;
      const { bucket, log } = this.#options;
      log.event("trash.skipped", "a file or folder was deleted or replaced without a copy in the trash", {
        bucket,
        path,
        reason: isFull ? "the disk is full" : "its path is too long for the trash",
      });
      return undefined;
    }
  }
}
