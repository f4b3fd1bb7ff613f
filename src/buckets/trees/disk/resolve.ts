import { closeSync, constants, type Dirent, lstatSync, type Stats } from "node:fs";
import { readdir } from "node:fs/promises";
import { sep } from "node:path";
import { codeOf, Fault } from "../../../base/fault.ts";
import {
  asyncFileCalls,
  type FileCalls,
  type FileDescriptor,
  fileCallsFor,
  LocalFile,
  maxFolderBytes,
  syncFileCalls,
} from "../../../base/local-fs/file-calls.ts";
import { Folder, heldPath, isInside, locateHandle } from "../../../base/local-fs/folder.ts";
import {
  contentOf,
  type FileState,
  type FolderContent,
  openWithoutLinks,
  stateAt,
  stateIn,
  stateOf,
} from "../../../base/local-fs/local-calls.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { PerTick } from "../../../base/turns.ts";
import {
  childPath,
  isAscii,
  maxPathBytes,
  parseSegment,
  parseTreePath,
  type Segment,
  segmentsOf,
  splitPath,
  type TreePath,
  treeRoot,
} from "../../path.ts";
import { type FileEntry, folderIsGone, notFound } from "../../ports.ts";

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
class LocalPaths {
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

/** The longest name on Linux file systems. */
const maxNameBytes = 255;
/** Reads of a folder whose tree keeps being exchanged, before it counts as missing. */
const maxAttempts = 20;

/** NameInFolder is a name in a folder of the bucket that is held open. */
export interface NameInFolder {
  readonly parent: Folder;
  readonly name: Segment;
  readonly path: TreePath;
}

interface ResolvedFolder {
  readonly state: "inside" | "outside" | "missing";
  readonly path: TreePath;
}

/** PathResolver maps the paths of one bucket to the disk, and proves that what they lead to is inside the bucket's folder. */
export class PathResolver {
  /** The bucket's folder. */
  readonly root: string;
  /** Of the file system of the bucket's folder. */
  readonly calls: FileCalls;
  /** For calls that do not wait; undefined on any disk but a local one, where such calls could stop the server. */
  readonly local: LocalPaths | undefined;

  constructor(root: string, calls = fileCallsFor(root)) {
    this.root = root;
    this.calls = calls;
    if (this.calls === syncFileCalls) this.local = new LocalPaths(root);
  }

  diskPath(path: TreePath): string {
    // `join` would take a microsecond to normalise what is normal already.
    return path === treeRoot ? this.root : `${this.root}${sep}${path}`;
  }

  /** stat follows links wherever they lead; `contains` has to be asked before its result is used. */
  stat(path: TreePath): Promise<Stats | undefined> {
    return statOrUndefined(this.diskPath(path), this.calls.stat);
  }

  /** matchUnicode returns the path with each name in the Unicode form that exists on the disk: as given, NFC or NFD. */
  async matchUnicode(path: TreePath): Promise<TreePath> {
    if (isAscii(path) || (await this.stat(path)) !== undefined) return path;
    let found = treeRoot;
    const segments = segmentsOf(path);
    for (const [at, segment] of segments.entries()) {
      const existing = await this.#existingForm(found, segment);
      // Nothing exists below a missing folder, so the other forms of the rest need not be tried.
      if (existing === undefined) return segments.slice(at).reduce(childPath, found);
      found = childPath(found, existing);
    }
    return found;
  }

  async #existingForm(folder: TreePath, segment: Segment): Promise<Segment | undefined> {
    const forms = [...new Set([segment, segment.normalize("NFC"), segment.normalize("NFD")])]
      .map(parseSegment)
      .filter((form) => form !== undefined);
    const stats = await Promise.all(forms.map((form) => this.stat(childPath(folder, form))));
    return forms.find((_, at) => stats[at] !== undefined);
  }

  /** resolveFolder resolves the links in a path to a folder. One that is missing or outside the bucket keeps its path. */
  async resolveFolder(folder: TreePath): Promise<ResolvedFolder> {
    if (folder === treeRoot) return { state: "inside", path: folder };
    const root = await this.#realRoot();
    try {
      const real = await this.calls.realpath(this.diskPath(folder));
      if (!isInside(real, root)) return { state: "outside", path: folder };
      const inside = parseTreePath(real.slice(root.length + 1).replaceAll(sep, "/"));
      // A folder that no path can name is only reached through the link.
      return { state: "inside", path: inside ?? folder };
    } catch (error) {
      if (isAbsence(error)) return { state: "missing", path: folder };
      throw error;
    }
  }

  /** assertFits throws InvalidInput for a path that the disk could not store. To be called before anything is created for it. */
  assertFits(path: TreePath): void {
    const tooLong =
      segmentsOf(path).some((name) => Buffer.byteLength(name) > maxNameBytes) ||
      Buffer.byteLength(this.diskPath(path)) > maxPathBytes;
    if (tooLong)
      throw new Fault("InvalidInput", "the path, or a name in it, is too long for the disk", {
        path,
        reason: "name_too_long",
      });
  }

  /** contains returns whether the path, with every link in it resolved, is inside the bucket. */
  async contains(path: TreePath): Promise<boolean> {
    const real = await this.calls.realpath(this.diskPath(path));
    return isInside(real, await this.#real());
  }

  /** leadsTo returns whether a path leads to this file or folder now, wherever that is. */
  async leadsTo(path: TreePath, { dev, ino }: Pick<Stats, "dev" | "ino">): Promise<boolean> {
    const now = await this.stat(path);
    return now?.dev === dev && now.ino === ino;
  }

  /**
   * verifyHandle is the second of the two path checks. It returns where an open file really is; undefined when that is outside
   * the bucket.
   */
  async verifyHandle(handle: FileDescriptor, path: TreePath) {
    const held = await locateHandle(handle, this.diskPath(path), this.calls);
    return isInside(held.real, await this.#real()) ? held : undefined;
  }

  /** inFolder opens a folder of the bucket, proves that it is inside, and closes it after `use`. NotFound when it is outside. */
  async inFolder<T>(
    path: TreePath,
    options: { readonly create: boolean },
    use: (folder: Folder) => Promise<T>,
  ): Promise<T> {
    const folder = await this.#open(path).catch((error: unknown) => {
      if (!options.create || codeOf(error) !== "ENOENT") throw error;
      return this.#create(path);
    });
    try {
      return await use(folder);
    } finally {
      await folder.close();
    }
  }

  async #open(path: TreePath): Promise<Folder> {
    const root = await this.#realRoot();
    for (let attempt = 1; ; attempt += 1) {
      const folder = await Folder.open(this.diskPath(path), this.calls);
      if (isInside(folder.realPath, root)) return folder;
      const identity = await folder.identity();
      await folder.close();
      // If the path leads elsewhere by now, the whole tree was exchanged meanwhile.
      if (attempt === maxAttempts || (await this.leadsTo(path, identity))) throw notFound(path);
    }
  }

  /** Opens one segment after the other, each in the folder before it, so that nothing is created outside. */
  async #create(path: TreePath): Promise<Folder> {
    const root = await this.#realRoot();
    let folder = await Folder.open(root, this.calls);
    try {
      for (const segment of segmentsOf(path)) {
        const next = await openOrCreate(folder, segment, this.calls);
        await folder.close();
        folder = next;
        if (!isInside(folder.realPath, root)) throw notFound(path);
      }
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  #real(): string | Promise<string> {
    return this.local?.realRoot ?? this.calls.realpath(this.root);
  }

  async #realRoot(): Promise<string> {
    try {
      return await this.#real();
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? folderIsGone() : error;
    }
  }
}

/**
 * openBelow opens a folder below another one, whose path has no links: each segment in the one before it, by `open`. Without that, a
 * link fails with ELOOP or ENOTDIR.
 */
export async function openBelow(
  root: string,
  segments: readonly string[],
  open = (above: Folder, segment: string) => above.openChild(segment),
): Promise<Folder> {
  let folder = await Folder.open(root);
  for (const segment of segments) {
    const above = folder;
    try {
      folder = await open(above, segment);
    } finally {
      await above.close();
    }
  }
  return folder;
}

/** openOrCreate opens a folder in a folder; it follows links, so the caller has to check where the result is. */
export async function openOrCreate(folder: Folder, name: string, calls = asyncFileCalls): Promise<Folder> {
  try {
    return await Folder.open(folder.at(name), calls);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  try {
    await calls.mkdir(folder.at(name));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  await folder.sync();
  return Folder.open(folder.at(name), calls);
}

/**
 * refuseTooDeep throws InvalidInput if a tree, put at any of these disk paths, would contain a path above the limit of the disk: what is
 * at its end could be neither reached nor listed.
 */
export async function refuseTooDeep(
  paths: PathResolver,
  entry: FileEntry,
  targets: readonly string[],
): Promise<void> {
  if (entry.kind === "file") return;
  const from = paths.diskPath(entry.path);
  const targetBytes = Math.max(...targets.map((target) => Buffer.byteLength(target)));
  if (targetBytes + 1 + (await longestPathBelow(from)) > maxPathBytes)
    throw new Fault(
      "InvalidInput",
      `the folder is too deep for this path: the longest path in it would be above ${maxPathBytes} bytes; choose a shorter path`,
      { path: entry.path, reason: "too_deep" },
    );
}

/**
 * longestPathBelow returns the length in bytes of the longest path below a folder, relative to it; Infinity when one is above the limit
 * already. Links are not followed, and the content of folders that cannot be read is ignored.
 */
async function longestPathBelow(diskPath: string): Promise<number> {
  let maxBytes = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let entries: Dirent[];
    try {
      entries = await readdir(diskPath + folder, { withFileTypes: true });
    } catch (error) {
      if (codeOf(error) === "ENAMETOOLONG") return Number.POSITIVE_INFINITY;
      if (!["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) throw error;
      continue;
    }
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      maxBytes = Math.max(maxBytes, Buffer.byteLength(path) - 1);
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return maxBytes;
}
