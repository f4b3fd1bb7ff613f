import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { SharedRuns } from "../../../base/concurrency.ts";
import { codeOf } from "../../../base/fault.ts";
import { Folder } from "../../../base/local-fs/folder.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { Pacer, sortInTurns } from "../../../base/turns.ts";
import { parseTreePath, type TreePath, treeRoot, withAncestors } from "../../path.ts";
import type { VersionName, VersionsSize } from "../../ports.ts";
import { fileSizes, removeTreeAt } from "../../trees/disk/remove-tree.ts";
import type { Staging } from "../../trees/disk/staging.ts";

const dayMs = 24 * 3600 * 1000;
/** Begins the folders of versions, by the number of days for which they are kept: `~30`. No part of a bucket's path can begin so. */
const daysPrefix = "~";
/** Versions that are tried before another process is said to take all of them. */
const maxAttempts = 100;

/** TrashItem is what was deleted or replaced in one change of a path. */
interface TrashItem extends TrashName {
  /** The disk path of its first name. */
  readonly topPath: string;
  readonly removedAtMs: number;
  readonly retainedUntilMs: number;
}

/** Retained is something that was put into the trash. */
export interface Retained {
  readonly version: number;
  readonly diskPath: string;
}

/** FoundItem is an item with the path that it had, and what lies there now: a file, a folder or, by another program, anything else. */
export interface FoundItem {
  readonly item: TrashItem;
  readonly path: TreePath;
  readonly diskPath: string;
  readonly stats: Stats;
}

interface BucketTrashOptions {
  /** The disk path of the bucket's trash. */
  readonly folder: string;
  /** The number of days for which the trash retains what is put there from now on. 0 if nothing is put there. */
  readonly days: number;
  readonly sync: boolean;
  readonly staging: Staging;
  /** The clock by which its content expires. */
  readonly clock: Clock;
}

/**
 * BucketTrash is the folder with what was deleted or replaced in one bucket: `~<days>/<version>~<path>`. The names alone say what
 * is kept until when, so one rename or hard link keeps something, and no crash can leave half of it. A version is the time of the
 * change in Unix milliseconds, or one more than that of the change before.
 */
export class BucketTrash {
  readonly #options: BucketTrashOptions;
  readonly #syncs = new SharedRuns();
  #newest: number | undefined;

  constructor(options: BucketTrashOptions) {
    this.#options = options;
  }

  /** isOn returns whether something is retained from now on. */
  get isOn(): boolean {
    return this.#options.days > 0;
  }

  /** The number of days for which the trash retains what is put there from now on. */
  get days(): number {
    return this.#options.days;
  }

  /** now returns the time by which its content expires, in Unix milliseconds. */
  now(): number {
    return this.#options.clock.now();
  }

  /** put makes `move` move or link something into the trash, at a disk path where nothing exists. */
  async put(path: TreePath, move: (diskPath: string) => Promise<void>): Promise<Retained> {
    const { folder, days } = this.#options;
    const daysFolder = join(folder, daysPrefix + days);
    if ((await statOrUndefined(daysFolder, lstat)) === undefined)
      await mkdir(daysFolder, { recursive: true, mode: 0o700 });
    for (let attempt = 1; ; attempt += 1) {
      const version = await this.#nextVersion();
      const names = trashNames({ version, path });
      const diskPath = join(daysFolder, ...names);
      try {
        if (names.length > 1) await mkdir(dirname(diskPath), { recursive: true, mode: 0o700 });
        await move(diskPath);
        await this.#synced(dirname(diskPath));
        return { version, diskPath };
      } catch (error) {
        // Another process that shares the folder took the same version.
        const mayBeTaken = ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(codeOf(error) ?? "");
        const isTaken = mayBeTaken && (await statOrUndefined(diskPath, lstat)) !== undefined;
        if (!isTaken || attempt === maxAttempts) throw error;
      }
    }
  }

  /** items returns everything in the trash, expired or not, the newest first. */
  async items(): Promise<TrashItem[]> {
    const found: TrashItem[] = [];
    const pacer = new Pacer();
    for (const { daysFolder, days } of await this.#daysFolders())
      for (const name of await namesIn(daysFolder)) {
        const parsed = parseTrashName(name);
        if (parsed !== undefined) found.push(itemAt(daysFolder, { ...parsed, name, days }));
        if (pacer.isDue) await pacer.nextTurn();
      }
    return sortInTurns(found, (a, b) => b.version - a.version);
  }

  /** isEmpty returns whether nothing in the trash can be restored. */
  async isEmpty(): Promise<boolean> {
    const now = this.now();
    return (await this.items()).every(({ retainedUntilMs }) => retainedUntilMs < now);
  }

  /** locate reads the path of an item; undefined if it is gone. */
  async locate(item: TrashItem): Promise<FoundItem | undefined> {
    const names: string[] = [];
    let diskPath = item.topPath;
    for (let part = 0; part < item.parts; part += 1) {
      const [name, ...others] = await namesIn(diskPath);
      if (name === undefined || others.length > 0) return undefined;
      names.push(name);
      diskPath = join(diskPath, name);
    }
    const path = item.path ?? joinParts(names);
    const stats = await statOrUndefined(diskPath, lstat);
    return path === undefined || stats === undefined ? undefined : { item, path, diskPath, stats };
  }

  /** measure counts what has not expired. */
  async measure(): Promise<VersionsSize> {
    const now = this.now();
    let [versions, bytes] = [0, 0];
    for (const item of await this.items()) {
      const found = item.retainedUntilMs < now ? undefined : await this.locate(item);
      if (found === undefined) continue;
      versions += 1;
      if (found.stats.isFile()) bytes += found.stats.size;
      if (!found.stats.isDirectory()) continue;
      for await (const { sizes } of fileSizes(found.diskPath)) for (const size of sizes) bytes += size;
    }
    return { versions, bytes };
  }

  /** find returns the item of a version, by its path or that of a folder above it; undefined if there is none, or it has expired. */
  async find({ version, path }: VersionName): Promise<FoundItem | undefined> {
    const daysFolders = await this.#daysFolders();
    for (const top of withAncestors(path).filter((at) => at !== treeRoot))
      for (const { daysFolder, days } of daysFolders) {
        const names = trashNames({ version, path: top });
        const diskPath = join(daysFolder, ...names);
        const stats = await statOrUndefined(diskPath, lstat);
        const parsed = parseTrashName(names[0] ?? "");
        if (stats === undefined || parsed === undefined) continue;
        const item = itemAt(daysFolder, { ...parsed, name: names[0] ?? "", days });
        return item.retainedUntilMs < this.now() ? undefined : { item, path: top, diskPath, stats };
      }
    return undefined;
  }

  /**
   * delete deletes an item for good. It is renamed into staging first, so that nobody restores half of it. Returns whether it was
   * there.
   */
  async delete({ topPath }: TrashItem): Promise<boolean> {
    let at = await this.#options.staging.allocate();
    try {
      await rename(topPath, at);
    } catch (error) {
      if (isAbsence(error)) return false;
      // The trash is on another file system than `static_path`.
      if (codeOf(error) !== "EXDEV") throw error;
      at = topPath;
    }
    const [failure] = await removeTreeAt(dirname(at), basename(at), treeRoot);
    if (failure !== undefined) throw failure.fault;
    return true;
  }

  /** tidy removes what is left of an item after all of it was moved out. */
  async tidy({ item, diskPath }: FoundItem): Promise<void> {
    if (item.topPath !== diskPath) await rm(item.topPath, { recursive: true, force: true });
  }

  async #daysFolders(): Promise<ReadonlyArray<{ readonly daysFolder: string; readonly days: number }>> {
    const { folder } = this.#options;
    return (await namesIn(folder)).flatMap((name) => {
      const [, days] = /^~(\d{1,4})$/.exec(name) ?? [];
      return days === undefined ? [] : [{ daysFolder: join(folder, name), days: Number(days) }];
    });
  }

  /** Returns the next version. It ignores versions whose time is more than a day ahead: they come from a clock that was wrong. */
  async #nextVersion(): Promise<number> {
    const now = this.now();
    if (this.#newest === undefined) {
      const newest = (await this.items()).find(({ version }) => version < now + dayMs)?.version ?? 0;
      this.#newest ??= newest;
    }
    this.#newest = Math.max(this.#newest + 1, now);
    return this.#newest;
  }

  async #synced(folder: string): Promise<void> {
    if (!this.#options.sync) return;
    await this.#syncs.next(folder, async () => {
      const held = await Folder.open(folder);
      try {
        await held.sync();
      } finally {
        await held.close();
      }
    });
  }
}

function itemAt(
  daysFolder: string,
  { name, days, ...parsed }: TrashName & { readonly name: string; readonly days: number },
): TrashItem {
  const removedAtMs = parsed.version;
  return {
    ...parsed,
    topPath: join(daysFolder, name),
    removedAtMs,
    retainedUntilMs: removedAtMs + days * dayMs,
  };
}

/** Nothing for a folder that does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

/** The longest name that Linux file systems have. */
const maxNameBytes = 255;
/** The bytes of a path in each name of several, beside the prefix. */
const maxPartBytes = 250;
/** Begins each further name, so that none is `.` or `..`. */
const partPrefix = "~";

/** TrashName is the first, or only, name under which something lies in the trash. */
interface TrashName {
  readonly version: number;
  /** The path that it had in the bucket; undefined if it is too long for one name. */
  readonly path: TreePath | undefined;
  /** The number of names below this one that have the path; 0 if this one has it. */
  readonly parts: number;
}

/**
 * trashNames returns the names, each in the folder of the one before, under which a version lies in the trash: `<version>~<path>`
 * with every slash of the path as `%2F` and every percent sign as `%25`. A path that is too long for that is divided:
 * `<version>+<number of parts>`, and the parts below it.
 */
function trashNames({ version, path }: VersionName): string[] {
  const text = path.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
  const only = `${version}~${text}`;
  if (Buffer.byteLength(only) <= maxNameBytes) return [only];
  const parts = divided(text).map((part) => partPrefix + part);
  return [`${version}+${parts.length}`, ...parts];
}

/** parseTrashName is undefined for a name that `trashNames` does not make. */
function parseTrashName(name: string): TrashName | undefined {
  const [, digits = "", separator, rest = ""] = /^([1-9]\d*)([~+])(.+)$/s.exec(name) ?? [];
  const version = Number(digits);
  if (separator === undefined || !Number.isSafeInteger(version)) return undefined;
  if (separator === "~") {
    const path = parsePath(rest);
    return path && { version, path, parts: 0 };
  }
  const parts = /^[1-9]\d?$/.test(rest) ? Number(rest) : 0;
  return parts > 1 ? { version, path: undefined, parts } : undefined;
}

/** joinParts returns the path that is divided into these names; undefined if they have none. */
function joinParts(names: readonly string[]): TreePath | undefined {
  if (!names.every((name) => name.startsWith(partPrefix))) return undefined;
  return parsePath(names.map((name) => name.slice(partPrefix.length)).join(""));
}

function parsePath(text: string): TreePath | undefined {
  const path = parseTreePath(text.replace(/%(2F|25)/g, (_, code: string) => (code === "2F" ? "/" : "%")));
  return path === "" ? undefined : path;
}

/** Cut between characters, never within one. */
function divided(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  let bytes = 0;
  for (const character of text) {
    const size = Buffer.byteLength(character);
    if (bytes + size > maxPartBytes) {
      parts.push(part);
      [part, bytes] = ["", 0];
    }
    part += character;
    bytes += size;
  }
  return [...parts, part];
}
