import type { Stats } from "node:fs";
import { Fault } from "../base/fault.ts";
import { PathMutex } from "../base/path-mutex.ts";
import type { Database } from "../db/database.ts";
import { type ChangeOptions, Changes, type Staged, type Times } from "./changes.ts";
import { toTreeFault } from "./disk-faults.ts";
import { Ground, notFound } from "./ground.ts";
import { locksNamespace, propertiesNamespace } from "./kept.ts";
import { covers, isBelow, type Lock, LockedFault, Locks } from "./locks.ts";
import { splitPath, type TreePath, treeRoot } from "./path.ts";
import { PropertyRecords } from "./properties.ts";
import type { Failure } from "./removal.ts";
import { isFolder, Tree, type TreeEntry } from "./tree.ts";

/** What whoever changes files has to show for it. */
export interface Warrant {
  /** Whether a lock is the asker's own. */
  shows(lock: Lock): boolean;
  /** Throws unless the asker's conditions hold. Asked when nobody else can change what they are about. */
  check(): Promise<void>;
}

/** What a change does to a path, as far as locks mind. */
interface Touch {
  readonly path: TreePath;
  /** Everything below is touched with it. */
  readonly deep: boolean;
  /** The folder gains or loses a name. */
  readonly membership: boolean;
}

/** How a COPY or MOVE is to be done. */
export interface TransferOptions {
  /** Whether what stands at the target is replaced. */
  readonly overwrite: boolean;
  readonly warrant: Warrant;
  /** Ends a copy that nobody waits for any more; what it made so far is removed. */
  readonly signal: AbortSignal;
}

const neverAborted = new AbortController().signal;

/** How a COPY or MOVE went. */
export type Transferred =
  | { readonly replaced: boolean; readonly failures: Failure[] }
  | "in the way"
  | "one holds the other";

type FileRows = Pick<Database, "kv" | "tokens">;

/** Where the files of one bucket are changed, by whichever door: one at a time for each path, locks kept, properties along. */
export class Files {
  readonly tree: Tree;
  readonly locks: Locks;
  readonly properties: PropertyRecords;
  readonly #ground: Ground;
  readonly #changes: Changes;
  readonly #mutex = new PathMutex();

  constructor(bucket: string, root: string, { kv, tokens }: FileRows, options: ChangeOptions) {
    this.#ground = new Ground(root);
    this.tree = new Tree(this.#ground);
    this.#changes = new Changes(this.tree, this.#ground, options);
    this.locks = new Locks(kv, tokens, locksNamespace(bucket));
    this.properties = new PropertyRecords(kv, propertiesNamespace(bucket));
  }

  /** The path that locks and properties are kept under. */
  async canonical(path: TreePath): Promise<TreePath> {
    try {
      return await this.#ground.canonical(path);
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }

  /** Takes content in; `write` puts it in place. */
  stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<Staged> {
    return this.#changes.stage(content, path);
  }

  /** What would be refused now, before anybody sends a large body for it. */
  async examine(asked: TreePath, warrant: Warrant): Promise<void> {
    const path = await this.canonical(asked);
    await warrant.check();
    const present = await this.tree.find(path);
    await this.#refuseLocked(warrant, { path, deep: false, membership: present === undefined });
  }

  /** A file in place whole, new or replaced. */
  async write(
    asked: TreePath,
    staged: Staged,
    how: { readonly makeParents: boolean; readonly warrant: Warrant } & Times,
  ): Promise<{ readonly created: boolean; readonly stats: Stats }> {
    const { warrant } = how;
    return this.#hold([asked], warrant, async ([path = asked]) => {
      const created = (await this.tree.find(path)) === undefined;
      const first = created && how.makeParents ? await this.#firstMissing(path) : path;
      await this.#refuseLocked(warrant, { path: first, deep: false, membership: created });
      if (created) await this.#forget(path);
      return { created, stats: await this.#changes.place(staged, path, how) };
    });
  }

  /** False when something stands there already. */
  async makeFolder(asked: TreePath, warrant: Warrant, times: Times): Promise<boolean> {
    return this.#hold([asked], warrant, async ([path = asked]) => {
      await this.#refuseLocked(warrant, { path, deep: false, membership: true });
      if (!(await this.#changes.makeFolder(path, times))) return false;
      await this.#forget(path);
      return true;
    });
  }

  /** Removes a file, not a folder; nothing happens when there is none. */
  async removeFile(asked: TreePath, warrant: Warrant): Promise<void> {
    await this.#hold([asked], warrant, async ([path = asked]) => {
      if ((await this.tree.find(path)) === undefined) return;
      await this.#refuseLocked(warrant, { path, deep: false, membership: true });
      if (await this.#changes.removeFile(path)) await this.#forget(path);
    });
  }

  /** Removes a file or a folder with all it holds; what could not be removed is told. */
  async remove(asked: TreePath, warrant: Warrant): Promise<Failure[]> {
    return this.#hold([asked], warrant, async ([path = asked]) => {
      const entry = await this.tree.find(path);
      if (entry === undefined) throw notFound(asked);
      await this.#refuseLocked(warrant, { path, deep: true, membership: true });
      if (entry.kind === "file") await this.#changes.removeFile(path);
      const failures = entry.kind === "folder" ? await this.#changes.removeFolder(path) : [];
      if (failures.length === 0) await this.#forget(path);
      return failures;
    });
  }

  /** Moves a file; replaces the file that stands at `to`. Folders on the way are made. */
  async renameFile(from: TreePath, to: TreePath, warrant: Warrant): Promise<void> {
    await this.#hold([from, to], warrant, async ([source = from, target = to]) => {
      const entry = await this.tree.find(source);
      if (entry === undefined) throw notFound(from);
      if (entry.kind === "folder") throw isFolder(from);
      const old = await this.tree.find(target);
      if (old?.kind === "folder")
        throw new Fault("InvalidInput", "a folder stands at this path", { path: to });
      if (source === target) return;
      await this.#refuseLocked(
        warrant,
        { path: source, deep: false, membership: true },
        {
          path: old === undefined ? await this.#firstMissing(target) : target,
          deep: false,
          membership: old === undefined,
        },
      );
      await this.#changes.move(entry, target, { makeParents: true, signal: neverAborted });
      await this.#carry(source, target);
    });
  }

  /** Moves a file or folder onto a path that is neither above nor below it. Says whether something was replaced. */
  async move(from: TreePath, to: TreePath, options: TransferOptions) {
    const { signal } = options;
    return this.#transfer(from, to, { ...options, leaves: true }, async (entry, target) => {
      const failures = await this.#changes.move(entry, target, { makeParents: false, signal });
      if (failures.length === 0) await this.#carry(entry.path, target);
      return failures;
    });
  }

  /** Copies a file, or a folder with what it holds if `deep`, in the same way. */
  async copy(from: TreePath, to: TreePath, options: TransferOptions & { readonly deep: boolean }) {
    const { deep, signal } = options;
    return this.#transfer(from, to, { ...options, leaves: false }, async (entry, target) => {
      const failures = await this.#changes.copy(entry, target, { deep, whole: false, signal });
      await this.properties.copy(entry.path, target, deep);
      return failures;
    });
  }

  /** Changes what is known of a resource: its times, its dead properties. */
  async describe(
    asked: TreePath,
    warrant: Warrant,
    changes: ReadonlyMap<string, string | undefined>,
    times: Times,
  ): Promise<void> {
    await this.#hold([asked], warrant, async ([path = asked]) => {
      const entry = await this.tree.find(path);
      if (entry === undefined) throw notFound(asked);
      await this.#refuseLocked(warrant, { path, deep: false, membership: false });
      if (changes.size > 0) await this.properties.change(path, changes);
      if (times.modified !== undefined || times.accessed !== undefined)
        await this.#changes.setTimes(entry, times);
    });
  }

  /** Takes a lock; where nothing stands, an empty file is made to be locked. Says whether it was. */
  async lock(
    asked: TreePath,
    wanted: Omit<Lock, "path">,
    warrant: Warrant,
  ): Promise<{ readonly lock: Lock; readonly created: boolean }> {
    return this.#hold([asked], warrant, async ([path = asked]) => {
      const created = (await this.tree.find(path)) === undefined;
      if (created) await this.#refuseLocked(warrant, { path, deep: false, membership: true });
      const lock = await this.locks.take({ ...wanted, path });
      if (!created) return { lock, created };
      try {
        await using staged = await this.stage(new Uint8Array(), path);
        await this.#changes.place(staged, path, { makeParents: false });
        await this.properties.forget(path);
        return { lock, created };
      } catch (error) {
        await this.locks.release(lock);
        throw error;
      }
    });
  }

  async #transfer(
    from: TreePath,
    to: TreePath,
    { overwrite, warrant, signal, leaves }: TransferOptions & { readonly leaves: boolean },
    work: (entry: TreeEntry, target: TreePath) => Promise<Failure[]>,
  ): Promise<Transferred> {
    return this.#hold([from, to], warrant, async ([source = from, target = to]) => {
      if (source === target || isBelow(source, target) || isBelow(target, source))
        return "one holds the other";
      // It may have waited its turn for long.
      signal.throwIfAborted();
      const entry = await this.tree.find(source);
      if (entry === undefined) throw notFound(from);
      const old = await this.tree.find(target);
      const touches: Touch[] = [{ path: target, deep: true, membership: old === undefined }];
      if (leaves) touches.push({ path: source, deep: true, membership: true });
      await this.#refuseLocked(warrant, ...touches);
      if (old !== undefined && !overwrite) return "in the way";
      const failures = await work(entry, target);
      // The lock on what was replaced stays, for who saves by rename; what was below it is gone.
      if (failures.length === 0) await this.locks.forgetBelow(target);
      return { replaced: old !== undefined, failures };
    });
  }

  /** The topmost of what has to be made for a path: it is what a folder that exists gains. */
  async #firstMissing(path: TreePath): Promise<TreePath> {
    const { folder } = splitPath(path);
    return folder === treeRoot || (await this.tree.find(folder)) !== undefined
      ? path
      : this.#firstMissing(folder);
  }

  /** One change at a time where paths meet, with paths as the disk spells them and the asker's conditions fulfilled. */
  async #hold<T>(
    asked: readonly TreePath[],
    warrant: Warrant,
    work: (paths: readonly TreePath[]) => Promise<T>,
  ): Promise<T> {
    const paths = await Promise.all(asked.map((path) => this.canonical(path)));
    return this.#mutex.run(paths, async () => {
      await warrant.check();
      return work(paths);
    });
  }

  /** Any one of the locks that protect a thing has to be shown; shared ones may belong to others as well. */
  async #refuseLocked(warrant: Warrant, ...touches: readonly Touch[]): Promise<void> {
    for (const { path, deep, membership } of touches) {
      const locks = await this.locks.around(path, deep);
      const protectors = [locks.filter((lock) => covers(lock, path))];
      if (membership && path !== treeRoot) {
        const { folder } = splitPath(path);
        protectors.push(locks.filter((lock) => covers(lock, folder)));
      }
      for (const below of new Set(locks.map((lock) => lock.path))) {
        if (isBelow(below, path)) protectors.push(locks.filter((lock) => covers(lock, below)));
      }
      for (const [first, ...more] of protectors) {
        if (first !== undefined && ![first, ...more].some((lock) => warrant.shows(lock)))
          throw new LockedFault([first, ...more]);
      }
    }
  }

  /** Properties go along, locks stay behind and are gone: RFC 4918 §7.6. */
  async #carry(from: TreePath, to: TreePath): Promise<void> {
    await this.properties.move(from, to);
    await this.locks.forget(from);
  }

  async #forget(path: TreePath): Promise<void> {
    await this.properties.forget(path);
    await this.locks.forget(path);
  }
}
