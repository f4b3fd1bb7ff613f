// This folder has the calls of the file system that need more care than Node's. This file chooses between calls that
// return at once (a local disk) and calls by a thread (a network file system), shares one fsync between callers, and
// locks; local-calls.ts has those that Node lacks or is slow at. folder.ts holds a directory open, so that nobody can
// redirect a path after it was checked. replace-file.ts writes files atomically. access.ts reads files with a time limit,
// says why an account cannot use a path, and gives new files the right owner.

import {
  closeSync,
  fdatasync,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
  utimesSync,
  write,
} from "node:fs";
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
  utimes,
} from "node:fs/promises";
import { dirname } from "node:path";
import { openLibc, readNamesInTurns } from "./local-calls.ts";

type MaybePromise<T> = T | Promise<T>;

/** FileDescriptor is an open file or folder: what this program uses of Node's `FileHandle`. */
export interface FileDescriptor {
  readonly fd: number;
  stat(): MaybePromise<Stats>;
  close(): MaybePromise<void>;
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  /** Reads without a thread. Missing where that may take long, whatever is read. */
  readSync?(buffer: Buffer, offset: number, length: number, position: number): number;
  /** At the current position of the file where `position` is null. */
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ readonly bytesWritten: number }>;
  sync(): Promise<void>;
  datasync(): Promise<void>;
}

/**
 * FileCalls are the calls to a file system that read and change names and attributes, not content. On a local disk they are
 * synchronous: they take about a microsecond, and handing them to a thread takes ten. On any other file system they are
 * asynchronous, because a server that does not answer would stop this one. Callers await both; a failure is thrown either way.
 */
export interface FileCalls {
  stat(path: string): MaybePromise<Stats>;
  lstat(path: string): MaybePromise<Stats>;
  realpath(path: string): MaybePromise<string>;
  readlink(path: string): MaybePromise<string>;
  /** `folderBytes` is the size of the folder itself, which grows with the number of its names. */
  readdir(path: string, folderBytes: number): MaybePromise<string[]>;
  open(path: string, flags: string | number, mode?: number): MaybePromise<FileDescriptor>;
  mkdir(path: string): MaybePromise<void>;
  rename(from: string, to: string): MaybePromise<void>;
  /** Gives a file a second name; a symbolic link is not followed. */
  link(existing: string, name: string): MaybePromise<void>;
  unlink(path: string): MaybePromise<void>;
  utimes(path: string, accessed: Date, modified: Date): MaybePromise<void>;
}

/** LocalFileCalls are those of a local disk: they return their results at once, except for the names in a large folder. */
interface LocalFileCalls extends FileCalls {
  stat(path: string): Stats;
  lstat(path: string): Stats;
  realpath(path: string): string;
  readlink(path: string): string;
  open(path: string, flags: string | number, mode?: number): LocalFile;
}

export const asyncFileCalls: FileCalls = {
  stat: (path) => stat(path),
  lstat: (path) => lstat(path),
  realpath: (path) => realpath(path),
  readlink: (path) => readlink(path),
  readdir: (path) => readdir(path),
  open,
  mkdir: (path) => mkdir(path),
  rename,
  link,
  unlink,
  utimes,
};

/** A larger folder is read in turns: a hundred thousand names take a tenth of a second. */
export const maxFolderBytes = 64 * 1024;

export const syncFileCalls: LocalFileCalls = {
  stat: (path) => statSync(path),
  lstat: (path) => lstatSync(path),
  // Without `.native` Node resolves each part of the path in JavaScript.
  realpath: (path) => realpathSync.native(path),
  readlink: (path) => readlinkSync(path),
  readdir: (path, folderBytes) => (folderBytes > maxFolderBytes ? readNamesInTurns(path) : readdirSync(path)),
  open: (path, flags, mode) => new LocalFile(openSync(path, flags, mode)),
  mkdir: (path) => mkdirSync(path),
  rename: renameSync,
  link: linkSync,
  unlink: unlinkSync,
  utimes: utimesSync,
};

/** Magic numbers of file systems on a disk or in the memory of this machine, as `statfs(2)` reports them. */
const localFileSystems = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
]);

/** `fileCallsFor` chooses by the file system of a path, or of the nearest folder above it that exists. */
export function fileCallsFor(path: string): FileCalls {
  if (process.platform !== "linux") return asyncFileCalls;
  try {
    return localFileSystems.has(statfsSync(path).type) ? syncFileCalls : asyncFileCalls;
  } catch {
    const above = dirname(path);
    return above === path ? asyncFileCalls : fileCallsFor(above);
  }
}

/** LocalFile is an open file on a local disk. Content is read, written and synced by a thread: a disk may take its time. */
export class LocalFile implements FileDescriptor {
  /** -1 once it is closed: the number may belong to another file by then. */
  fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  stat(): Stats {
    return fstatSync(this.fd);
  }

  /** Further calls do nothing. */
  close(): void {
    const { fd } = this;
    this.fd = -1;
    if (fd !== -1) closeSync(fd);
  }

  read(buffer: Buffer, offset: number, length: number, position: number) {
    return new Promise<{ readonly bytesRead: number }>((resolve, reject) => {
      read(this.fd, buffer, offset, length, position, (error, bytesRead) =>
        error ? reject(error) : resolve({ bytesRead }),
      );
    });
  }

  readSync(buffer: Buffer, offset: number, length: number, position: number): number {
    return readSync(this.fd, buffer, offset, length, position);
  }

  write(bytes: Uint8Array, offset: number, length: number, position: number | null) {
    return new Promise<{ readonly bytesWritten: number }>((resolve, reject) => {
      write(this.fd, bytes, offset, length, position, (error, bytesWritten) =>
        error ? reject(error) : resolve({ bytesWritten }),
      );
    });
  }

  sync(): Promise<void> {
    return settled((done) => fsync(this.fd, done));
  }

  datasync(): Promise<void> {
    return settled((done) => fdatasync(this.fd, done));
  }
}

function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
}

/** writeAll writes a whole chunk, at the file's current position or at a given one; `write` may write a part. */
export async function writeAll(file: FileDescriptor, chunk: Uint8Array, position?: number): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const to = position === undefined ? null : position + at;
    at += (await file.write(chunk, at, chunk.length - at, to)).bytesWritten;
  }
}

/**
 * `syncFiles` resolves when files of one file system are on its disk, and not only in its cache. `sync -f` writes the whole file
 * system at once (syncfs), in a process of its own, because the call stops whoever makes it; a thousand files take a thousand
 * times as long one by one, which is what is left where that program is missing or may not be run.
 */
export async function syncFiles(folder: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0 || (await syncFileSystem(folder))) return;
  for (const path of paths) {
    const file = await open(path, "r");
    await file.datasync().finally(() => file.close());
  }
}

async function syncFileSystem(folder: string): Promise<boolean> {
  const program = Bun.which("sync");
  if (program === null) return false;
  try {
    const child = Bun.spawn([program, "-f", folder], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    return (await child.exited) === 0;
  } catch {
    // It may not be run; the files are synced one by one.
    return false;
  }
}

const exclusive = 2;
const withoutWaiting = 4;

/**
 * `tryLock` takes the operating system's lock (flock) on an open file or folder, without waiting. It returns false if another
 * process has it. The lock ends when the descriptor is closed. Where the system has no such lock, it returns true.
 */
export function tryLock(fd: number): boolean {
  const libc = openLibc({ flock: { args: ["i32", "i32"], returns: "i32" } });
  return libc === undefined || libc.flock(fd, exclusive | withoutWaiting) === 0;
}
