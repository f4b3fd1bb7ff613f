import { Fault } from "../base/fault.ts";
import type { KvRows } from "../db/kv-rows.ts";
import { keyOf, pathOfKey, storedKey } from "./kept.ts";
import { splitPath, type TreePath, treeRoot } from "./path.ts";

/** A WebDAV lock. */
export interface Lock {
  readonly token: string;
  /** What it was taken on. */
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly scope: "exclusive" | "shared";
  /** Also for everything below. */
  readonly deep: boolean;
  /** What its owner wrote about itself, as XML. */
  readonly owner: string;
  /** Key of the token that it was taken with. */
  readonly holder: string;
  readonly until: number;
}

type Kept = Omit<Lock, "path">;

/** Why a lock is not given: others that are in the way. */
export class LockedFault extends Fault {
  constructor(readonly locks: readonly [Lock, ...Lock[]]) {
    const [{ path, until }] = locks;
    super(
      "Other",
      `${path === "" ? "the bucket" : path} is locked by a WebDAV client until ${new Date(until).toISOString()}; try again when it is done`,
      { path, until },
    );
  }
}

/** How many may share one resource. */
const most = 1000;

/** The locks of one bucket. They are in the database, so that they outlive the process and count for every server. */
export class Locks {
  constructor(
    private readonly rows: KvRows,
    private readonly namespace: string,
  ) {}

  /** Those on the path itself, those on its ancestors, whether deep or not, and those below it if asked for. */
  async around(path: TreePath, below: boolean): Promise<Lock[]> {
    const found = await this.rows.some(this.namespace, lineage(path).map(keyOf));
    if (below) found.push(...(await this.rows.within(this.namespace, keyOf(path))));
    return toLocks(new Map(found.map(({ key, value }) => [key, value])));
  }

  /** Gives a lock unless another is in the way. */
  take(wanted: Lock): Promise<Lock> {
    const { path, ...kept } = wanted;
    const read = { keys: lineage(path).map(keyOf), ...(wanted.deep ? { within: keyOf(path) } : {}) };
    return this.rows.change(this.namespace, read, (rows) => {
      const locks = toLocks(rows);
      const [first, ...more] = locks.filter(
        (lock) =>
          (wanted.scope === "exclusive" || lock.scope === "exclusive") &&
          (covers(lock, path) || (wanted.deep && isBelow(lock.path, path))),
      );
      if (first !== undefined) throw new LockedFault([first, ...more]);
      const own = locks.filter((lock) => lock.path === path);
      if (own.length >= most) throw new Fault("Other", "the resource has too many locks already", { path });
      return { write: new Map([[storedKey(path), [...own.map(toKept), kept]]]), result: wanted };
    });
  }

  /** Undefined when there is no such lock on that path any more. */
  refresh(lock: Lock, until: number): Promise<Lock | undefined> {
    return this.#replace(lock, { ...lock, until });
  }

  async release(lock: Lock): Promise<void> {
    await this.#replace(lock, undefined);
  }

  /** Forgets the locks on a path and below it: they go with their resource. */
  async forget(path: TreePath): Promise<void> {
    await this.rows.remove(this.namespace, keyOf(path), true);
  }

  /** The same for all below it, but not for itself. */
  async forgetBelow(path: TreePath): Promise<void> {
    await this.rows.remove(this.namespace, keyOf(path), false);
  }

  #replace(lock: Lock, next: Lock | undefined): Promise<Lock | undefined> {
    const key = keyOf(lock.path);
    return this.rows.change(this.namespace, { keys: [key] }, (rows) => {
      const locks = toLocks(rows);
      const present = locks.some(({ token }) => token === lock.token);
      const rest = locks.filter(({ token }) => token !== lock.token);
      const kept = present && next !== undefined ? [...rest, next] : rest;
      return {
        write: new Map([[key, kept.length === 0 ? undefined : kept.map(toKept)]]),
        result: present ? next : undefined,
      };
    });
  }
}

/** Whether a lock protects what stands at a path. */
export function covers(lock: Lock, path: TreePath): boolean {
  return lock.path === path || (lock.deep && isBelow(path, lock.path));
}

export function isBelow(path: TreePath, folder: TreePath): boolean {
  return path !== folder && (folder === treeRoot || path.startsWith(`${folder}/`));
}

/** A path and all folders above it. */
function lineage(path: TreePath): TreePath[] {
  const found = [path];
  for (let at = path; at !== treeRoot; ) {
    at = splitPath(at).folder;
    found.push(at);
  }
  return found;
}

/** Those that have not run out. */
function toLocks(rows: ReadonlyMap<string, unknown>): Lock[] {
  const now = Date.now();
  return [...rows].flatMap(([key, value]) =>
    (value as Kept[]).filter(({ until }) => until > now).map((kept) => ({ ...kept, path: pathOfKey(key) })),
  );
}

function toKept({ path: _, ...kept }: Lock): Kept {
  return kept;
}
