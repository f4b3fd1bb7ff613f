import { lstat, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf } from "../../../base/fault.ts";
import type { FileCalls } from "../../../base/local-fs/file-calls.ts";
import { Folder } from "../../../base/local-fs/folder.ts";
import { parseTreePath, pathBelow, splitPath, type TreePath, treeRoot } from "../../path.ts";
import type { FileVersion, VersionName } from "../../ports.ts";
import { isTaken, keepsNoVersions, notKept } from "../../version-faults.ts";
import { copyTree } from "../copy-tree.ts";
import { refuseTooDeep } from "../longest-path.ts";
import { DiskReader } from "../read.ts";
import { PathResolver } from "../resolve.ts";
import { DiskStagedFile, type Staging } from "../staging.ts";
import { isAbsence, statOrUndefined } from "../stat.ts";
import type { BucketTrash, FoundItem } from "./bucket-trash.ts";
import type { NameInFolder, TrashKeeper } from "./trash-keeper.ts";

export interface TrashRestoreOptions {
  readonly trash: BucketTrash;
  /** Keeps the file that is replaced. */
  readonly keeper: TrashKeeper | undefined;
  /** Of the bucket. */
  readonly paths: PathResolver;
  readonly staging: Staging;
  readonly calls: FileCalls;
  readonly sync: boolean;
  readonly stopping: AbortSignal;
}

/** What is to be moved, in a folder of the trash that is held open. */
interface Source {
  readonly folder: Folder;
  readonly name: string;
}

/**
 * TrashRestore moves what is in the trash back into the bucket. It is no version any more then. The rename is the change: a crash
 * leaves it in the trash or in the bucket.
 */
export class TrashRestore {
  readonly #options: TrashRestoreOptions;

  constructor(options: TrashRestoreOptions) {
    this.#options = options;
  }

  /** find returns what a version name leads to. NotFound if it is not kept, or `keepsNoVersions`. */
  async find(wanted: VersionName): Promise<FoundItem> {
    const { trash } = this.#options;
    const found = await trash.find(wanted);
    if (found !== undefined && (await hasPart(found, wanted))) return found;
    throw trash.isOn || !(await trash.isEmpty()) ? notKept(wanted) : keepsNoVersions();
  }

  /** run moves what `find` found to a name of the bucket, as `WriteTransaction.restore` says. */
  async run(found: FoundItem, wanted: VersionName, target: NameInFolder): Promise<FileVersion["kind"]> {
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
    const { keeper } = this.#options;
    const from = source.folder.at(source.name);
    const [stats, old] = await Promise.all([
      statOrUndefined(from, lstat),
      statOrUndefined(target.parent.at(target.name), lstat),
    ]);
    if (!stats?.isFile() && !stats?.isDirectory()) throw notKept(wanted);
    if (old !== undefined && !(old.isFile() && stats.isFile())) throw isTaken(target.path);
    try {
      if (stats.isDirectory()) await this.#moveFolder(from, target);
      else if (old === undefined || keeper === undefined) await this.#moveFile(from, target, stats.size);
      else await keeper.keepWhile(target, { removes: false }, () => this.#moveFile(from, target, stats.size));
    } catch (error) {
      // Somebody else restored or purged it meanwhile.
      throw isAbsence(error) && (await statOrUndefined(from, lstat)) === undefined ? notKept(wanted) : error;
    }
    return stats.isFile() ? "file" : "folder";
  }

  async #moveFile(from: string, { parent, name }: NameInFolder, size: number): Promise<void> {
    const { staging, sync, calls } = this.#options;
    const staged = new DiskStagedFile(from, size);
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
