import type { Stats } from "node:fs";
import { type FileHandle, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { Folder, heldPlace, isInside } from "../../base/folder.ts";
import { childPath, splitPath, type TreePath, treeRoot } from "../path.ts";
import { isAbsence, lookAt, openChild } from "./stat.ts";

/** Of a file system, in bytes. */
const longestName = 255;
export const maxPathBytes = 4095;

/** Where the paths of a bucket meet the disk: which name is meant, and that it is inside. */
export class Ground {
  constructor(readonly root: string) {}

  diskPath(path: TreePath): string {
    return join(this.root, path);
  }

  /** What stands at exactly this path, links followed, wherever they lead. */
  look(path: TreePath): Promise<Stats | undefined> {
    return lookAt(this.diskPath(path), stat);
  }

  /** The path as given or, where the disk has it otherwise, with each segment in the Unicode form that the disk has. */
  async spell(path: TreePath): Promise<TreePath> {
    if (/^[\x20-\x7e]*$/.test(path) || (await this.look(path)) !== undefined) return path;
    let found = treeRoot;
    const segments = path.split("/");
    for (const [at, segment] of segments.entries()) {
      const forms = [...new Set([segment, segment.normalize("NFC"), segment.normalize("NFD")])];
      const seen = await Promise.all(forms.map((form) => this.look(childPath(found, form))));
      const existing = forms[seen.findIndex((stats) => stats !== undefined)];
      // Nothing exists below a missing folder, so the other forms of the rest need not be tried.
      if (existing === undefined) return childPath(found, segments.slice(at).join("/"));
      found = childPath(found, existing);
    }
    return found;
  }

  /** Where a change of a path goes: the path as the disk spells it, if the disk can take it. Before anything is made for it. */
  async target(path: TreePath): Promise<TreePath> {
    const spelled = await this.spell(path);
    const tooLong =
      spelled.split("/").some((name) => Buffer.byteLength(name) > longestName) ||
      Buffer.byteLength(this.diskPath(spelled)) > maxPathBytes;
    if (tooLong)
      throw new Fault("InvalidInput", "the path, or a name in it, is too long for the disk", { path });
    return spelled;
  }

  /**
   * The one path of a thing, however it was reached: spelled as the disk has it, links on the way resolved. A link at its
   * end stays, because that is what a change would change.
   */
  async canonical(path: TreePath): Promise<TreePath> {
    const { folder, name } = splitPath(await this.spell(path));
    if (name === "" || folder === treeRoot) return childPath(folder, name);
    const root = await this.#realRoot();
    try {
      const real = await realpath(this.diskPath(folder));
      // What is elsewhere is nothing here; whoever opens it finds that out.
      if (!isInside(real, root)) return childPath(folder, name);
      return childPath(real.slice(root.length + 1).replaceAll(sep, "/") as TreePath, name);
    } catch (error) {
      // What is not there yet is what it is called.
      if (isAbsence(error)) return childPath(folder, name);
      throw error;
    }
  }

  /** Whether the path, every link in it resolved, stays in the bucket. */
  async contains(path: TreePath): Promise<boolean> {
    const [real, root] = await Promise.all([realpath(this.diskPath(path)), realpath(this.root)]);
    return isInside(real, root);
  }

  /** Second of the two path checks: what was opened lies inside the bucket's real folder. Undefined when it does not. */
  async held(handle: FileHandle, path: TreePath) {
    const [held, root] = await Promise.all([heldPlace(handle, this.diskPath(path)), realpath(this.root)]);
    return isInside(held.real, root) ? held : undefined;
  }

  /** Opens a folder of the bucket, made where it is missing if so wished, and proves that it is inside. */
  async inFolder<T>(path: TreePath, make: boolean, use: (folder: Folder) => Promise<T>): Promise<T> {
    const folder = make ? await this.#make(path) : await this.#open(path);
    try {
      return await use(folder);
    } finally {
      await folder.close();
    }
  }

  async #open(path: TreePath): Promise<Folder> {
    const root = await this.#realRoot();
    const folder = await Folder.open(this.diskPath(path));
    if (isInside(folder.realPath, root)) return folder;
    await folder.close();
    throw notFound(path);
  }

  /** One segment after the other, each opened in the one before it, so that nothing is made outside. */
  async #make(path: TreePath): Promise<Folder> {
    const root = await this.#realRoot();
    let folder = await Folder.open(root);
    try {
      for (const segment of path === treeRoot ? [] : path.split("/")) {
        const next = await openChild(folder, segment);
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

  async #realRoot(): Promise<string> {
    try {
      return await realpath(this.root);
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? folderIsGone() : error;
    }
  }
}

export function notFound(path: TreePath): Fault {
  if (path === treeRoot) return folderIsGone();
  return new Fault("NotFound", "there is no such file in the bucket", { path });
}

function folderIsGone(): Fault {
  return new Fault(
    "IoError",
    "the bucket's folder is gone from the disk; make it again or delete the bucket",
  );
}
