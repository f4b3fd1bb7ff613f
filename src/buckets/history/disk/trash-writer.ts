import { lstat, rename, rm } from "node:fs/promises";
import { codeOf, isDiskFull } from "../../../base/fault.ts";
import type { FileCalls } from "../../../base/local-fs/file-calls.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { Logger } from "../../../log/hub.ts";
import type { TreePath } from "../../path.ts";
import type { Failure } from "../../ports.ts";
import { copyOpenFile, copyTree } from "../../trees/disk/copy.ts";
import { crossesDisks } from "../../trees/disk/disk-faults.ts";
import type { DiskReader } from "../../trees/disk/read.ts";
import type { NameInFolder } from "../../trees/disk/resolve.ts";
import type { Staging } from "../../trees/disk/staging.ts";
import type { BucketTrash } from "./bucket-trash.ts";

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
   * retainDuring links the file at a name into the trash, if there is one, and runs `change`, which removes or replaces the file. If
   * `change` throws, the trash keeps nothing.
   */
  async retainDuring<T>(
    target: NameInFolder,
    options: { readonly removes: boolean },
    change: () => Promise<T>,
  ): Promise<T> {
    const retained = await this.#unlessImpossible(target.path, options, () => this.#retainFile(target));
    try {
      return await change();
    } catch (error) {
      if (retained !== undefined) await rm(retained, { force: true });
      throw error;
    }
  }

  /**
   * retainFolder moves a folder into the trash, or copies it there if it is on another file system. `moved` is the new disk path;
   * undefined if the folder is still in its place. With `failures`, some of it cannot be retained, and it must stay. `beforeMove`
   * is called with the disk path before the folder is moved there.
   */
  async retainFolder(
    { parent, name, path }: NameInFolder,
    options: { readonly removes: boolean; readonly beforeMove?: (at: string) => Promise<void> },
  ): Promise<{ readonly moved?: string; readonly failures: Failure[] }> {
    const { trash } = this.#options;
    const retained = await this.#unlessImpossible(path, options, async () => {
      try {
        const moved = await trash.put(path, async (at) => {
          await options.beforeMove?.(at);
          await rename(parent.at(name), at);
        });
        return { moved, failures: [] };
      } catch (error) {
        if (!crossesDisks(error)) throw error;
        return { failures: await this.#copyFolder(path) };
      }
    });
    return retained ?? { failures: [] };
  }

  /** The disk path of the version; undefined if there is no file. */
  async #retainFile({ parent, name, path }: NameInFolder): Promise<string | undefined> {
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

  async #copyFile(path: TreePath): Promise<string> {
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

  async #copyFolder(path: TreePath): Promise<Failure[]> {
    const { trash, reader, staging, sync, stopping: signal } = this.#options;
    const entry = await reader.find(path);
    if (entry === undefined) return [];
    const diskPath = await staging.allocate();
    try {
      const failures = await copyTree(reader, entry, { diskPath, to: path, recursive: true, sync, signal });
      if (failures.length === 0) await trash.put(path, (to) => rename(diskPath, to));
      return failures;
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
