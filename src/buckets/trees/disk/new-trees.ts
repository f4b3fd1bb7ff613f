import { chmod, lchown, lstat, mkdir, open, realpath, rename, rm, utimes } from "node:fs/promises";
import { codeOf, Fault } from "../../../base/fault.ts";
import { inheritedOwner, makeFolder, type Owner } from "../../../base/local-fs/access.ts";
import { asyncFileCalls, fileCallsFor, syncFileCalls } from "../../../base/local-fs/file-calls.ts";
import { exchangeFolders, type Folder } from "../../../base/local-fs/folder.ts";
import { openLibc } from "../../../base/local-fs/local-calls.ts";
import { randomText } from "../../../base/numbers.ts";
import { stagedPrefix, type TreePath, treeRoot } from "../../path.ts";
import type { NewEntry, NewTrees } from "../../ports.ts";
import { openBelow } from "./resolve.ts";
import { fillFile } from "./staging.ts";
import { storeRecord } from "./stored-record.ts";

/**
 * NewDiskTrees are folders beside those of their buckets. As root, a tree gets the owner of the folder that it replaces, or of the one
 * above. A kill at any moment leaves each bucket with one whole tree in its place, and the other one beside it.
 */
export class NewDiskTrees implements NewTrees {
  readonly #path: string;
  #realPath: string | undefined;
  readonly #trees = new Map<string, NewDiskTree>();

  /** `staticPath` is created if it is missing. */
  constructor(staticPath: string) {
    this.#path = staticPath;
  }

  async add(
    { bucket, path }: { readonly bucket: string; readonly path: TreePath },
    entry: NewEntry,
  ): Promise<void> {
    let tree = this.#trees.get(bucket);
    if (tree === undefined) {
      tree = new NewDiskTree(await this.#openParent(bucket), bucket);
      this.#trees.set(bucket, tree);
      await tree.create();
    }
    if (entry.kind === "folder") await tree.addFolder(path, entry);
    else await tree.addFile(path, entry);
  }

  async complete(): Promise<void> {
    for (const tree of this.#trees.values()) await tree.complete();
    await this.#sync();
  }

  async install(): Promise<void> {
    for (const tree of this.#trees.values()) await tree.install();
  }

  async undo(): Promise<void> {
    for (const tree of [...this.#trees.values()].reverse()) await tree.undo();
    await this.#close();
  }

  async finish(): Promise<string[]> {
    await this.#sync();
    const remains: string[] = [];
    for (const tree of this.#trees.values()) {
      try {
        await tree.remove();
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        remains.push(tree.realPath);
      }
    }
    await this.#close();
    return remains;
  }

  /** Opens the folder above a bucket's, and creates what is missing of it. No part of it may be a link. */
  async #openParent(path: string): Promise<Folder> {
    if (this.#realPath === undefined) {
      makeFolder(this.#path);
      this.#realPath = await realpath(this.#path);
    }
    try {
      return await openBelow(this.#realPath, path.split("/").slice(0, -1), openOrCreate);
    } catch (error) {
      if (codeOf(error) !== "ELOOP" && codeOf(error) !== "ENOTDIR") throw error;
      throw new Fault(
        "IoError",
        `the path ${path} of a bucket leads through a link or a file in ${this.#realPath}; remove it first`,
      );
    }
  }

  /** One call for the whole file system: syncing file by file takes milliseconds for each. */
  async #sync(): Promise<void> {
    if (this.#realPath === undefined) return;
    const libc = openLibc({ syncfs: { args: ["int"], returns: "int" } });
    await using folder = await open(this.#realPath, "r");
    libc?.syncfs(folder.fd);
  }

  async #close(): Promise<void> {
    for (const tree of this.#trees.values()) await tree.close();
  }
}

async function openOrCreate(above: Folder, segment: string): Promise<Folder> {
  try {
    const owner = inheritedOwner(above.at(""));
    await mkdir(above.at(segment));
    if (owner !== undefined) await lchown(above.at(segment), owner.uid, owner.gid);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return above.openChild(segment);
}

/** Errors of rename for a folder that is a mount point, or on another file system. */
const mountErrors = new Set(["EXDEV", "EBUSY"]);

/**
 * NewDiskTree is a new folder beside that of its bucket, until they exchange their names. It has a random name and contains only what
 * this process creates, so no path in it leads through a link.
 */
class NewDiskTree {
  readonly #bucket: string;
  readonly #parent: Folder;
  /** The name of the bucket's folder, and the other one. */
  readonly #name: string;
  readonly #beside = `${stagedPrefix}restore-${randomText(16)}`;
  readonly #owner: Owner | undefined;
  /** Folders whose mode and times are set once everything is in them. */
  readonly #folders: { readonly path: TreePath; readonly entry: NewEntry }[] = [];
  /** What was done to the bucket's folder. */
  #done: "nothing" | "exchanged" | "created" = "nothing";

  /** `parent` is the folder above the bucket's, and is closed with this. `bucket` is the bucket's path below `static_path`. */
  constructor(parent: Folder, bucket: string) {
    this.#parent = parent;
    this.#bucket = bucket;
    this.#name = bucket.slice(bucket.lastIndexOf("/") + 1);
    this.#owner = inheritedOwner(parent.at(this.#name));
  }

  /** Creates the new folder. Only this user may enter it until it is complete. */
  async create(): Promise<void> {
    await mkdir(this.#at(treeRoot), { mode: 0o700 });
  }

  async addFolder(path: TreePath, entry: NewEntry): Promise<void> {
    if (path !== treeRoot) await mkdir(this.#at(path), { mode: 0o700 });
    this.#folders.push({ path, entry });
  }

  async addFile(path: TreePath, entry: NewEntry): Promise<void> {
    await fillFile(this.#at(path), entry.content(), { sync: false, mode: 0o600, calls: asyncFileCalls });
    await this.#setAttributes(path, entry, 0o600);
  }

  /** Sets the attributes of the folders, the deepest first, because a change in a folder changes its time. */
  async complete(): Promise<void> {
    for (const { path, entry } of this.#folders.reverse()) await this.#setAttributes(path, entry, 0o700);
  }

  async install(): Promise<void> {
    try {
      this.#exchangeNames();
      this.#done = "exchanged";
    } catch (error) {
      if (mountErrors.has(codeOf(error) ?? "")) throw isMounted(this.#bucket);
      if (codeOf(error) !== "ENOENT") throw error;
      await rename(this.#at(treeRoot), this.#parent.at(this.#name));
      this.#done = "created";
    }
  }

  #exchangeNames(): void {
    const beside = this.#at(treeRoot);
    exchangeFolders(this.#parent.at(this.#name), beside, `${beside}.aside`);
  }

  async undo(): Promise<void> {
    if (this.#done === "exchanged") this.#exchangeNames();
    if (this.#done === "created") await rename(this.#parent.at(this.#name), this.#at(treeRoot));
    await this.remove();
  }

  /** realPath returns the path of the folder that is not in the place of the bucket. */
  get realPath(): string {
    return `${this.#parent.realPath}/${this.#beside}`;
  }

  /** Removes the folder that is not in the place of the bucket. */
  async remove(): Promise<void> {
    await rm(this.#at(treeRoot), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#parent.close();
  }

  #at(path: TreePath): string {
    const root = this.#parent.at(this.#beside);
    return path === treeRoot ? root : `${root}/${path}`;
  }

  async #setAttributes(path: TreePath, { mode, modifiedMs, record }: NewEntry, least: number): Promise<void> {
    const at = this.#at(path);
    if (this.#owner !== undefined) {
      const { uid, gid } = await lstat(at);
      if (uid !== this.#owner.uid || gid !== this.#owner.gid)
        await lchown(at, this.#owner.uid, this.#owner.gid);
    }
    await chmod(at, (mode & 0o777) | least);
    await utimes(at, modifiedMs / 1000, modifiedMs / 1000);
    // Without attributes it is lost, as for a copy by another program.
    if (record !== undefined && fileCallsFor(this.#parent.realPath) === syncFileCalls)
      storeRecord(at, record);
  }
}

function isMounted(bucket: string): Fault {
  return new Fault(
    "IoError",
    `the folder of the bucket ${bucket} is a mount point, which cannot be replaced; restore with --no-files, and unpack its files with tar`,
  );
}
