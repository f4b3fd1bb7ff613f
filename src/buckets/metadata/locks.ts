import { Fault } from "../../base/fault.ts";
import type { KvRows } from "../../db/kv-rows.ts";
import type { TokenRows } from "../../db/token-rows.ts";
import { isBelow, type TreePath, treeRoot, withAncestors } from "../path.ts";
import { keyOf, newKeyOf, pathOfKey } from "./kv-keys.ts";

/** Lock is a WebDAV write lock (RFC 4918 §6). Except for `path`, its fields are the stored format. */
export interface Lock {
  /** The lock token, a URI. */
  readonly token: string;
  /** The lock root: the canonical path that it was taken on. */
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly scope: "exclusive" | "shared";
  /** Depth infinity: it protects everything below as well. */
  readonly deep: boolean;
  /** The content of the client's `owner` element, as XML. */
  readonly owner: string;
  /** Key of the access token that it was taken with. */
  readonly holder: string;
  /** When it expires, in Unix milliseconds. */
  readonly until: number;
}

type StoredLock = Omit<Lock, "path">;

/** LockedFault names the locks that forbid a change or conflict with a new lock. WebDAV answers 423. */
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

/** TooManyLocksFault is thrown at one of the limits below. WebDAV answers 507. */
export class TooManyLocksFault extends Fault {
  constructor(detail: string) {
    super("Other", detail);
  }
}

/** Shared locks on one resource. */
const maxLocksPerResource = 1000;
/** Locks of one bucket. */
const maxLocksPerBucket = 10_000;
/** Locks that one access token may hold in a bucket. Clients hold one per open file. */
const maxLocksPerToken = 1000;
/** Time between two sweeps, which the next `take` starts. */
const sweepIntervalMs = 60_000;
/** The same while a limit is reached: a sweep reads every lock of the bucket. */
const urgentSweepIntervalMs = 1000;
/** Rows that one transaction of a sweep removes, so that other writers get their turn. */
const maxRowsPerTransaction = 500;

/**
 * Locks stores the locks of one bucket in the database, so that they survive a restart and are valid on every server. A lock ends when it expires, and
 * with the access token that it was taken with, however that was deleted. Paths are canonical.
 */
export class Locks {
  readonly #rows: KvRows;
  readonly #tokens: TokenRows;
  readonly #namespace: string;
  /** What the last sweep counted, plus the locks that were taken since. */
  #counted: { at: number; total: number; readonly byHolder: Map<string, number> } | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(rows: KvRows, tokens: TokenRows, namespace: string) {
    this.#rows = rows;
    this.#tokens = tokens;
    this.#namespace = namespace;
  }

  /** around returns the locks on a path and on its ancestors, deep or not, and with `descendants` those below it. */
  async around(path: TreePath, options?: { readonly descendants: boolean }): Promise<Lock[]> {
    const found = await this.#rows.getMany(this.#namespace, withAncestors(path).map(keyOf));
    if (options?.descendants) found.push(...(await this.#rows.subtree(this.#namespace, keyOf(path))));
    if (found.length === 0) return [];
    const locks = toLocks(new Map(found.map(({ key, value }) => [key, value])));
    const orphans = new Set(await this.#orphansAmong(locks));
    return locks.filter((lock) => !orphans.has(lock));
  }

  /** take stores a lock, atomically. Throws LockedFault when another conflicts, TooManyLocksFault when a limit is reached. */
  async take(wanted: Lock): Promise<Lock> {
    await this.#assertBelowLimits(wanted.holder);
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
    const { path, ...stored } = wanted;
    const read = { keys: withAncestors(path).map(keyOf), ...(wanted.deep ? { subtree: keyOf(path) } : {}) };
    return this.#rows.change(this.#namespace, read, (rows) => {
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
      return { write: new Map([[newKeyOf(path), [...own.map(toStored), stored]]]), result: wanted };
    });
  }

  /** refresh gives a lock a new time of expiry; undefined when it no longer exists. */
  refresh(lock: Lock, until: number): Promise<Lock | undefined> {
    return this.#replace(lock, { ...lock, until });
  }

  async release(lock: Lock): Promise<void> {
    await this.#replace(lock, undefined);
  }

  /** forget deletes the locks on a path and below it, with their resource. */
  async forget(path: TreePath): Promise<void> {
    await this.#rows.remove(this.#namespace, keyOf(path), { includingKey: true });
  }

  /** forgetBelow deletes the locks below a path, but not those on it. */
  async forgetBelow(path: TreePath): Promise<void> {
    await this.#rows.remove(this.#namespace, keyOf(path), { includingKey: false });
  }

  async #assertBelowLimits(holder: string): Promise<void> {
    const age = this.#counted === undefined ? Infinity : performance.now() - this.#counted.at;
    if (age > sweepIntervalMs || (this.#isFullFor(holder) && age > urgentSweepIntervalMs))
      await this.#sweep();
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

  /** Sweeps once for everyone who needs it at the same time: it reads all locks of the bucket. */
  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  /** Deletes the rows whose locks have all expired, and counts the other locks. */
  async #sweepNow(): Promise<void> {
    const rows = await this.#rows.subtree(this.#namespace, keyOf(treeRoot));
    const live = toLocks(new Map(rows.map(({ key, value }) => [key, value])));
    const paths = new Set(live.map(({ path }) => keyOf(path)));
    const expired = rows.map(({ key }) => key).filter((key) => !paths.has(key));
    for (let at = 0; at < expired.length; at += maxRowsPerTransaction)
      await this.#removeExpired(expired.slice(at, at + maxRowsPerTransaction));
    const byHolder = new Map<string, number>();
    for (const { holder } of live) byHolder.set(holder, (byHolder.get(holder) ?? 0) + 1);
    this.#counted = { at: performance.now(), total: live.length, byHolder };
  }

  /** Reads the rows again in the transaction: a lock may have been taken on the same path since. */
  #removeExpired(keys: readonly string[]): Promise<void> {
    return this.#rows.change(this.#namespace, { keys }, (rows) => {
      const live = new Set(toLocks(rows).map(({ path }) => keyOf(path)));
      const gone = keys.filter((key) => !live.has(key));
      return { write: new Map(gone.map((key) => [key, undefined])), result: undefined };
    });
  }

  /** The locks whose access token no longer exists. */
  async #orphansAmong(locks: readonly Lock[]): Promise<Lock[]> {
    const holders = [...new Set(locks.map(({ holder }) => holder))];
    const existing = await this.#tokens.existingKeys(holders);
    return locks.filter(({ holder }) => !existing.has(holder));
  }

  async #removeOrphans(orphans: readonly Lock[]): Promise<void> {
    const removed = new Set(orphans.map(({ token }) => token));
    const keys = [...new Set(orphans.map(({ path }) => keyOf(path)))];
    for (let at = 0; at < keys.length; at += maxRowsPerTransaction) {
      const some = keys.slice(at, at + maxRowsPerTransaction);
      await this.#rows.change(this.#namespace, { keys: some }, (rows) => {
        const remaining = Map.groupBy(
          toLocks(rows).filter(({ token }) => !removed.has(token)),
          ({ path }) => keyOf(path),
        );
        return {
          write: new Map(some.map((key) => [key, remaining.get(key)?.map(toStored)])),
          result: undefined,
        };
      });
    }
  }

  #replace(lock: Lock, next: Lock | undefined): Promise<Lock | undefined> {
    const key = keyOf(lock.path);
    return this.#rows.change(this.#namespace, { keys: [key] }, (rows) => {
      const locks = toLocks(rows);
      const present = locks.some(({ token }) => token === lock.token);
      const rest = locks.filter(({ token }) => token !== lock.token);
      const remaining = present && next !== undefined ? [...rest, next] : rest;
      return {
        write: new Map([[key, remaining.length === 0 ? undefined : remaining.map(toStored)]]),
        result: present ? next : undefined,
      };
    });
  }
}

/** LockIndex has locks by lock root, so that a listing of many resources does not search all locks for each of them. */
export class LockIndex {
  readonly #byPath: ReadonlyMap<TreePath, readonly Lock[]>;

  constructor(locks: readonly Lock[]) {
    this.#byPath = Map.groupBy(locks, ({ path }) => path);
  }

  /** covering returns the locks that protect the resource at a path. */
  covering(path: TreePath): Lock[] {
    if (this.#byPath.size === 0) return [];
    return withAncestors(path).flatMap((at) =>
      (this.#byPath.get(at) ?? []).filter((lock) => covers(lock, path)),
    );
  }
}

/** covers is whether a lock protects the resource at a path. */
export function covers(lock: Lock, path: TreePath): boolean {
  return lock.path === path || (lock.deep && isBelow(path, lock.path));
}

/** toLocks leaves out expired locks. */
function toLocks(rows: ReadonlyMap<string, unknown>): Lock[] {
  const now = Date.now();
  return [...rows].flatMap(([key, value]) => {
    const path = pathOfKey(key);
    if (path === undefined) return [];
    return (value as StoredLock[]).filter(({ until }) => until > now).map((stored) => ({ ...stored, path }));
  });
}

function toStored({ path: _, ...stored }: Lock): StoredLock {
  return stored;
}
