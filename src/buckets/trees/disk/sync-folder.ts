import { closeSync, constants, lstatSync } from "node:fs";
import { codeOf } from "../../../base/fault.ts";
import { type FileDescriptor, LocalFile, maxFolderBytes } from "../../../base/local-fs/file-calls.ts";
import { heldPath } from "../../../base/local-fs/folder.ts";
import {
  contentOf,
  type FileState,
  type FolderContent,
  openWithoutLinks,
  stateAt,
  stateIn,
  stateOf,
} from "../../../base/local-fs/local-calls.ts";

// A few calls on a local disk, made without waiting: a promise for each of them would take longer than they do. Every function
// returns undefined for whatever is not as simple, errors included: the code that waits finds them again and reports them.

/** Opens nothing: the descriptor only stands for the path. */
const pathOnly = 0x200000;

/** SyncFolder is a folder on a local disk that is held open, for calls that do not wait. */
export class SyncFolder {
  readonly #handle: LocalFile;

  constructor(handle: LocalFile) {
    this.#handle = handle;
  }

  /** A path that reaches `name` in exactly this folder. */
  at(name: string): string {
    return `${heldPath(this.#handle)}/${name}`;
  }

  /** The state of a name in it; undefined if nothing has it. A link is not followed. */
  lstat(name: string): FileState | undefined {
    return stateIn(this.#handle.fd, name) ?? lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** The state of the folder itself. */
  state(): FileState {
    return stateOf(this.#handle.fd) ?? this.#handle.stat();
  }

  /** The content of a small folder, by name; undefined also if it has more than `maxNames`. */
  content(maxNames: number): FolderContent | undefined {
    return attemptSync(() =>
      this.state().size > maxFolderBytes ? undefined : contentOf(this.#handle.fd, maxNames),
    );
  }
}

/** OpenedFile is a regular file that was opened, and proven to be inside the bucket. */
export interface OpenedFile {
  readonly handle: FileDescriptor;
  /** A path that opens exactly this file. */
  readonly heldPath: string;
  /** With every link resolved. */
  readonly realPath: string;
  readonly stats: FileState;
}

/**
 * inFolderSync opens a folder on a local disk, and closes it after `use`. `realPath` is inside the bucket, and must lead there
 * without a link.
 */
export function inFolderSync<T>(realPath: string, use: (folder: SyncFolder) => T): T | undefined {
  const fd = openWithoutLinks(realPath, constants.O_RDONLY | constants.O_DIRECTORY);
  if (fd === undefined) return undefined;
  const handle = new LocalFile(fd);
  try {
    return use(new SyncFolder(handle));
  } finally {
    handle.close();
  }
}

/** openFileSync opens a file on a local disk, as `inFolderSync` does a folder. */
export function openFileSync(realPath: string, flags: number): OpenedFile | undefined {
  // Devices and FIFOs are not even opened.
  if (!stateAt(realPath)?.isFile()) return undefined;
  const fd = openWithoutLinks(realPath, flags);
  if (fd === undefined) return undefined;
  const handle = new LocalFile(fd);
  const stats = stateOf(fd);
  if (stats?.isFile()) return { handle, heldPath: heldPath(handle), realPath, stats };
  handle.close();
  return undefined;
}

/** statPathSync stats what a path leads to on a local disk, as `inFolderSync` opens it. */
export function statPathSync(realPath: string): FileState | undefined {
  const fd = openWithoutLinks(realPath, pathOnly);
  if (fd === undefined) return undefined;
  const stats = stateOf(fd);
  closeSync(fd);
  return stats;
}

/** attemptSync runs `work`, and returns undefined after an error of the system. */
export function attemptSync<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
