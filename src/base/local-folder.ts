import { ptr } from "bun:ffi";
import { closeSync, constants, openSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { type FileState, StatxBuffer } from "./file-state.ts";
import { openLibc } from "./libc.ts";
import { byCodeUnits } from "./sort-in-turns.ts";
import { Pacer } from "./turns.ts";

/** FolderContent is what a folder contains, by name. */
export type FolderContent = ReadonlyArray<readonly [name: string, state: FileState]>;

/** What one call reads: about seven hundred names, in a fraction of a millisecond. */
const entriesBytes = 32 * 1024;
/** Offsets in an entry of `getdents64`: its length, and its name, which ends with a zero byte. */
const [lengthAt, nameAt] = [16, 19];
/** Entries are filled up to a multiple of this many bytes. */
const alignment = 8;
/** Longer than any name of a file system; a longer one is cut off where it would have been written. */
const maxNameBytes = 1000;
/** What is not UTF-8 in a name is this in its text, which does not lead to the file. */
const replacement = "\ufffd";
/** For `statx`: a link is not followed, and it tells what `stat` does and the time of creation. */
const [noFollow, basicAndCreation] = [0x100, 0xfff];

/**
 * FolderCalls are calls of Linux on an open folder, past Node, which would reach each name by a path through `/proc`: that takes
 * three times as long. A call that fails has no reason here; callers let Node repeat it.
 */
class FolderCalls {
  readonly #libc: NonNullable<ReturnType<typeof openCalls>>;
  // Every call uses the same memory. None of them waits.
  readonly #entries = Buffer.alloc(entriesBytes);
  readonly #entriesAddress = ptr(this.#entries);
  readonly #name = Buffer.alloc(maxNameBytes + 8);
  readonly #nameAddress = ptr(this.#name);
  readonly #result = new StatxBuffer();
  readonly #resultAddress = ptr(this.#result.bytes);

  private constructor(libc: NonNullable<ReturnType<typeof openCalls>>) {
    this.#libc = libc;
  }

  /** Undefined where the system does not have the calls. */
  static open(): FolderCalls | undefined {
    const libc = openCalls();
    return libc && new FolderCalls(libc);
  }

  /** Reads the next names, as `visit` gets them. Returns false at the end of the folder; undefined after a failure. */
  next(fd: number, visit: (name: string, at: number) => void): boolean | undefined {
    const bytes = this.#libc.getdents64(fd, this.#entriesAddress, entriesBytes);
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

  /** The state of the entry that `next` has visited last with this `at`. */
  stateAt(fd: number, at: number): FileState | undefined {
    return this.#statx(fd, this.#entriesAddress + at + nameAt);
  }

  state(fd: number, name: string): FileState | undefined {
    const bytes = this.#name.write(name);
    if (bytes > maxNameBytes) return undefined;
    this.#name[bytes] = 0;
    return this.#statx(fd, this.#nameAddress);
  }

  rewind(fd: number): void {
    this.#libc.lseek(fd, 0, 0);
  }

  #statx(fd: number, nameAddress: number): FileState | undefined {
    const { statx } = this.#libc;
    const failed = statx(fd, nameAddress as never, noFollow, basicAndCreation, this.#resultAddress) !== 0;
    return failed ? undefined : this.#result.state();
  }
}

function openCalls() {
  if (process.platform !== "linux") return undefined;
  return openLibc({
    getdents64: { args: ["i32", "ptr", "u64"], returns: "i32" },
    statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" },
    lseek: { args: ["i32", "i64", "i32"], returns: "i64" },
  });
}

let calls: FolderCalls | undefined | null = null;

function folderCalls(): FolderCalls | undefined {
  if (calls === null) calls = FolderCalls.open();
  return calls;
}

/** `stateIn` looks at a name in an open folder; a link is not followed. Undefined if Node has to tell, also when it is missing. */
export function stateIn(fd: number, name: string): FileState | undefined {
  return folderCalls()?.state(fd, name);
}

/**
 * `contentOf` reads an open folder, sorted by name. Undefined if it has more than `maxNames`, if anything in it has vanished
 * meanwhile, if a name is no UTF-8, or if Node has to tell.
 */
export function contentOf(fd: number, maxNames: number): FolderContent | undefined {
  const calls = folderCalls();
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
    const state = calls.stateAt(fd, at);
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
  const calls = folderCalls();
  return (calls && (await namesInTurns(path, calls))) ?? readdir(path);
}

async function namesInTurns(path: string, calls: FolderCalls): Promise<string[] | undefined> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const names: string[] = [];
    const pacer = new Pacer();
    let hasMore = calls.next(fd, (name) => names.push(name));
    while (hasMore) {
      if (pacer.isDue) await pacer.nextTurn();
      hasMore = calls.next(fd, (name) => names.push(name));
    }
    return hasMore === undefined ? undefined : names;
  } finally {
    closeSync(fd);
  }
}
