import { Fault } from "../../base/fault.ts";
import type { KvRows } from "../../db/kv-rows.ts";
import type { TokenRows } from "../../db/token-rows.ts";
import { splitPath, type TreePath, treeRoot } from "../path.ts";
import { keyOf, pathOfKey, storedKey } from "./kv-keys.ts";

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

export class TooManyLocksFault extends Fault {
  constructor(detail: string) {
    super("Other", detail);
  }
}

/** Shared locks on one resource. */
const maxLocksPerResource = 1000;
/** Locks of one bucket, and those of them that one token may hold. Clients hold one per open file. */
const maxLocksPerBucket = 10_000;
const maxLocksPerToken = 1000;
/** Expired locks are removed by the next change of a lock after this time. */
const sweepMs = 60_000;
/** Under a bound that is reached, at most so often: a sweep reads every lock of the bucket. */
const urgentSweepMs = 1000;
/** Rows that one transaction of a sweep removes, so that other writers come in between. */
const rowsAtOnce = 500;

/**
 * The locks of one bucket. They are in the database, so that they outlive the process and count for every server. A lock ends with the
 * token that it was taken with, by whatever means that was deleted.
 */
export class Locks {
  /** When and with what result the last sweep counted; locks that were taken since are added. */
  #counted: { at: number; total: number; readonly byHolder: Map<string, number> } | undefined;

  constructor(
    private readonly rows: KvRows,
    private readonly tokens: TokenRows,
    private readonly namespace: string,
  ) {}

  /** Those on the path itself, those on its ancestors, whether deep or not, and those below it if asked for. */
  async around(path: TreePath, below: boolean): Promise<Lock[]> {
    const found = await this.rows.some(this.namespace, lineage(path).map(keyOf));
    if (below) found.push(...(await this.rows.within(this.namespace, keyOf(path))));
    const locks = toLocks(new Map(found.map(({ key, value }) => [key, value])));
    const orphans = new Set(await this.#orphansAmong(locks));
    return locks.filter((lock) => !orphans.has(lock));
  }

  /** Gives a lock unless another is in the way, or a bound is reached. */
  async take(wanted: Lock): Promise<Lock> {
    await this.#refuseBeyondBounds(wanted.holder);
    for (;;) {
      try {
        return await this.#tryToTake(wanted);
      } catch (error) {
        const orphans = error instanceof LockedFault ? await this.#orphansAmong(error.locks) : [];
        if (orphans.length === 0) throw error;
        await this.#removeOrphans(orphans);
      }
    }
  }

  #tryToTake(wanted: Lock): Promise<Lock> {
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
      if (own.length >= maxLocksPerResource)
        throw new TooManyLocksFault(
          `the resource has ${maxLocksPerResource} locks already; wait until one is released or expires`,
        );
      this.#count(wanted.holder);
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

  async #refuseBeyondBounds(holder: string): Promise<void> {
    const age = this.#counted === undefined ? Infinity : performance.now() - this.#counted.at;
    if (age > sweepMs || (this.#isFullFor(holder) && age > urgentSweepMs)) await this.#sweep();
    if (this.#isFullFor(holder))
      throw new TooManyLocksFault(
        `a token may hold ${maxLocksPerToken} locks in a bucket, and all tokens together ${maxLocksPerBucket}; release some, or wait until they expire`,
      );
  }

  #isFullFor(holder: string): boolean {
    const { total, byHolder } = this.#counted ?? { total: 0, byHolder: new Map<string, number>() };
    return total >= maxLocksPerBucket || (byHolder.get(holder) ?? 0) >= maxLocksPerToken;
  }

  #count(holder: string): void {
    if (this.#counted === undefined) return;
    this.#counted.total += 1;
    this.#counted.byHolder.set(holder, (this.#counted.byHolder.get(holder) ?? 0) + 1);
  }

  /** Removes the rows of locks that have expired, and counts the others. */
  async #sweep(): Promise<void> {
    const rows = await this.rows.within(this.namespace, keyOf(treeRoot));
    const live = toLocks(new Map(rows.map(({ key, value }) => [key, value])));
    const paths = new Set(live.map(({ path }) => keyOf(path)));
    const expired = rows.map(({ key }) => key).filter((key) => !paths.has(key));
    for (let at = 0; at < expired.length; at += rowsAtOnce)
      await this.#removeExpired(expired.slice(at, at + rowsAtOnce));
    const byHolder = new Map<string, number>();
    for (const { holder } of live) byHolder.set(holder, (byHolder.get(holder) ?? 0) + 1);
    this.#counted = { at: performance.now(), total: live.length, byHolder };
  }

  /** Read again as part of the change: a lock may have been taken on the same path meanwhile. */
  #removeExpired(keys: readonly string[]): Promise<void> {
    return this.rows.change(this.namespace, { keys }, (rows) => {
      const live = new Set(toLocks(rows).map(({ path }) => keyOf(path)));
      const gone = keys.filter((key) => !live.has(key));
      return { write: new Map(gone.map((key) => [key, undefined])), result: undefined };
    });
  }

  /** Those of these locks whose token no longer exists. */
  async #orphansAmong(locks: readonly Lock[]): Promise<Lock[]> {
    const holders = [...new Set(locks.map(({ holder }) => holder))];
    const existing = await this.tokens.existingKeys(holders);
    return locks.filter(({ holder }) => !existing.has(holder));
  }

  async #removeOrphans(orphans: readonly Lock[]): Promise<void> {
    const removed = new Set(orphans.map(({ token }) => token));
    const keys = [...new Set(orphans.map(({ path }) => keyOf(path)))];
    for (let at = 0; at < keys.length; at += rowsAtOnce) {
      const some = keys.slice(at, at + rowsAtOnce);
      await this.rows.change(this.namespace, { keys: some }, (rows) => {
        const kept = Map.groupBy(
          toLocks(rows).filter(({ token }) => !removed.has(token)),
          ({ path }) => keyOf(path),
        );
        return { write: new Map(some.map((key) => [key, kept.get(key)?.map(toKept)])), result: undefined };
      });
    }
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

/** Locks by the path they were taken on, for listings: who asks for each of many paths must not go through all locks for it. */
export class LockIndex {
  readonly #byPath: ReadonlyMap<TreePath, readonly Lock[]>;

  constructor(locks: readonly Lock[]) {
    this.#byPath = Map.groupBy(locks, ({ path }) => path);
  }

  /** The locks that protect what stands at a path. */
  covering(path: TreePath): Lock[] {
    if (this.#byPath.size === 0) return [];
    return lineage(path).flatMap((at) => (this.#byPath.get(at) ?? []).filter((lock) => covers(lock, path)));
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
