import { constants } from "node:fs";
import { chmod, lchown, lstat, mkdir, open, realpath, rename, rm, utimes } from "node:fs/promises";
import { codeOf, Fault } from "../base/fault.ts";
import { inheritedOwner, makeFolder, type Owner } from "../base/local-fs/access.ts";
import { Folder } from "../base/local-fs/folder.ts";
import { openLibc } from "../base/local-fs/local-calls.ts";
import { randomText } from "../base/random.ts";
import { stagedPrefix, type TreePath, treeRoot } from "../buckets/path.ts";
import type { BucketPath } from "./manifest.ts";
import type { TarMember } from "./tar.ts";

/**
 * StagedBuckets are the buckets of a backup on their way to the disk. Nobody sees a change before `switchOver`; what was there is
 * kept until `finish`.
 */
export class StagedBuckets {
  readonly #staticPath: string;
  readonly #buckets = new Map<string, StagedBucket>();

  private constructor(staticPath: string) {
    this.#staticPath = staticPath;
  }

  /** Creates `staticPath` if it is missing. As root, a bucket gets the owner of the folder that it replaces, or of the one above. */
  static async open(staticPath: string): Promise<StagedBuckets> {
    makeFolder(staticPath);
    return new StagedBuckets(await realpath(staticPath));
  }

  async add({ bucket: path, path: inside }: BucketPath, member: TarMember): Promise<void> {
    let bucket = this.#buckets.get(path);
    if (bucket === undefined) {
      bucket = new StagedBucket(await this.#openParent(path), path);
      this.#buckets.set(path, bucket);
      await bucket.create();
    }
    if (member.kind === "folder") await bucket.addFolder(inside, member);
    else await bucket.addFile(inside, member);
  }

  /** Puts all buckets in their places. If one fails, `undo` restores the others. */
  async switchOver(): Promise<void> {
    for (const bucket of this.#buckets.values()) await bucket.complete();
    await this.#sync();
    for (const bucket of this.#buckets.values()) await bucket.switchOver();
  }

  async undo(): Promise<void> {
    for (const bucket of [...this.#buckets.values()].reverse()) await bucket.undo();
    await this.#close();
  }

  /** Removes what was replaced; returns the folders that could not be removed. */
  async finish(): Promise<string[]> {
    await this.#sync();
    const remains: string[] = [];
    for (const bucket of this.#buckets.values()) {
      try {
        await bucket.removeOld();
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        remains.push(bucket.oldPath);
      }
    }
    await this.#close();
    return remains;
  }

  /** Opens the folder above a bucket's. Each segment is opened in the one before it, and must not be a link. */
  async #openParent(path: string): Promise<Folder> {
    let folder = await Folder.open(this.#staticPath);
    for (const segment of path.split("/").slice(0, -1)) {
      const above = folder;
      try {
        folder = await this.#openOrCreate(above, segment);
      } catch (error) {
        if (codeOf(error) !== "ELOOP" && codeOf(error) !== "ENOTDIR") throw error;
        throw new Fault(
          "IoError",
          `the path ${path} of a bucket leads through a link or a file in ${this.#staticPath}; remove it first`,
        );
      } finally {
        await above.close();
      }
    }
    return folder;
  }

  async #openOrCreate(above: Folder, segment: string): Promise<Folder> {
    try {
      const owner = inheritedOwner(above.at(""));
      await mkdir(above.at(segment));
      if (owner !== undefined) await lchown(above.at(segment), owner.uid, owner.gid);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    return above.openChild(segment);
  }

  /** One call for the whole file system: syncing file by file takes milliseconds for each. */
  async #sync(): Promise<void> {
    const libc = openLibc({ syncfs: { args: ["int"], returns: "int" } });
    await using folder = await open(this.#staticPath, "r");
    libc?.syncfs(folder.fd);
  }

  async #close(): Promise<void> {
    for (const bucket of this.#buckets.values()) await bucket.close();
  }
}

/** Errors of rename for a folder that is a mount point, or on another file system. */
const mountErrors = new Set(["EXDEV", "EBUSY"]);

/**
 * StagedBucket is a bucket whose files are written into a new folder beside its own, which then takes its place. The folder has a
 * random name and contains only what this process creates, so no path in it leads through a link.
 */
class StagedBucket {
  readonly path: string;
  readonly #parent: Folder;
  readonly #name: string;
  readonly #owner: Owner | undefined;
  readonly #newName = `${stagedPrefix}restore-${randomText(16)}`;
  readonly #oldName = `${stagedPrefix}replaced-${randomText(16)}`;
  /** Folders whose mode and times are set once everything is in them. */
  readonly #folders: { readonly path: TreePath; readonly member: TarMember }[] = [];
  #hasMovedOld = false;
  #isSwitched = false;

  /** `parent` is the folder above the bucket's, and is closed with it. `path` is the bucket's path below `static_path`. */
  constructor(parent: Folder, path: string) {
    this.#parent = parent;
    this.#name = path.slice(path.lastIndexOf("/") + 1);
    this.path = path;
    this.#owner = inheritedOwner(parent.at(this.#name));
  }

  /** Creates the new folder. Only this user may enter it until it is complete. */
  async create(): Promise<void> {
    await mkdir(this.#at(treeRoot), { mode: 0o700 });
  }

  async addFolder(path: TreePath, member: TarMember): Promise<void> {
    if (path !== treeRoot) await mkdir(this.#at(path), { mode: 0o700 });
    this.#folders.push({ path, member });
  }

  async addFile(path: TreePath, member: TarMember): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(this.#at(path), flags, 0o600);
    try {
      for await (const bytes of member.content())
        for (let at = 0; at < bytes.length; )
          at += (await file.write(bytes, at, bytes.length - at, null)).bytesWritten;
    } finally {
      await file.close();
    }
    await this.#setAttributes(path, member, 0o600);
  }

  /** Sets the attributes of the folders, the deepest first, because a change in a folder changes its time. */
  async complete(): Promise<void> {
    for (const { path, member } of this.#folders.reverse()) await this.#setAttributes(path, member, 0o700);
  }

  /** Moves the present folder aside, and the new one into its place. */
  async switchOver(): Promise<void> {
    const path = this.#parent.at(this.#name);
    try {
      await rename(path, this.#parent.at(this.#oldName));
      this.#hasMovedOld = true;
    } catch (error) {
      if (mountErrors.has(codeOf(error) ?? "")) throw this.#isMounted();
      if (codeOf(error) !== "ENOENT") throw error;
    }
    await rename(this.#at(treeRoot), path);
    this.#isSwitched = true;
  }

  /** Puts back what was there, and removes what was staged. */
  async undo(): Promise<void> {
    const path = this.#parent.at(this.#name);
    if (this.#isSwitched) await rename(path, this.#at(treeRoot));
    if (this.#hasMovedOld) await rename(this.#parent.at(this.#oldName), path);
    await rm(this.#at(treeRoot), { recursive: true, force: true });
  }

  /** oldPath returns the path of the replaced folder. */
  get oldPath(): string {
    return `${this.#parent.realPath}/${this.#oldName}`;
  }

  /** Removes what was replaced. */
  async removeOld(): Promise<void> {
    await rm(this.#parent.at(this.#oldName), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#parent.close();
  }

  #at(path: TreePath): string {
    const root = this.#parent.at(this.#newName);
    return path === treeRoot ? root : `${root}/${path}`;
  }

  async #setAttributes(path: TreePath, { mode, modifiedMs }: TarMember, least: number): Promise<void> {
    const at = this.#at(path);
    if (this.#owner !== undefined) {
      const { uid, gid } = await lstat(at);
      if (uid !== this.#owner.uid || gid !== this.#owner.gid)
        await lchown(at, this.#owner.uid, this.#owner.gid);
    }
    await chmod(at, (mode & 0o777) | least);
    await utimes(at, modifiedMs / 1000, modifiedMs / 1000);
  }

  #isMounted(): Fault {
    return new Fault(
      "IoError",
      `the folder of the bucket ${this.path} is a mount point, which cannot be replaced; restore with --no-files, and unpack its files with tar`,
    );
  }
}
