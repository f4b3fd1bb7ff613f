import { forEachConcurrently } from "../base/concurrency.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { retryDamaged, sha256Of } from "../blobs/content.ts";
import { isBelow, type TreePath, treeRoot } from "./path.ts";
import type { Failure, FileEntry, FileReader, TreeFiles } from "./ports.ts";
import { walk } from "./tree-ops.ts";

/** Files that are copied at the same time: most of the time of a small file is spent waiting for a store to answer. */
const filesAtOnce = 8;
/** `fatalReasons` are the reasons of failures that concern all files of a store. */
const fatalReasons: readonly unknown[] = ["unavailable", "disk_full"];

export interface CopyMeter {
  /** Counts bytes of files that are done, or under way. */
  add(bytes: number): void;
  fileDone(): void;
}

interface CopyBucketOptions {
  readonly source: FileReader;
  readonly target: TreeFiles;
  /** Whether files and folders that only the target has are deleted there. */
  readonly deletesOthers: boolean;
  readonly meter: CopyMeter;
  readonly signal: AbortSignal;
}

/** CopyReport is what a copy of the files of one bucket has done. */
interface CopyReport {
  readonly copied: number;
  /** Files that the target had already, with the same content. */
  readonly unchanged: number;
  /** Files and folders that only the target has, each without what is below it. */
  readonly others: readonly TreePath[];
  readonly failures: readonly Failure[];
}

/**
 * `copyBucket` makes the files of a bucket in one store the same as in another. A file that the target has already, with the same
 * content, is not copied again. The content of every file is read back from the target and compared by its SHA-256. Nobody else may
 * change the bucket meanwhile. Throws if one of the stores cannot be used; the failures of single files are returned.
 */
export async function copyBucket(options: CopyBucketOptions): Promise<CopyReport> {
  const copy = new BucketCopy(options);
  await copy.clearOthers();
  await copy.copyEntries();
  return copy.report();
}

class BucketCopy {
  readonly #options: CopyBucketOptions;
  readonly #folders: FileEntry[] = [];
  readonly #others: TreePath[] = [];
  readonly #failures: Failure[] = [];
  #copied = 0;
  #unchanged = 0;

  constructor(options: CopyBucketOptions) {
    this.#options = options;
  }

  report(): CopyReport {
    return {
      copied: this.#copied,
      unchanged: this.#unchanged,
      others: this.#others,
      failures: this.#failures,
    };
  }

  /** Finds what only the target has, or has as another kind, and deletes it if that was asked for. */
  async clearOthers(): Promise<void> {
    const { source, target, deletesOthers, signal } = this.#options;
    let last: TreePath | undefined;
    for await (const { path, kind } of walk(target.reader, treeRoot)) {
      signal.throwIfAborted();
      if (last !== undefined && isBelow(path, last)) continue;
      const same = await source.find(path);
      if (same?.path === path && same.kind === kind) continue;
      this.#others.push(path);
      last = path;
    }
    if (!deletesOthers) return;
    for (const path of this.#others.splice(0))
      await this.#attempt(path, async () => {
        const removal = await target.transact([path], async (transaction, [{ entry }]) =>
          entry === undefined ? undefined : transaction.remove(entry),
        );
        this.#failures.push(...(removal?.failures ?? []));
      });
  }

  async copyEntries(): Promise<void> {
    const { source, signal } = this.#options;
    const onUnreadable = (path: TreePath, error: unknown) => void this.#failures.push(toFailure(path, error));
    await forEachConcurrently(walk(source, treeRoot, onUnreadable), filesAtOnce, async (entry) => {
      signal.throwIfAborted();
      await this.#attempt(entry.path, () =>
        entry.kind === "folder" ? this.#makeFolder(entry) : retryDamaged(() => this.#copyFile(entry)),
      );
    });
    // Every file that was placed changed the times of its folder; the deepest folder goes first.
    for (const folder of this.#folders.reverse())
      await this.#attempt(folder.path, () => this.#setTimes(folder));
  }

  async #makeFolder(folder: FileEntry): Promise<void> {
    this.#folders.push(folder);
    const { path, stats } = folder;
    await this.#options.target.transact([path], async (transaction, [{ entry, parent }]) => {
      // A file in it may have been quicker, and created it.
      if (entry !== undefined || parent === undefined) return;
      await transaction.makeFolder(path, { modified: new Date(stats.modifiedMs) });
    });
  }

  async #copyFile({ path, stats: { size, modifiedMs } }: FileEntry): Promise<void> {
    const { source, target, meter } = this.#options;
    await using file = await source.open(path);
    const known = file.stats.sha256;
    const there = await target.reader.find(path);
    if (there?.kind === "file" && there.path === path && there.stats.size === size) {
      const isSame =
        Buffer.from(there.stats.record ?? []).equals(file.stats.record ?? new Uint8Array()) &&
        (await storedHashOf(target.reader, path)) === (known ?? (await hashOf(source, path)));
      if (isSame) {
        if (Math.floor(there.stats.modifiedMs) !== Math.floor(modifiedMs))
          await this.#setTimes({ path, stats: file.stats });
        meter.add(size);
        meter.fileDone();
        this.#unchanged += 1;
        return;
      }
    }
    const hash = new Bun.CryptoHasher("sha256");
    const { record } = file.stats;
    await using staged = await target.stage(observed(file.chunks(), hash, meter), path, () => record);
    const sha256 = hash.digest("hex");
    if (known !== undefined && known !== sha256) throw damaged(path, "in the store that it is copied from");
    await target.transact([path], async (transaction, [resolved]) => {
      if (resolved.path !== path) throw looksAlike(path, resolved.path);
      const stats = await transaction.put(staged, path, {
        makeParents: true,
        modified: new Date(modifiedMs),
      });
      if (record !== undefined && stats.record === undefined)
        await transaction.metadata.properties.keepRecord(path, stats, record);
    });
    if ((await hashOf(target.reader, path)) !== sha256) throw damaged(path, "after it was copied");
    meter.fileDone();
    this.#copied += 1;
  }

  async #setTimes({ path, stats }: Pick<FileEntry, "path" | "stats">): Promise<void> {
    await this.#options.target.transact([path], async (transaction, [{ entry }]) => {
      if (entry !== undefined) await transaction.setTimes(entry, { modified: new Date(stats.modifiedMs) });
    });
  }

  async #attempt(path: TreePath, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (!(error instanceof Fault) || fatalReasons.includes(error.data.reason)) throw error;
      this.#failures.push({ path, fault: error });
    }
  }
}

async function* observed(
  content: AsyncIterable<Uint8Array>,
  hash: Bun.CryptoHasher,
  meter: CopyMeter,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk);
    meter.add(chunk.length);
    yield chunk;
  }
}

/**
 * Returns undefined if the store has lost the content, or never had it: rows of an object store that was used before name the
 * blobs of that one.
 */
async function storedHashOf(reader: FileReader, path: TreePath): Promise<string | undefined> {
  try {
    return await hashOf(reader, path);
  } catch (error) {
    if (error instanceof Fault && error.data.reason === "blob_missing") return undefined;
    throw error;
  }
}

async function hashOf(reader: FileReader, path: TreePath): Promise<string> {
  await using file = await reader.open(path);
  return await sha256Of(file);
}

function damaged(path: TreePath, when: string): Fault {
  return new Fault("IoError", `the content of the file is not what it should be ${when}`, { path });
}

function looksAlike(path: TreePath, other: TreePath): Fault {
  return new Fault(
    "InvalidInput",
    `its name differs from ${other} only in Unicode form, and the store can hold only one of them; rename one`,
    { path },
  );
}

function toFailure(path: TreePath, error: unknown): Failure {
  return { path, fault: error instanceof Fault ? error : new Fault("IoError", messageOf(error), { path }) };
}
