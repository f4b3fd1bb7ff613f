import { constants, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault } from "../base/fault.ts";
import { Folder, heldPlace, isInside } from "../base/folder.ts";
import { randomText } from "../base/random.ts";
import { lookAt, moveInto, openChild, refuseNonFile, writeAll } from "./disk.ts";
import { toTreeFault } from "./disk-faults.ts";
import { sameContent } from "./etag.ts";
import { childPath, splitPath, type TreePath, treeRoot } from "./path.ts";

/** A FIFO must not hold up whoever opens it; what it is gets decided on what was opened. */
const careful = constants.O_RDONLY | constants.O_NONBLOCK;

export interface TreeEntry {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: Stats;
}

/** A file that was found to be regular and inside its bucket, held open. */
export interface OpenFile extends AsyncDisposable {
  readonly handle: FileHandle;
  readonly stats: Stats;
  /** A path to exactly what was opened, whatever happens to its name. */
  readonly heldPath: string;
}

export interface TreeOptions {
  /** The bucket's folder. */
  readonly root: string;
  /** Where uploads grow before they are moved into place; on the same file system. */
  readonly staging: string;
  /** An upload is on the disk before `write` resolves. */
  readonly sync: boolean;
}

/**
 * One bucket's folder: the only code that touches bucket files. Links are followed only as long as they stay inside
 * (proven on what was opened, so a swap changes nothing), are not listed, and are never written through. Sockets,
 * FIFOs and devices do not exist.
 */
export class Tree {
  constructor(private readonly options: TreeOptions) {}

  /** Makes the bucket's folder. */
  async make(): Promise<void> {
    await mkdir(this.options.root, { recursive: true });
  }

  /** What stands at the path, or undefined. The name may be stored in another Unicode form than it is asked for. */
  async find(path: TreePath): Promise<TreeEntry | undefined> {
    const spelled = await this.#spelling(path);
    const stats = await lookAt(this.#diskPath(spelled), stat);
    if (stats === undefined || !(await this.#isInside(spelled))) return undefined;
    return toEntry(spelled, stats);
  }

  /** Whether a path still shows what it showed; undefined for nothing. At once, because it is asked for every request. */
  isUnchanged(path: TreePath, stats: Stats | undefined): boolean {
    const now = statSync(this.#diskPath(path), { throwIfNoEntry: false });
    return now === undefined || stats === undefined ? now === stats : sameContent(now, stats);
  }

  /** Opens a file for reading; NotFound when there is none. */
  async open(path: TreePath): Promise<OpenFile> {
    const entry = await this.find(path);
    if (entry === undefined) throw notFound(path);
    if (entry.kind === "folder")
      throw new Fault("InvalidInput", "the path is a folder, not a file", { path });
    let handle: FileHandle | undefined;
    try {
      handle = await open(this.#diskPath(entry.path), careful);
      const held = await this.#heldPath(handle, entry.path);
      const stats = await handle.stat();
      if (held === undefined || !stats.isFile()) throw notFound(path);
      const kept = handle;
      return { handle, stats, heldPath: held, [Symbol.asyncDispose]: () => kept.close() };
    } catch (error) {
      await handle?.close();
      throw toTreeFault(error, path);
    }
  }

  /** A whole file, if it is no longer than `maxBytes`. */
  async read(path: TreePath, maxBytes: number): Promise<Buffer> {
    await using file = await this.open(path);
    if (file.stats.size > maxBytes) {
      throw new Fault(
        "ResponseTooBig",
        `the file has ${file.stats.size} bytes; by RPC ${maxBytes} can be read (max_response_body_size); use HTTP`,
        {
          limit: maxBytes,
          actual: file.stats.size,
        },
      );
    }
    return await file.handle.readFile();
  }

  /** Puts a file in place whole: a reader, or the next start after a crash, sees the old one or the new one. Parents are made. */
  async write(path: TreePath, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const { folder, name } = splitPath(await this.#writable(path));
    const staged = join(this.options.staging, randomText(16));
    try {
      await this.#stage(staged, content);
      await this.#inFolder(folder, true, async (parent) => {
        await refuseNonFile(parent.at(name), path);
        await moveInto(staged, parent, name);
        if (this.options.sync) await parent.sync();
      });
    } catch (error) {
      throw toTreeFault(error, path);
    } finally {
      await rm(staged, { force: true });
    }
  }

  /** Removes a file; false when there was none. Folders that this leaves empty stay. */
  async remove(path: TreePath): Promise<boolean> {
    const entry = await this.find(path);
    if (entry === undefined) return false;
    if (entry.kind === "folder")
      throw new Fault("InvalidInput", "the path is a folder, not a file", { path });
    const { folder, name } = splitPath(entry.path);
    try {
      await this.#inFolder(folder, false, async (parent) => {
        await rm(parent.at(name));
        if (this.options.sync) await parent.sync();
      });
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw toTreeFault(error, path);
    }
  }

  /** Moves a file inside the bucket, replacing what file stands at `to`. */
  async move(from: TreePath, to: TreePath): Promise<void> {
    const entry = await this.find(from);
    if (entry === undefined) throw notFound(from);
    if (entry.kind === "folder")
      throw new Fault("InvalidInput", "the path is a folder, not a file", { path: from });
    const target = splitPath(await this.#writable(to));
    const source = splitPath(entry.path);
    if (childPath(target.folder, target.name) === entry.path) return;
    try {
      await this.#inFolder(source.folder, false, (fromFolder) =>
        this.#inFolder(target.folder, true, async (toFolder) => {
          await refuseNonFile(toFolder.at(target.name), to);
          await rename(fromFolder.at(source.name), toFolder.at(target.name));
          if (this.options.sync) await Promise.all([fromFolder.sync(), toFolder.sync()]);
        }),
      );
    } catch (error) {
      throw toTreeFault(error, from);
    }
  }

  /** What a folder holds, by name: files and folders, no links, nothing special. */
  async entries(folder: TreePath): Promise<TreeEntry[]> {
    const found = await this.find(folder);
    if (found?.kind !== "folder") throw notFound(folder);
    try {
      const entries = await this.#inFolder(found.path, false, async (held) => {
        const names = await readdir(held.at(""));
        return Promise.all(
          names.map(async (name) => toEntry(childPath(found.path, name), await lookAt(held.at(name), lstat))),
        );
      });
      return entries.filter((entry) => entry !== undefined).sort((x, y) => (x.path < y.path ? -1 : 1));
    } catch (error) {
      throw toTreeFault(error, folder);
    }
  }

  /** Every file below a folder, sorted by path. */
  async files(folder: TreePath): Promise<TreeEntry[]> {
    const files: TreeEntry[] = [];
    const folders = [folder];
    for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
      for (const entry of await this.entries(at)) {
        if (entry.kind === "folder") folders.push(entry.path);
        else files.push(entry);
      }
    }
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #diskPath(path: TreePath): string {
    return join(this.options.root, path);
  }

  /** Second of the two path checks: what was opened lies inside the bucket's real folder. Undefined when it does not. */
  async #heldPath(handle: FileHandle, path: TreePath): Promise<string | undefined> {
    const root = await Folder.open(this.options.root);
    try {
      const held = await heldPlace(handle, this.#diskPath(path));
      return isInside(held.real, root.realPath) ? held.path : undefined;
    } finally {
      await root.close();
    }
  }

  /** Opens a folder of the bucket and proves that it is inside. */
  async #inFolder<T>(path: TreePath, make: boolean, use: (folder: Folder) => Promise<T>): Promise<T> {
    const root = await Folder.open(this.options.root);
    let folder: Folder | undefined;
    try {
      folder = await this.#descend(root, path, make);
      return await use(folder);
    } finally {
      if (folder !== root) await folder?.close();
      await root.close();
    }
  }

  /** One segment after the other, each opened in the one before it: a link that leads out is refused wherever it appears. */
  async #descend(root: Folder, path: TreePath, make: boolean): Promise<Folder> {
    let folder = root;
    try {
      for (const segment of path === treeRoot ? [] : path.split("/")) {
        const next = await openChild(folder, segment, make);
        if (folder !== root) await folder.close();
        folder = next;
        if (!isInside(folder.realPath, root.realPath)) throw notFound(path);
      }
      return folder;
    } catch (error) {
      if (folder !== root) await folder.close();
      throw error;
    }
  }

  async #stage(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    await mkdir(this.options.staging, { recursive: true });
    const file = await open(path, "wx", 0o644);
    try {
      if (content instanceof Uint8Array) await file.writeFile(content);
      else for await (const chunk of content) await writeAll(file, chunk);
      if (this.options.sync) await file.datasync();
    } finally {
      await file.close();
    }
  }

  /** Where a write to `path` goes: to the file that is there in another Unicode form, else to the name as given. */
  async #writable(path: TreePath): Promise<TreePath> {
    return (await this.find(path))?.path ?? path;
  }

  /** The path as given or, where the disk has it otherwise, with each segment in the Unicode form that the disk has. */
  async #spelling(path: TreePath): Promise<TreePath> {
    if (/^[\x20-\x7e]*$/.test(path) || (await lookAt(this.#diskPath(path), stat)) !== undefined) return path;
    let found = treeRoot;
    for (const segment of path.split("/")) {
      const forms = [segment, segment.normalize("NFC"), segment.normalize("NFD")];
      const seen = await Promise.all(
        forms.map((form) => lookAt(this.#diskPath(childPath(found, form)), stat)),
      );
      found = childPath(found, forms[seen.findIndex((stats) => stats !== undefined)] ?? segment);
    }
    return found;
  }

  /** Whether the path, every link in it resolved, stays in the bucket. */
  async #isInside(path: TreePath): Promise<boolean> {
    const [real, root] = await Promise.all([realpath(this.#diskPath(path)), realpath(this.options.root)]);
    return isInside(real, root);
  }
}

function toEntry(path: TreePath, stats: Stats | undefined): TreeEntry | undefined {
  if (stats?.isDirectory()) return { path, kind: "folder", stats };
  return stats?.isFile() ? { path, kind: "file", stats } : undefined;
}

function notFound(path: TreePath): Fault {
  return new Fault("NotFound", "there is no such file in the bucket", { path });
}
