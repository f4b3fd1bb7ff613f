import { constants } from "node:fs";
import { access, lstat, mkdir, readdir, realpath, stat, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { folderProblem } from "../../../base/local-fs/access.ts";
import { exchangeFolders, Folder, type FolderExchange, isInside } from "../../../base/local-fs/folder.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { Logger } from "../../../log/hub.ts";
import { quietly } from "../../../log/span.ts";
import { DiskHistory } from "../../history/disk/disk-history.ts";
import { keepsFiles } from "../../history/faults.ts";
import type { StoreIdentity } from "../../maintenance/store-identity.ts";
import { type StoreProblem, StoreWatch } from "../../maintenance/store-watch.ts";
import type { BucketStorage, DiskSpace, LocationClaim, OpenBucket, Tree } from "../../ports.ts";
import { DiskTree } from "./disk-tree.ts";
import { openOrCreate } from "./resolve.ts";
import { Staging } from "./staging.ts";

/** With less space than this the disk counts as full. */
const minFreeBytes = 1024 * 1024;

interface FolderExaminerOptions {
  /** `static_path`, absolute. */
  readonly path: string;
  /** Whether any bucket exists. Before the first one, the folder need not exist. */
  readonly hasBuckets: () => Promise<boolean>;
}

/**
 * FolderExaminer checks the folder of all buckets: whether it exists, can be read and written, and has space. It asks the file system
 * by a thread, so that one that does not answer stops nothing else.
 */
class FolderExaminer {
  readonly #options: FolderExaminerOptions;
  #space: DiskSpace | undefined;
  #wasSeen = false;
  /** Whether the folder was the root of a mounted file system. */
  #wasMounted = false;

  constructor(options: FolderExaminerOptions) {
    this.#options = options;
  }

  /** The disk of the folder at the last check; undefined while that is not known. */
  get space(): DiskSpace | undefined {
    return this.#space;
  }

  async examine(): Promise<StoreProblem | undefined> {
    const { path } = this.#options;
    try {
      const stats = await stat(path);
      if (!stats.isDirectory())
        return { reason: "the folder is a file, not a folder; put the folder back", isMissing: true };
      const isMounted = stats.dev !== (await stat(dirname(path))).dev;
      if (this.#wasMounted && !isMounted)
        return {
          reason: "the folder has lost the file system that was mounted there; mount it again",
          isMissing: true,
        };
      this.#wasSeen = true;
      this.#wasMounted = isMounted;
      await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
      return await this.#examineSpace(path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return this.#examineAbsence();
      return {
        reason: `the folder ${folderProblem(path)?.why ?? `cannot be used: ${messageOf(error)}`}`,
        isMissing: false,
      };
    }
  }

  async #examineSpace(path: string): Promise<StoreProblem | undefined> {
    const { bavail, blocks, bsize, files, ffree } = await statfs(path);
    const freeBytes = bavail * bsize;
    this.#space = { freeBytes, totalBytes: blocks * bsize };
    if (freeBytes < minFreeBytes)
      return { reason: "the folder is on a full disk; delete files or enlarge the disk", isMissing: false };
    // Some file systems have no fixed number of files, and report 0 for both.
    if (files > 0 && ffree === 0)
      return { reason: "the folder is on a disk that can hold no more files; delete some", isMissing: false };
    return undefined;
  }

  async #examineAbsence(): Promise<StoreProblem | undefined> {
    // Without the database it is not known whether there are buckets; that is reported as the database's loss. Nobody asked for
    // this check, so its statement is not in the log.
    const mustExist = this.#wasSeen || (await quietly(() => this.#options.hasBuckets()).catch(() => false));
    this.#space = undefined;
    return mustExist
      ? { reason: "the folder does not exist; put it back, or mount its file system", isMissing: true }
      : undefined;
  }
}

/** The interval of the checks of the folder. */
const checkIntervalMs = 5000;
/** A file system, such as a network mount, that does not answer for this long is lost. */
const maxCheckMs = 3000;
/** The staging folder below `static_path`. No bucket can have this path: `~` is not allowed in one. */
const stagingFolder = "~staging";

interface DiskStorageOptions {
  readonly staticPath: string;
  readonly syncUploads: boolean;
  /** For how many days what is deleted or replaced is kept in the trash; 0 for not at all. */
  readonly keepRemovedDays: number;
  /** Names this server's staging folder: several servers may share `staticPath`, and each clears only its own. */
  readonly serverUuid: string;
  /** Exchanges two folders; for tests of systems that cannot do it at once. */
  readonly exchangeFolders?: FolderExchange;
  /** Whether any bucket exists. */
  readonly hasBuckets: () => Promise<boolean>;
  /** Keeps the database and the files together. */
  readonly identity: Pick<StoreIdentity, "verify" | "start">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** DiskStorage keeps the files of all buckets as plain files, each bucket in its folder below `static_path`. */
export class DiskStorage implements BucketStorage {
  readonly health: StoreWatch;
  readonly history: DiskHistory;
  readonly #identity: DiskStorageOptions["identity"];
  readonly #staticPath: string;
  readonly #sync: boolean;
  readonly #staging: Staging;
  readonly #stopping = new AbortController();

  constructor(options: DiskStorageOptions) {
    const { staticPath, syncUploads, serverUuid, hasBuckets, identity, log, clock } = options;
    const path = resolve(staticPath);
    const examiner = new FolderExaminer({ path, hasBuckets });
    this.#identity = identity;
    this.#staticPath = path;
    this.#sync = syncUploads;
    this.#staging = new Staging(resolve(path, stagingFolder, serverUuid));
    this.history = new DiskHistory({
      staticPath: path,
      serverUuid,
      keepRemovedDays: options.keepRemovedDays,
      sync: syncUploads,
      staging: this.#staging,
      exchangeFolders: options.exchangeFolders ?? exchangeFolders,
      stopping: this.#stopping.signal,
      log,
      clock,
    });
    this.health = new StoreWatch({
      what: "the folder of the buckets",
      where: { static_path: path },
      examine: () => examiner.examine(),
      intervalMs: checkIntervalMs,
      maxCheckMs,
      lateReason: "the folder does not answer; check its disk or network mount",
      space: () => examiner.space,
      log,
      clock,
    });
  }

  verifyIdentity(): Promise<string> {
    return this.#identity.verify();
  }

  open({ bucket, metadata, onChanged, onDone }: OpenBucket): Tree {
    return new DiskTree(resolve(this.#staticPath, bucket.path), {
      bucket,
      metadata,
      staging: this.#staging,
      sync: this.#sync,
      stopping: this.#stopping.signal,
      history: this.history,
      onChanged,
      onDone,
    });
  }

  async claim({ path, mayTakeOver }: LocationClaim): Promise<void> {
    // The owner of the new bucket could restore versions of the bucket that had the path before.
    if (!mayTakeOver && (await this.history.retainsAny(path))) throw keepsFiles();
    await claimFolder({ staticPath: this.#staticPath, path, mayTakeOver });
  }

  async recreate({ path }: Omit<LocationClaim, "mayTakeOver">): Promise<void> {
    await recreateFolder(resolve(this.#staticPath, path));
  }

  async missing(paths: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const path of paths)
      if ((await statOrUndefined(resolve(this.#staticPath, path), stat)) === undefined) missing.push(path);
    return missing;
  }

  clear(): Promise<string[]> {
    return this.#staging.clear();
  }

  stopCopies(): void {
    this.#stopping.abort(
      new Fault("IoError", "the server stops; nothing was changed, try again when it runs again"),
    );
  }

  start(): void {
    this.#identity.start();
    this.history.start();
  }

  async close(): Promise<void> {
    this.health.close();
    await this.history.close();
  }
}

interface FolderClaim {
  readonly staticPath: string;
  /** The bucket's path below `staticPath`, its form checked. */
  readonly path: string;
  /** Whether a folder that is not empty may be taken: its files are served to everybody from then on. */
  readonly mayTakeOver: boolean;
}

/**
 * claimFolder creates the folder of a bucket, or takes the one that exists. Each segment is opened in the one before it and must
 * not be a symbolic link, so the bucket lies where its path says: below `static_path`, and outside the folders of other buckets.
 */
async function claimFolder({ staticPath, path, mayTakeOver }: FolderClaim): Promise<void> {
  try {
    await mkdir(staticPath, { recursive: true });
    const root = await realpath(staticPath);
    let folder = await Folder.open(root);
    try {
      for (const segment of path.split("/")) {
        const next = await openOrCreate(folder, segment);
        const isLink = (await lstat(folder.at(segment))).isSymbolicLink();
        await folder.close();
        folder = next;
        if (isLink || !isInside(folder.realPath, root)) throw leadsThroughLink();
      }
      if (!mayTakeOver && (await readdir(folder.at("."))).length > 0) throw holdsFiles();
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw error instanceof Fault ? error : cannotBeMade(error);
  }
}

/** recreateFolder creates the folder of an existing bucket again if it is missing from the disk. */
async function recreateFolder(diskPath: string): Promise<void> {
  try {
    await mkdir(diskPath, { recursive: true });
  } catch (error) {
    throw cannotBeMade(error);
  }
}

function leadsThroughLink(): Fault {
  return new Fault(
    "InvalidInput",
    "path leads through a symbolic link; the folder of a bucket and those above it must be real folders below static_path",
    { field: "path" },
  );
}

function holdsFiles(): Fault {
  return new Fault(
    "InvalidInput",
    "the folder at this path already contains files, which the bucket would serve to everyone; choose another path, or use the Super Token",
    { field: "path", reason: "path_taken" },
  );
}

function cannotBeMade(error: unknown): Fault {
  return new Fault(
    "IoError",
    `the bucket's folder cannot be made (${codeOf(error) ?? "unknown"}); check static_path`,
    { field: "path" },
  );
}
