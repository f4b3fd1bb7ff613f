import { constants } from "node:fs";
import {
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { type FileCalls, fileCallsFor, syncFileCalls, writeAll } from "../../../base/local-fs/file-calls.ts";
import type { Folder } from "../../../base/local-fs/folder.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import { randomText } from "../../../base/numbers.ts";
import { stagedPrefix } from "../../path.ts";
import type { RecordOf, StagedFile } from "../../ports.ts";
import { storeRecord } from "./stored-record.ts";

const recordEnding = ".note";

/** RecoveryRecord tells a start after a crash what to do with a staged item. Its field names are the format on the disk. */
interface RecoveryRecord {
  readonly at: string;
  /** Where the item goes back to, unless something else exists there by then. Without it, the item is deleted. */
  readonly home?: string;
  /** Whether an item that does not go back stays where it is. */
  readonly stays?: boolean;
}

/** StagingPath is a free disk path on the file system that it was allocated for. */
interface StagingPath {
  readonly path: string;
  /** To be called when the staged item was moved or deleted; removes its recovery record. */
  done(): Promise<void>;
}

/** DiskStagedFile is an upload in the staging folder. */
export class DiskStagedFile implements StagedFile {
  readonly size: number;
  readonly diskPath: string;
  readonly record: Uint8Array | undefined;
  /** Whether the file has its record as an attribute. */
  isRecorded = false;
  /** Set once the file was renamed into place, so that there is nothing left to delete. */
  isRenamed = false;

  constructor(diskPath: string, size: number, record?: Uint8Array) {
    this.diskPath = diskPath;
    this.size = size;
    this.record = record;
  }

  /** from returns what `Staging.stage` returned. */
  static from(staged: StagedFile): DiskStagedFile {
    if (staged instanceof DiskStagedFile) return staged;
    throw new TypeError("the staged file is of another store");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isRenamed) await rm(this.diskPath, { force: true });
  }
}

interface StageOptions {
  /** Whether the content is on the disk, and not only in its cache, when the promise resolves. */
  readonly sync: boolean;
  readonly calls: FileCalls;
  readonly record?: RecordOf | undefined;
}

interface MoveIntoOptions {
  readonly staged: DiskStagedFile;
  /** Whether a copy is synced. */
  readonly sync: boolean;
  readonly calls: FileCalls;
}

/** Staging is the folder for uploads under way, for copies until they are complete, and for what is being replaced or deleted. */
export class Staging {
  readonly #folder: string;
  /** Of the file system of the staging folder. */
  readonly #calls: FileCalls;
  /** Differs from that of every other process with the same staging folder. */
  readonly #prefix = randomText(16);
  #allocated = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#calls = fileCallsFor(folder);
  }

  /** allocate returns a free path in the staging folder itself. What is left there is deleted by the next start. */
  async allocate(): Promise<string> {
    if ((await statOrUndefined(this.#folder, this.#calls.stat)) === undefined)
      await mkdir(this.#folder, { recursive: true });
    this.#allocated += 1;
    return `${this.#folder}/${this.#prefix}-${this.#allocated}`;
  }

  /** stage writes content to a new file in the staging folder. */
  async stage(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options: StageOptions,
  ): Promise<DiskStagedFile> {
    const diskPath = await this.allocate();
    try {
      let record: Uint8Array | undefined;
      let isRecorded = false;
      const beforeSync = () => {
        record = options.record?.();
        if (record !== undefined) isRecorded = this.record(diskPath, record);
      };
      const size = await fillFile(diskPath, content, { ...options, beforeSync });
      const staged = new DiskStagedFile(diskPath, size, record);
      staged.isRecorded = isRecorded;
      return staged;
    } catch (error) {
      await rm(diskPath, { force: true });
      throw error;
    }
  }

  /** record stores the record of a file in the staging folder, and returns whether that could be done. */
  record(diskPath: string, record: Uint8Array): boolean {
    return this.#calls === syncFileCalls && storeRecord(diskPath, record);
  }

  /**
   * allocateBeside returns a free path on the file system of `parent`, so that a rename into `parent` works. After a crash the
   * item there is moved back to `restoreTo`, a name in `parent`, or deleted without it.
   */
  async allocateBeside(
    parent: Folder,
    { restoreTo }: { readonly restoreTo?: string } = {},
  ): Promise<StagingPath> {
    const own = await this.allocate();
    const [ownStats, parentStats] = await Promise.all([stat(this.#folder), stat(parent.at(""))]);
    const name = `${stagedPrefix}${randomText(16)}`;
    const [path, at] =
      ownStats.dev === parentStats.dev ? [own, own] : [parent.at(name), join(parent.realPath, name)];
    if (at === own && restoreTo === undefined) return { path, done: async () => {} };
    const record: RecoveryRecord =
      restoreTo === undefined ? { at } : { at, home: join(parent.realPath, restoreTo) };
    await writeRecord(own, record);
    return { path, done: () => removeRecord(own) };
  }

  /**
   * noteReplaced prepares that something is moved from a name in `parent` to another place, to stay there: `note` is to be called
   * before, with the disk path of that place. After a crash it is moved back, unless something else has the name by then. `done`
   * is to be called when something has it, or nothing was moved.
   */
  async noteReplaced(
    parent: Folder,
    name: string,
  ): Promise<{ note(at: string): Promise<void>; done(): Promise<void> }> {
    const own = await this.allocate();
    const home = join(parent.realPath, name);
    return {
      note: (at) => writeRecord(own, { at, home, stays: true }),
      done: () => removeRecord(own),
    };
  }

  /** moveInto renames a staged file into a folder. A file cannot be renamed to another file system, so there it is copied first. */
  async moveInto(parent: Folder, name: string, { staged, sync, calls }: MoveIntoOptions): Promise<void> {
    try {
      await calls.rename(staged.diskPath, parent.at(name));
      staged.isRenamed = true;
      return;
    } catch (error) {
      if (codeOf(error) !== "EXDEV") throw error;
    }
    const { path, done } = await this.allocateBeside(parent);
    try {
      // The other file system may store no attributes.
      staged.isRecorded = await copyWithTimes(staged.diskPath, path, { record: staged.record, sync });
      await rename(path, parent.at(name));
    } catch (error) {
      // The copy may not exist: on a read-only file system it could not be created.
      await rm(path, { force: true }).catch(() => {});
      throw error;
    } finally {
      await done();
    }
  }

  /** clear finishes or undoes what a crash interrupted. To be called before any change. Returns what could not be cleared. */
  async clear(): Promise<string[]> {
    const names = await namesIn(this.#folder);
    const remaining: string[] = [];
    // Recovery records first: they name items that must not be deleted.
    for (const name of names.sort((a, b) => Number(isRecord(b)) - Number(isRecord(a)))) {
      const path = join(this.#folder, name);
      try {
        if (isRecord(name)) await recover(path);
        await rm(path, { recursive: true, force: true });
      } catch (error) {
        remaining.push(`${name}: ${messageOf(error)}`);
      }
    }
    return remaining;
  }
}

/** Returns whether the copy has the record as an attribute. */
async function copyWithTimes(
  from: string,
  to: string,
  { record, sync }: { readonly record: Uint8Array | undefined; readonly sync: boolean },
): Promise<boolean> {
  await copyFile(from, to, constants.COPYFILE_EXCL);
  const copy = await open(to, "r");
  try {
    const { atime, mtime } = await stat(from);
    await copy.utimes(atime, mtime);
    const isRecorded = record !== undefined && storeRecord(to, record);
    if (sync) await copy.datasync();
    return isRecorded;
  } finally {
    await copy.close();
  }
}

async function writeRecord(path: string, record: RecoveryRecord): Promise<void> {
  await writeFile(path + recordEnding, JSON.stringify(record));
}

async function removeRecord(path: string): Promise<void> {
  await rm(path + recordEnding, { force: true });
}

function isRecord(name: string): boolean {
  return name.endsWith(recordEnding);
}

async function recover(recordPath: string): Promise<void> {
  const { at, home, stays } = parseRecord(await readFile(recordPath, "utf8"));
  if (at === undefined || (await statOrUndefined(at, lstat)) === undefined) return;
  if (home !== undefined && (await statOrUndefined(home, lstat)) === undefined) await rename(at, home);
  else if (stays !== true) await rm(at, { recursive: true, force: true });
}

/** A record that is incomplete itself was being written before anything was moved, so there is nothing to recover. */
function parseRecord(text: string): Partial<RecoveryRecord> {
  try {
    return JSON.parse(text) as RecoveryRecord;
  } catch {
    return {};
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new Fault("IoError", `${folder} cannot be read: ${messageOf(error)}`);
  }
}

interface FillFileOptions extends StageOptions {
  /** Permission bits of the file; 644 in octal by default. */
  readonly mode?: number;
  /** Called when all content is written. */
  readonly beforeSync?: () => void;
}

/** fillFile writes content to a new file and returns its size. */
export async function fillFile(
  diskPath: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { sync, mode = 0o644, calls, record, beforeSync }: FillFileOptions,
): Promise<number> {
  // One job for a thread of the pool, where a descriptor would take one for each of its calls.
  if (content instanceof Uint8Array && !(sync && record !== undefined)) {
    await writeFile(diskPath, content, { flag: "wx", mode, flush: sync });
    beforeSync?.();
    return content.length;
  }
  const file = await calls.open(diskPath, "wx", mode);
  try {
    let size = 0;
    for await (const chunk of content instanceof Uint8Array ? [content] : content) {
      await writeAll(file, chunk);
      size += chunk.length;
    }
    beforeSync?.();
    if (sync) await file.datasync();
    return size;
  } finally {
    await file.close();
  }
}
