import { ptr } from "bun:ffi";
import { constants, lstatSync, renameSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { byCodePoints } from "../turns.ts";
import {
  asyncFileCalls,
  type FileCalls,
  type FileDescriptor,
  maxFolderBytes,
  syncFileCalls,
  tryLock,
} from "./file-calls.ts";
import { type FileState, openLibc, stateIn, visitNamesInTurns } from "./local-calls.ts";

/** FolderIdentity identifies a folder whichever path leads to it. */
export interface FolderIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * Folder is a directory held open. On Linux the names in it are reached through the open descriptor, so that nobody can redirect
 * them by replacing a folder above it with a link after it was checked.
 */
export class Folder {
  readonly #handle: FileDescriptor;
  readonly #base: string;
  readonly #calls: FileCalls;
  /** The path with every link resolved, as it was when the folder was opened. */
  readonly realPath: string;

  private constructor(handle: FileDescriptor, { real, path }: HandleLocation, calls: FileCalls) {
    this.#handle = handle;
    this.realPath = real;
    this.#base = path;
    this.#calls = calls;
  }

  static async open(path: string, calls = asyncFileCalls): Promise<Folder> {
    const handle = await calls.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return new Folder(handle, await locateHandle(handle, path, calls), calls);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns a path that reaches `name` in this folder. */
  at(name: string): string {
    return name === "" ? this.#base : `${this.#base}${sep}${name}`;
  }

  /** Returns the path that the folder has now, with every link resolved: another one if it was renamed. */
  async presentPath(): Promise<string> {
    return process.platform === "linux" ? this.#calls.readlink(heldPath(this.#handle)) : this.realPath;
  }

  /** Returns the names in this folder, in no order. */
  async names(): Promise<string[]> {
    const { size } = await this.#handle.stat();
    return this.#calls.readdir(this.#base, size);
  }

  /**
   * firstNames returns the first names behind another one, sorted by their bytes, and whether that is the rest of the folder. In memory are
   * about twice as many, however large the folder is.
   */
  async firstNames(
    after: string,
    max: number,
  ): Promise<{ readonly names: string[]; readonly isRest: boolean }> {
    let names: string[] = [];
    let isRest = true;
    let bound: string | undefined;
    // Units from surrogates on sort otherwise than their characters; the system sorts texts without them ten times as fast.
    let hasSurrogates = false;
    const cut = () => {
      if (hasSurrogates) names.sort(byCodePoints);
      else names.sort();
      if (names.length <= max) return;
      names.length = max;
      bound = names[max - 1];
      isRest = false;
    };
    const visit = (name: string) => {
      if (byCodePoints(name, after) <= 0) return;
      if (bound !== undefined && byCodePoints(name, bound) > 0) return;
      names.push(name);
      hasSurrogates ||= /[\ud800-\uffff]/.test(name);
      if (names.length >= 2 * max) cut();
    };
    const { size } = await this.#handle.stat();
    const isLarge = size > maxFolderBytes && this.#calls === syncFileCalls;
    if (!isLarge || !(await visitNamesInTurns(this.#base, visit))) {
      [names, bound, isRest] = [[], undefined, true];
      for (const name of await this.#calls.readdir(this.#base, size)) visit(name);
    }
    cut();
    return { names, isRest };
  }

  /** The state of a name in this folder, at once; undefined if nothing has it. A link is not followed. */
  lstatSync(name: string): FileState | undefined {
    return stateIn(this.#handle.fd, name) ?? lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** Takes the system's lock on this folder until it is closed; false if somebody else has it. */
  tryLock(): boolean {
    return tryLock(this.#handle.fd);
  }

  async identity(): Promise<FolderIdentity> {
    const { dev, ino } = await this.#handle.stat();
    return { dev, ino };
  }

  /**
   * Opens the folder `name` in this one; a link fails with ELOOP or ENOTDIR. There is no limit on the length of the path from the
   * root.
   */
  async openChild(name: string): Promise<Folder> {
    return this.#held(this.at(name), join(this.realPath, name));
  }

  /** Opens the folder above this one. Fails with ENOENT if it is not `expected` any more. */
  async openParent(expected: FolderIdentity): Promise<Folder> {
    const parent = await this.#held(`${this.#base}${sep}..`, dirname(this.realPath));
    const { dev, ino } = await parent.identity();
    if (dev === expected.dev && ino === expected.ino) return parent;
    await parent.close();
    throw Object.assign(new Error("the folder was moved while it was removed"), { code: "ENOENT" });
  }

  /** Opens a folder whose path the caller knows: the system cannot report one above its length limit. */
  async #held(path: string, real: string): Promise<Folder> {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const handle = await this.#calls.open(path, flags);
    const base = process.platform === "linux" ? heldPath(handle) : real;
    return new Folder(handle, { real, path: base }, this.#calls);
  }

  /** Makes created, renamed and removed names durable. */
  sync(): Promise<void> {
    return this.#handle.sync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

interface HandleLocation {
  readonly real: string;
  readonly path: string;
}

/** `locateHandle` returns the real path of an open file or folder, and a path that opens exactly the same one. */
export async function locateHandle(
  handle: FileDescriptor,
  path: string,
  calls: FileCalls,
): Promise<HandleLocation> {
  if (process.platform === "linux") {
    const held = heldPath(handle);
    return { real: await calls.readlink(held), path: held };
  }
  const real = await calls.realpath(path);
  return { real, path: real };
}

/** `heldPath` returns a path that opens exactly what is open already. On Linux only. */
export function heldPath({ fd }: FileDescriptor): string {
  return `/proc/self/fd/${fd}`;
}

/** `isInside` returns whether the real path `real` is `folder` or below it. */
export function isInside(real: string, folder: string): boolean {
  return real === folder || real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Numbers of the system call renameat2 of Linux. */
const renameat2 = { x64: 316, arm64: 276 } as Readonly<Record<string, number>>;
const currentFolder = -100;
const exchangeFlag = 2;

/** FolderExchange exchanges the names of two folders, as `exchangeFolders` does. */
export type FolderExchange = (first: string, second: string, temporary: string) => void;

/**
 * `exchangeFolders` exchanges the names of two folders of one file system. On Linux that is one step for everybody who looks
 * (`RENAME_EXCHANGE`). Where the system or the file system cannot do that, `temporary`, a free name on the same file system, takes
 * the first one for a moment: then this process serves nobody meanwhile, but others may find no folder at the first name, and
 * after a crash it may be at `temporary`. Throws as `rename` does; both folders have their old names then.
 */
export function exchangeFolders(first: string, second: string, temporary: string): void {
  if (!exchangeAtOnce(first, second)) exchangeInSteps({ first, second, temporary, rename: renameSync });
}

interface StepsOptions {
  readonly first: string;
  readonly second: string;
  readonly temporary: string;
  readonly rename: (from: string, to: string) => void;
}

/** `exchangeInSteps` exchanges two folders by three renames, for systems that cannot do it at once. */
export function exchangeInSteps({ first, second, temporary, rename }: StepsOptions): void {
  rename(first, temporary);
  try {
    rename(second, first);
  } catch (error) {
    rename(temporary, first);
    throw error;
  }
  rename(temporary, second);
}

function exchangeAtOnce(first: string, second: string): boolean {
  const number = process.platform === "linux" ? renameat2[process.arch] : undefined;
  if (number === undefined) return false;
  const libc = openLibc({
    syscall: { args: ["i64", "i64", "ptr", "i64", "ptr", "i64"], returns: "i64" },
  });
  if (libc === undefined) return false;
  // The names must stay in memory during the call.
  const names = [first, second].map((path) => Buffer.from(`${path}\0`));
  const [from, to] = names.map((name) => ptr(name));
  if (from === undefined || to === undefined) return false;
  return Number(libc.syscall(number, currentFolder, from, currentFolder, to, exchangeFlag)) === 0;
}
