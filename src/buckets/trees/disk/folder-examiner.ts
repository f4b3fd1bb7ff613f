import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../../../base/fault.ts";
import { folderProblem } from "../../../base/local-fs/access.ts";
import { quietly } from "../../../log/span.ts";
import type { StoreProblem } from "../../maintenance/store-watch.ts";
import type { DiskSpace } from "../../ports.ts";

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
export class FolderExaminer {
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
