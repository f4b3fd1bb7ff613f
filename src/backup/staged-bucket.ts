import { constants } from "node:fs";
import { chmod, lchown, lstat, mkdir, open, rename, rm, utimes } from "node:fs/promises";
import { codeOf, Fault } from "../base/fault.ts";
import { inheritedOwner, type Owner } from "../base/local-fs/access.ts";
import type { Folder } from "../base/local-fs/folder.ts";
import { randomText } from "../base/random.ts";
import { stagedPrefix, type TreePath, treeRoot } from "../buckets/path.ts";
import type { TarMember } from "./tar-reader.ts";

/** Errors of rename for a folder that is a mount point, or on another file system. */
const mountErrors = new Set(["EXDEV", "EBUSY"]);

/**
 * StagedBucket is a bucket whose files are written into a new folder beside its own, which then takes its place. The folder has a
 * random name and contains only what this process creates, so no path in it leads through a link.
 */
export class StagedBucket {
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
    const place = this.#parent.at(this.#name);
    try {
      await rename(place, this.#parent.at(this.#oldName));
      this.#hasMovedOld = true;
    } catch (error) {
      if (mountErrors.has(codeOf(error) ?? "")) throw this.#isMounted();
      if (codeOf(error) !== "ENOENT") throw error;
    }
    await rename(this.#at(treeRoot), place);
    this.#isSwitched = true;
  }

  /** Puts back what was there, and removes what was staged. */
  async undo(): Promise<void> {
    const place = this.#parent.at(this.#name);
    if (this.#isSwitched) await rename(place, this.#at(treeRoot));
    if (this.#hasMovedOld) await rename(this.#parent.at(this.#oldName), place);
    await rm(this.#at(treeRoot), { recursive: true, force: true });
  }

  /** Where the replaced folder is. */
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
