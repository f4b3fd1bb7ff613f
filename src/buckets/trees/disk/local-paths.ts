import { closeSync, constants, lstatSync } from "node:fs";
import { sep } from "node:path";
import { codeOf } from "../../../base/fault.ts";
import {
  type FileDescriptor,
  LocalFile,
  maxFolderBytes,
  syncFileCalls,
} from "../../../base/local-fs/file-calls.ts";
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
import { PerTick } from "../../../base/turns.ts";
import { isAscii, splitPath, type TreePath, treeRoot } from "../../path.ts";

/** Opens nothing: the descriptor only stands for the path. */
const pathOnly = 0x200000;

/** StatsWithParent is what `LocalPaths.statWithParent` found. */
interface StatsWithParent {
  /** Undefined if nothing exists at the path. */
  readonly own: FileState | undefined;
  readonly folder: FileState;
}

/**
 * LocalPaths reads the paths of one bucket on a local disk without waiting: a promise for each call would take longer than the calls
 * do. Every method returns undefined for whatever is not as simple: a link or another Unicode form in the path, a large folder, and
 * errors. The code that waits finds those again and reports them.
 */
export class LocalPaths {
  readonly #realRoot: PerTick<string>;

  constructor(root: string) {
    this.#realRoot = new PerTick(() => syncFileCalls.realpath(root));
  }

  /** The real path of the bucket's folder. Throws the system's error. */
  get realRoot(): string {
    return this.#realRoot.get();
  }

  /** stat returns the state of a path; undefined also if nothing is there. */
  stat(path: TreePath): FileState | undefined {
    const fd = this.#open(path, pathOnly);
    if (fd === undefined) return undefined;
    const state = stateOf(fd);
    closeSync(fd);
    return state;
  }

  /** statWithParent returns the state of a path below the root, and that of the folder above it. */
  statWithParent(path: TreePath): StatsWithParent | undefined {
    const { folder, name } = splitPath(path);
    if (!isAscii(name)) return undefined;
    return this.inFolder(folder, (held) =>
      attemptSync(() => {
        const own = held.lstat(name);
        return own?.isSymbolicLink() ? undefined : { own, folder: held.state() };
      }),
    );
  }

  /** open opens a regular file. */
  open(path: TreePath, flags: number): OpenedFile | undefined {
    const realPath = this.#realPath(path);
    // Devices and FIFOs are not even opened.
    if (realPath === undefined || !stateAt(realPath)?.isFile()) return undefined;
    const fd = openWithoutLinks(realPath, flags);
    if (fd === undefined) return undefined;
    const handle = new LocalFile(fd);
    const stats = stateOf(fd);
    if (stats?.isFile()) return { handle, heldPath: heldPath(handle), realPath, stats };
    handle.close();
    return undefined;
  }

  /** readFolder returns the content of a small folder, by name; undefined also if it has more than `maxNames`. */
  readFolder(folder: TreePath, maxNames: number): FolderContent | undefined {
    return this.inFolder(folder, (held) => held.content(maxNames));
  }

  /** inFolder opens a folder, and closes it after `use`. */
  inFolder<T>(folder: TreePath, use: (held: LocalFolder) => T): T | undefined {
    const fd = this.#open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    if (fd === undefined) return undefined;
    const handle = new LocalFile(fd);
    try {
      return use(new LocalFolder(handle));
    } finally {
      handle.close();
    }
  }

  #open(path: TreePath, flags: number): number | undefined {
    const realPath = this.#realPath(path);
    return realPath === undefined ? undefined : openWithoutLinks(realPath, flags);
  }

  /** The real path if no link is in it. Only a path in ASCII is sure to be in the Unicode form that exists there. */
  #realPath(path: TreePath): string | undefined {
    if (!isAscii(path)) return undefined;
    return attemptSync(() => (path === treeRoot ? this.realRoot : `${this.realRoot}${sep}${path}`));
  }
}

/** LocalFolder is a folder on a local disk that is held open, for calls that do not wait. */
class LocalFolder {
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

/** attemptSync runs `work`, and returns undefined after an error of the system. */
export function attemptSync<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
