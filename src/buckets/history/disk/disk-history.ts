// This folder is all that plain files need for a history, behind the one door of this file: nobody else imports the
// others. The DiskHistory of this file belongs to the storage, a TreeHistory to each tree. What a change is about to
// delete or replace goes to the trash (bucket-trash.ts, where each name has the days that `keep_removed_days` gave it):
// trash-history.ts puts it there, lists it and moves it back; this file deletes what has expired. growing-files.ts has
// the content of resumable uploads. reuse-files.ts fills a deploy from another tree by shared blocks. This file also
// settles what a crash leaves of an exchange, and discards whole trees.

import type { Stats } from "node:fs";
import { lstat, readdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { Fault, messageOf } from "../../../base/fault.ts";
import type { FileCalls } from "../../../base/local-fs/file-calls.ts";
import { Folder, type FolderExchange } from "../../../base/local-fs/folder.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { Task } from "../../../base/task.ts";
import type { Logger } from "../../../log/hub.ts";
import { type TreePath, treeRoot } from "../../path.ts";
import {
  type BucketView,
  type FileVersion,
  folderIsGone,
  type History,
  type HistoryOptions,
  type OpenBucket,
  type OpenFile,
  type TreeExchange,
  type VersionName,
  type Versions,
  type VersionsSize,
  type WantedFile,
} from "../../ports.ts";
import { crossesDisks, toTreeFault } from "../../trees/disk/disk-faults.ts";
import type { DiskReader } from "../../trees/disk/read.ts";
import { removeTreeAt } from "../../trees/disk/remove-tree.ts";
import type { PathResolver } from "../../trees/disk/resolve.ts";
import type { Staging } from "../../trees/disk/staging.ts";
import { keepsNoVersions } from "../faults.ts";
import { BucketTrash } from "./bucket-trash.ts";
import { GrowingFiles } from "./growing-files.ts";
import { type ReuseFilesOptions, reuseFiles } from "./reuse-files.ts";
import { openVersion, TrashWriter, trashHistory, VersionRestore } from "./trash-history.ts";

/** Folders below `static_path`. No bucket can have such a path: `~` is not allowed in one. A start does not clear them. */
const trashFolder = "~trash";
const uploadsFolder = "~uploads";
/** How often the trash is purged. */
const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;
/** Deleting rests for as long as the last item took, so that other requests get the disk. */
const maxRestMs = 1000;

interface DiskHistoryOptions {
  /** Absolute. */
  readonly staticPath: string;
  /** Names the folder of this server's uploads: several servers may share `staticPath`. */
  readonly serverUuid: string;
  /** For how many days what is deleted or replaced is kept in the trash; 0 for not at all. */
  readonly keepRemovedDays: number;
  /** Whether a change is on the disk, and not only in its cache, before it is answered. */
  readonly sync: boolean;
  readonly staging: Staging;
  readonly exchangeFolders: FolderExchange;
  /** Aborts when the server stops: copies end. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
  readonly clock: Clock;
}

/** DiskHistory is the history of a storage of plain files. */
export class DiskHistory implements History {
  readonly parts: GrowingFiles;
  readonly #options: DiskHistoryOptions;
  readonly #retention: Task;
  readonly #discarded: DiscardedTrees;

  constructor(options: DiskHistoryOptions) {
    const { staticPath, serverUuid, sync, staging, clock } = options;
    this.#options = options;
    this.parts = new GrowingFiles({ folder: join(staticPath, uploadsFolder, serverUuid), sync });
    this.#retention = new Task({
      clock,
      everyMs,
      firstMs: firstWaitMs,
      run: (signal) => this.#purge(signal),
      failed: (error) => this.#logFailure(error),
    });
    this.#discarded = new DiscardedTrees(staging);
  }

  /** ofTree returns the history of one tree. Nothing is kept of a tree that is not a bucket, whose path begins with `~`. */
  ofTree(tree: HistoryTree): TreeHistory {
    const { path } = tree.bucket;
    const trash = path.startsWith("~") ? undefined : this.#trashOf(path);
    return new TreeHistory({ ...this.#options, ...tree, trash });
  }

  /** retainsAny returns whether versions of an earlier bucket with this path can be restored. */
  async retainsAny(path: string): Promise<boolean> {
    return !(await this.#trashOf(path).isEmpty());
  }

  discard(path: string): Promise<void> {
    return this.#discarded.add(join(this.#options.staticPath, path));
  }

  async assertExchangeable(path: string, other: string): Promise<void> {
    const { staticPath } = this.#options;
    await inTree(treeRoot, () => refuseOtherDisk(join(staticPath, path), join(staticPath, other)));
  }

  settleExchange(path: string, other: string): Promise<void> {
    const { staticPath } = this.#options;
    return recoverExchange(join(staticPath, path), join(staticPath, other));
  }

  /** start begins to delete what has expired in the trash. */
  start(): void {
    this.#retention.start();
  }

  async close(): Promise<void> {
    await this.#retention.close();
  }

  /**
   * purgeExpired deletes everything in the trash whose time has passed, one item after the other, and returns how many. What cannot
   * be deleted is left for the next time, and thrown at the end. The signal ends it between two items.
   */
  async purgeExpired(signal?: AbortSignal): Promise<number> {
    let purged = 0;
    let failed: { readonly error: unknown } | undefined;
    for await (const bucketPath of this.#pathsInTrash()) {
      const trash = this.#trashOf(bucketPath);
      const now = trash.now();
      for (const item of await trash.items()) {
        if (item.retainedUntilMs >= now) continue;
        if (signal?.aborted) return purged;
        const begin = performance.now();
        try {
          if (await trash.delete(item)) purged += 1;
        } catch (error) {
          failed ??= { error };
        }
        await Bun.sleep(Math.min(maxRestMs, performance.now() - begin));
      }
    }
    if (failed !== undefined) throw failed.error;
    return purged;
  }

  /** The trash of the bucket at a path. */
  #trashOf(bucketPath: string): BucketTrash {
    const { staticPath, keepRemovedDays: days, sync, staging, clock } = this.#options;
    return new BucketTrash({ folder: join(staticPath, trashFolder, bucketPath), days, sync, staging, clock });
  }

  /** The paths of all buckets that have something in the trash, also of buckets that were deleted. */
  async *#pathsInTrash(): AsyncGenerator<string> {
    const root = join(this.#options.staticPath, trashFolder);
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const names = await foldersIn(join(root, folder));
      if (names.some((name) => name.startsWith("~"))) yield folder;
      for (const name of names) if (!name.startsWith("~")) folders.push(join(folder, name));
    }
  }

  async #purge(signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    const purged = await this.purgeExpired(signal);
    if (purged === 0) return;
    const elapsed_ms = Math.round(performance.now() - begin);
    this.#options.log.event("trash.purged", "expired files in the trash were deleted", {
      purged,
      elapsed_ms,
    });
  }

  #logFailure(error: unknown): void {
    const reason = error instanceof Fault ? error.detail : messageOf(error);
    this.#options.log.event(
      "trash.purge_failed",
      "the trash could not be purged; the server tries again later",
      {
        reason,
        retry_ms: everyMs,
      },
    );
  }
}

/** HistoryTree is a tree that gets a history. */
interface HistoryTree {
  readonly bucket: OpenBucket["bucket"];
  readonly reader: DiskReader;
  readonly paths: PathResolver;
  /** For calls that change names. */
  readonly calls: FileCalls;
}

interface TreeHistoryOptions extends DiskHistoryOptions, HistoryTree {
  readonly trash: BucketTrash | undefined;
}

/** TreeHistory is the history of one tree: its versions, and what deploys do with the tree as a whole. */
export class TreeHistory implements Versions {
  /** Retains what a change deletes or replaces; undefined if that is gone. */
  readonly trashWriter: TrashWriter | undefined;
  readonly #options: TreeHistoryOptions;

  constructor(options: TreeHistoryOptions) {
    const { bucket, trash } = options;
    this.#options = options;
    if (trash?.isOn) this.trashWriter = new TrashWriter({ ...options, trash, bucket: bucket.name });
  }

  get retentionDays(): number {
    return this.#options.trash?.days ?? 0;
  }

  list(path: TreePath, options: HistoryOptions): Promise<FileVersion[]> {
    const trash = this.#requireTrash();
    return inTree(path, async () => {
      const found = await trashHistory(trash, path, options);
      if (found.length === 0 && !trash.isOn && (await trash.isEmpty())) throw keepsNoVersions();
      return found;
    });
  }

  open(wanted: VersionName): Promise<OpenFile> {
    const trash = this.#requireTrash();
    return inTree(wanted.path, () => openVersion(trash, wanted));
  }

  measure(): Promise<VersionsSize> {
    const { trash } = this.#options;
    return inTree(treeRoot, async () => (await trash?.measure()) ?? { versions: 0, bytes: 0 });
  }

  purge(): Promise<number> {
    const trash = this.#requireTrash();
    return inTree(treeRoot, async () => {
      let purged = 0;
      for (const item of await trash.items()) if (await trash.delete(item)) purged += 1;
      return purged;
    });
  }

  /** restoreVersion implements `WriteTransaction.restoreVersion`. `synced` is called with the folder of `to` before it is closed. */
  restoreVersion(
    wanted: VersionName,
    to: TreePath,
    synced: (folder: Folder) => Promise<void>,
  ): Promise<FileVersion["kind"]> {
    const trash = this.#requireTrash();
    const restore = new VersionRestore({ ...this.#options, trash, trashWriter: this.trashWriter });
    return inTree(to, () => restore.run(wanted, to, synced));
  }

  /** reuse implements `Tree.reuse`. */
  reuse(
    files: readonly WantedFile[],
    options: Pick<ReuseFilesOptions, "source" | "sourcesOf" | "signal" | "inTurn">,
  ): Promise<WantedFile[]> {
    const { reader: target, paths, staging, sync, stopping } = this.#options;
    const signal = AbortSignal.any([options.signal, stopping]);
    return reuseFiles(files, { ...options, target, paths, staging, sync, signal });
  }

  /** exchangeWith exchanges the folders of two trees while nobody changes either. `view` is of this tree. */
  async exchangeWith(other: TreeHistory, view: BucketView, work: TreeExchange): Promise<void> {
    const { paths, reader, sync, exchangeFolders } = this.#options;
    const { paths: otherPaths, reader: otherReader } = other.#options;
    await inTree(treeRoot, async () => {
      await refuseOtherDisk(paths.root, otherPaths.root);
      await work.transact(async (changes) => {
        await work.check(view, changes);
        await work.begin(changes);
      });
      // Otherwise a power cut could leave the exchange, and nothing that says so.
      if (sync) await work.flush();
      try {
        exchangeFolders(paths.root, otherPaths.root, temporaryPathOf(otherPaths.root));
        reader.exchanged();
        otherReader.exchanged();
      } catch (error) {
        await work.transact((changes) => work.cancel(changes));
        throw crossesDisks(error) ? isOnOtherDisk() : error;
      }
      if (sync) await syncNames(paths.root, otherPaths.root);
    });
    await work.transact((changes) => work.commit(changes, null));
    if (sync) await work.flush();
  }

  #requireTrash(): BucketTrash {
    const { trash } = this.#options;
    if (trash === undefined) throw keepsNoVersions();
    return trash;
  }
}

/** Turns errors of the disk into Faults that name the path in the bucket. */
async function inTree<T>(path: TreePath, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toTreeFault(error, path);
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

/** temporaryPathOf returns the path of the first of two trees during their exchange, if the system cannot do that in one step. */
function temporaryPathOf(other: string): string {
  return `${other}.aside`;
}

/**
 * refuseOtherDisk throws unless both are folders, not links, on one file system: otherwise their names cannot be exchanged. For a
 * folder that does not exist yet, the file system of its future location counts.
 */
async function refuseOtherDisk(root: string, other: string): Promise<void> {
  const [mine, theirs, above] = await Promise.all([
    statOrUndefined(root, lstat),
    statOrUndefined(other, lstat),
    statOrUndefined(dirname(root), stat),
  ]);
  if (mine === undefined) throw folderIsGone();
  const { dev } = theirs ?? (await statAbove(other));
  const areFolders = mine.isDirectory() && (theirs?.isDirectory() ?? true);
  if (!areFolders || dev !== mine.dev || above?.dev !== mine.dev) throw isOnOtherDisk();
}

/** The nearest folder above a path that exists. */
async function statAbove(path: string): Promise<Stats> {
  const above = dirname(path);
  return (await statOrUndefined(above, stat)) ?? (above === path ? stat(path) : statAbove(above));
}

/** isOnOtherDisk returns the Fault for a folder whose name cannot be exchanged with one below static_path. */
function isOnOtherDisk(): Fault {
  return new Fault(
    "Other",
    "deploys cannot be published, because the bucket's folder is a link, a mount point or not on the file system of static_path; move its files below static_path",
    { reason: "other_file_system" },
  );
}

/** syncNames makes the names of two folders durable. */
async function syncNames(root: string, other: string): Promise<void> {
  for (const path of new Set([dirname(root), dirname(other)])) {
    const folder = await Folder.open(path);
    await folder.sync().finally(() => folder.close());
  }
}

/** recoverExchange moves a tree that a crash left at its temporary path: back to its own name if that is free, else to the other one. */
async function recoverExchange(root: string, other: string): Promise<void> {
  const temporary = temporaryPathOf(other);
  if ((await statOrUndefined(temporary, lstat)) === undefined) return;
  await rename(temporary, (await statOrUndefined(root, lstat)) === undefined ? root : other);
  await syncNames(root, other);
}

/** DiscardedTrees deletes trees. Each is moved to the staging folder first, so that a start deletes what a crash leaves of it. */
class DiscardedTrees {
  readonly #staging: Staging;
  /** Disk paths of trees that could not be deleted yet. */
  readonly #locked = new Set<string>();

  constructor(staging: Staging) {
    this.#staging = staging;
  }

  /**
   * add deletes a tree, and those before it that were being read by a backup. One that is being read now waits for the next call,
   * or the next start.
   */
  async add(root: string): Promise<void> {
    if ((await statOrUndefined(root, lstat)) !== undefined) {
      const staged = await this.#staging.allocate();
      await rename(root, staged);
      this.#locked.add(staged);
    }
    for (const path of this.#locked) {
      if (await isBeingRead(path)) continue;
      this.#locked.delete(path);
      const [failure] = await removeTreeAt(dirname(path), basename(path), treeRoot);
      if (failure !== undefined) throw failure.fault;
    }
  }
}

/** A backup locks the tree that it reads. */
async function isBeingRead(path: string): Promise<boolean> {
  const folder = await Folder.open(path);
  try {
    return !folder.tryLock();
  } finally {
    await folder.close();
  }
}
