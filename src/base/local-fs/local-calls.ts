import { dlopen, type FFIFunction, type Library, ptr } from "bun:ffi";
import { closeSync, constants, openSync, readlinkSync, type Stats } from "node:fs";
import { readdir } from "node:fs/promises";
import { codeOf } from "../fault.ts";
import { byCodeUnits, Pacer } from "../turns.ts";

// Calls of Linux for a local disk, past Node: it would reach a name in an open folder by a path through `/proc`, which takes three
// times as long, and it has no way to open a path only if no link is in it. A call that fails has no reason here; callers let Node
// repeat it.

/** FolderContent is what a folder contains, by name. */
export type FolderContent = ReadonlyArray<readonly [name: string, state: FileState]>;

/** One call reads so much of a folder: about seven hundred names, in a fraction of a millisecond. */
const entriesBytes = 32 * 1024;
/** Offsets in an entry of `getdents64`: its length, and its name, which ends with a zero byte. */
const [lengthAt, nameAt] = [16, 19];
/** Entries are filled up to a multiple of this many bytes. */
const alignment = 8;
/** Stands in the text of a name for bytes that are not UTF-8; such a text does not lead to the file. */
const replacement = "\ufffd";
/** The longest path that Linux takes, without the zero byte at its end. */
const maxPathBytes = 4095;
/** The most bytes of a character: `write` leaves fewer bytes than this free if a path is too long. */
const maxCharacterBytes = 4;
const currentFolder = -100;
/** For `statx`: look at a link itself; at what is open; and tell what `stat` does and the time of creation. */
const [noFollow, emptyPath, basicAndCreation] = [0x100, 0x1000, 0xfff];
/** Numbers of system calls. C libraries that are in use lack functions for some of them. */
const numbers: Readonly<Record<string, { readonly getdents64: number; readonly statx: number }>> = {
  x64: { getdents64: 217, statx: 332 },
  arm64: { getdents64: 61, statx: 291 },
};
const openat2 = 437;
const closeOnExec = 0x80000;
const noSymlinks = 4;

/** `stateIn` looks at a name in an open folder, or at a link itself. Undefined if Node has to tell, also when it is missing. */
export function stateIn(fd: number, name: string): FileState | undefined {
  return localCalls()?.state(fd, name);
}

/** `stateAt` looks at a path, or at a link at its end. Undefined if Node has to tell, also when it is missing. */
export function stateAt(path: string): FileState | undefined {
  return localCalls()?.state(currentFolder, path);
}

/** `stateOf` looks at an open file or folder. Undefined if Node has to tell. */
export function stateOf(fd: number): FileState | undefined {
  return localCalls()?.stateOfOpen(fd);
}

/**
 * `openWithoutLinks` opens an absolute path in its normal form, and returns the descriptor. Undefined if any part of the path is a
 * link, or it cannot be opened.
 */
export function openWithoutLinks(path: string, flags: number): number | undefined {
  const calls = localCalls();
  return calls?.hasOpenWithoutLinks ? calls.openWithoutLinks(path, flags) : openAndCompare(path, flags);
}

/** `openAndCompare` is `openWithoutLinks` for systems without `openat2`: what was opened tells where it is. */
export function openAndCompare(path: string, flags: number): number | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, flags);
    if (readlinkSync(`/proc/self/fd/${fd}`) === path) return fd;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

/**
 * `contentOf` reads an open folder, sorted by name. Undefined if it has more than `maxNames`, if anything in it has vanished
 * meanwhile, if a name is not UTF-8, or if Node has to tell.
 */
export function contentOf(fd: number, maxNames: number): FolderContent | undefined {
  const calls = localCalls();
  if (calls === undefined) return undefined;
  const found: Array<readonly [name: string, at: number]> = [];
  calls.rewind(fd);
  if (calls.next(fd, (name, at) => found.push([name, at])) === undefined) return undefined;
  // A second part would have taken the memory of the first one.
  if (found.length > maxNames || calls.next(fd, () => {}) !== false) return undefined;
  if (found.some(([name]) => name.includes(replacement))) return undefined;
  found.sort(([a], [b]) => byCodeUnits(a, b));
  const content: Array<readonly [string, FileState]> = [];
  for (const [name, at] of found) {
    const state = calls.stateOfEntry(fd, at);
    if (state === undefined) return undefined;
    content.push([name, state]);
  }
  return content;
}

/**
 * `readNamesInTurns` reads the names in a large folder of a local disk, in no order. Node's `readdir` makes all of them into texts
 * at once, which takes a fiftieth of a second for a hundred thousand; here others get the event loop in between.
 */
export async function readNamesInTurns(path: string): Promise<string[]> {
  const calls = localCalls();
  return (calls && (await namesInTurns(path, calls))) ?? readdir(path);
}

async function namesInTurns(path: string, calls: LocalCalls): Promise<string[] | undefined> {
  const names: string[] = [];
  return (await visitInTurns(path, calls, (name) => names.push(name))) ? names : undefined;
}

/**
 * `visitNamesInTurns` visits the names in a large folder of a local disk, in no order, without keeping them. False if Node has to read them;
 * some may have been visited by then.
 */
export async function visitNamesInTurns(path: string, visit: (name: string) => void): Promise<boolean> {
  const calls = localCalls();
  return calls !== undefined && visitInTurns(path, calls, visit);
}

async function visitInTurns(
  path: string,
  calls: LocalCalls,
  visit: (name: string) => void,
): Promise<boolean> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const pacer = new Pacer();
    let hasMore = calls.next(fd, visit);
    while (hasMore) {
      if (pacer.isDue) await pacer.nextTurn();
      hasMore = calls.next(fd, visit);
    }
    return hasMore !== undefined;
  } finally {
    closeSync(fd);
  }
}

/** `openLibc` opens functions of the C library, glibc or musl; undefined if the system has neither. */
export function openLibc<const S extends Record<string, FFIFunction>>(
  symbols: S,
): Library<S>["symbols"] | undefined {
  for (const name of ["libc.so.6", "libc.so"]) {
    try {
      return dlopen(name, symbols).symbols;
    } catch {
      // Try the other library.
    }
  }
  return undefined;
}

type SystemCalls = NonNullable<ReturnType<typeof openSystemCalls>>;

class LocalCalls {
  readonly #system: SystemCalls;
  // Every call uses the same memory. None of them waits.
  readonly #entries = Buffer.alloc(entriesBytes);
  readonly #entriesAddress = ptr(this.#entries);
  readonly #path = Buffer.alloc(maxPathBytes + 1);
  readonly #pathAddress = ptr(this.#path);
  readonly #result = new StatxBuffer();
  readonly #resultAddress = ptr(this.#result.bytes);
  /** Flags, mode and how to resolve the path. */
  readonly #how = new BigUint64Array([0n, 0n, BigInt(noSymlinks)]);
  readonly #howAddress = ptr(this.#how);
  /** True where the kernel (5.6 and later) and its sandbox have `openat2`. */
  readonly hasOpenWithoutLinks: boolean;

  private constructor(system: SystemCalls) {
    this.#system = system;
    const fd = this.openWithoutLinks("/", constants.O_RDONLY | constants.O_DIRECTORY);
    this.hasOpenWithoutLinks = fd !== undefined;
    if (fd !== undefined) closeSync(fd);
  }

  /** Undefined where the system does not have the calls. */
  static open(): LocalCalls | undefined {
    const system = openSystemCalls();
    return system && new LocalCalls(system);
  }

  /** Reads the next names, as `visit` gets them. Returns false at the end of the folder; undefined after a failure. */
  next(fd: number, visit: (name: string, at: number) => void): boolean | undefined {
    const { syscall, getdents64 } = this.#system;
    const bytes = syscall(getdents64, fd, this.#entriesAddress, entriesBytes, 0, null);
    for (let at = 0; at < bytes; ) {
      const end = at + this.#entries.readUInt16LE(at + lengthAt);
      // The name ends in the last bytes of its entry; what follows it there is undefined.
      let nameEnd = Math.max(at + nameAt, end - alignment);
      while (this.#entries[nameEnd] !== 0) nameEnd += 1;
      const name = this.#entries.toString("utf8", at + nameAt, nameEnd);
      if (name !== "." && name !== "..") visit(name, at);
      at = end;
    }
    return bytes < 0 ? undefined : bytes > 0;
  }

  rewind(fd: number): void {
    this.#system.lseek(fd, 0, 0);
  }

  /** The state of the entry that `next` has visited last with this `at`. */
  stateOfEntry(fd: number, at: number): FileState | undefined {
    return this.#statx(fd, this.#entriesAddress + at + nameAt, noFollow);
  }

  state(fd: number, name: string): FileState | undefined {
    return name !== "" && this.#write(name) ? this.#statx(fd, this.#pathAddress, noFollow) : undefined;
  }

  stateOfOpen(fd: number): FileState | undefined {
    this.#write("");
    return this.#statx(fd, this.#pathAddress, emptyPath);
  }

  openWithoutLinks(path: string, flags: number): number | undefined {
    if (!this.#write(path)) return undefined;
    this.#how[0] = BigInt(flags | closeOnExec);
    const { syscall } = this.#system;
    const size = this.#how.byteLength;
    const fd = syscall(openat2, currentFolder, this.#pathAddress, this.#howAddress, size, null);
    return fd < 0 ? undefined : fd;
  }

  #statx(fd: number, address: number, flags: number): FileState | undefined {
    const { syscall, statx } = this.#system;
    const result = this.#resultAddress;
    const failed = syscall(statx, fd, address as never, flags, basicAndCreation, result) !== 0;
    return failed ? undefined : this.#result.state();
  }

  /** False if the path is too long, or holds a zero character, where the system would take it to end. */
  #write(path: string): boolean {
    const bytes = this.#path.write(path);
    if (bytes > maxPathBytes - maxCharacterBytes || path.includes("\0")) return false;
    this.#path[bytes] = 0;
    return true;
  }
}

function openSystemCalls() {
  const ours = process.platform === "linux" ? numbers[process.arch] : undefined;
  const libc =
    ours &&
    openLibc({
      syscall: { args: ["i64", "i64", "ptr", "i64", "i64", "ptr"], returns: "i32" },
      lseek: { args: ["i32", "i64", "i32"], returns: "i64" },
    });
  return libc && { ...ours, ...libc };
}

/** Null until they are first needed. */
let opened: LocalCalls | undefined | null = null;

function localCalls(): LocalCalls | undefined {
  if (opened === null) opened = LocalCalls.open();
  return opened;
}

/** FileState is what the system tells about a file or folder: the members of Node's `Stats` that buckets need. */
export type FileState = Pick<
  Stats,
  | "dev"
  | "ino"
  | "mode"
  | "size"
  | "blocks"
  | "mtimeMs"
  | "ctimeMs"
  | "atimeMs"
  | "birthtimeMs"
  | "isFile"
  | "isDirectory"
  | "isSymbolicLink"
>;

/** The part of a file's mode that is its type. */
const typeBits = 0o170000;
const [fileType, folderType, linkType] = [0o100000, 0o040000, 0o120000];

/** StatxBuffer is memory for a result of `statx(2)` of Linux, whose layout is the same on every processor. */
class StatxBuffer {
  readonly bytes = Buffer.alloc(256);
  readonly #view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);

  /** The present result, with the numbers that Node has for it. */
  state(): FileState {
    return new StatxState(this.#view);
  }
}

class StatxState implements FileState {
  readonly dev: number;
  readonly ino: number;
  readonly mode: number;
  readonly size: number;
  readonly blocks: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly atimeMs: number;
  readonly birthtimeMs: number;

  constructor(result: DataView) {
    this.mode = result.getUint16(28, true);
    this.ino = numberAt(result, 32);
    this.size = numberAt(result, 40);
    this.blocks = numberAt(result, 48);
    this.atimeMs = timeMsAt(result, 64);
    this.birthtimeMs = timeMsAt(result, 80);
    this.ctimeMs = timeMsAt(result, 96);
    this.mtimeMs = timeMsAt(result, 112);
    this.dev = deviceNumber(result.getUint32(136, true), result.getUint32(140, true));
  }

  isFile(): boolean {
    return (this.mode & typeBits) === fileType;
  }

  isDirectory(): boolean {
    return (this.mode & typeBits) === folderType;
  }

  isSymbolicLink(): boolean {
    return (this.mode & typeBits) === linkType;
  }
}

function numberAt(result: DataView, at: number): number {
  return result.getUint32(at, true) + result.getUint32(at + 4, true) * 2 ** 32;
}

/** Seconds, which are negative before 1970, and nanoseconds. */
function timeMsAt(result: DataView, at: number): number {
  const seconds = result.getUint32(at, true) + result.getInt32(at + 4, true) * 2 ** 32;
  return seconds * 1000 + result.getUint32(at + 8, true) / 1e6;
}

/** As `makedev(3)` puts it together. */
function deviceNumber(major: number, minor: number): number {
  return (minor & 0xff) + (major & 0xfff) * 2 ** 8 + (minor >>> 8) * 2 ** 20 + (major >>> 12) * 2 ** 44;
}
