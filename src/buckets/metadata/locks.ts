import { SharedRuns } from "../../base/concurrency.ts";
import { Fault } from "../../base/fault.ts";
import type { MetadataRows } from "../../db/rows/metadata-rows.ts";
import { isBelow, splitPath, type TreePath, treeRoot, withAncestors } from "../path.ts";
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

/** LockHolder is a caller that submits the tokens of locks. */
export interface LockHolder {
  readonly tokens: ReadonlySet<string>;
  /** The key of its access token; undefined for the Super Token, which may use every lock. */
  readonly key: string | undefined;
}

/** mayUseLock returns whether a caller may use a lock, whatever tokens it submits. */
export function mayUseLock({ key }: LockHolder, { holder }: Lock): boolean {
  return key === undefined || key === holder;
}

/** RFC 4918 §6.4: a lock token is valid only if the holder of the lock submits it. */
export function holdsLock(holder: LockHolder, lock: Lock): boolean {
  return holder.tokens.has(lock.token) && mayUseLock(holder, lock);
}

/** AffectedPath is what a change does to a path, as far as locks protect it. */
export interface AffectedPath {
  readonly path: TreePath;
  /** Whether everything below it is affected too; false if left out. */
  readonly recursive?: boolean;
  /** Whether the folder above gains or loses a name. */
  readonly changesParent: boolean;
}

/** LockedFault names the locks that forbid a change or conflict with a new lock. WebDAV answers 423. */
export class LockedFault extends Fault {
  constructor(readonly locks: readonly [Lock, ...Lock[]]) {
    const [{ path, until }] = locks;
    super(
      "Other",
      `${path === "" ? "the bucket" : path} is locked by a WebDAV client until ${new Date(until).toISOString()}; try again when it is done`,
      { reason: "locked", path, until },
    );
  }
}

/** Shared locks on one resource. */
const maxLocksPerResource = 1000;
/** Rows that one transaction of a sweep removes, so that other writers get their turn. */
const maxRowsPerTransaction = 500;

/**
 * Locks stores the locks of one bucket in the database, so that they survive a restart and are valid on every server. A lock ends
 * when it expires, and with the access token that it was taken with, however that was deleted. Paths are canonical. It has more than
 * 15 methods because all that decides about a lock, its end included, is here.
 */
export class Locks {
  readonly #rows: MetadataRows;
  readonly #namespace: string;
  readonly #counts: LockCounts;

  constructor(rows: MetadataRows, namespace: string, counts = new LockCounts()) {
    this.#rows = rows;
    this.#namespace = namespace;
    this.#counts = counts;
  }

  /** within returns the same locks over the rows of a transaction; their counts are shared. */
  within(rows: MetadataRows): Locks {
    return new Locks(rows, this.#namespace, this.#counts);
  }

  /** inTurn returns the same locks for one turn (`KvRows.inTurn`). */
  inTurn(): Locks {
    return this.within({ ...this.#rows, kv: this.#rows.kv.inTurn() });
  }

  /** now returns the time by which these locks expire, in Unix milliseconds. */
  now(): number {
    return this.#rows.now();
  }

  /** around returns the locks on a path and on its ancestors, deep or not, and with `descendants` those below it. */
  async around(path: TreePath, options?: { readonly descendants: boolean }): Promise<Lock[]> {
    if (this.#hasNone()) return [];
    const found = await this.#rows.kv.getMany(this.#namespace, withAncestors(path).map(keyOf));
    if (options?.descendants) found.push(...(await this.#rows.kv.subtree(this.#namespace, keyOf(path))));
    if (found.length === 0) return [];
    const locks = this.#toLocks(new Map(found.map(({ key, value }) => [key, value])));
    const orphans = new Set(await this.#orphansAmong(locks));
    return locks.filter((lock) => !orphans.has(lock));
  }

  /**
   * assertUnlocked throws LockedFault if a lock that the caller does not hold protects an affected path. Of several shared locks
   * on one resource the caller has to hold one.
   */
  async assertUnlocked(caller: LockHolder | undefined, ...affected: readonly AffectedPath[]): Promise<void> {
    if (this.#hasNone()) return;
    for (const { path, recursive = false, changesParent } of affected) {
      const found = await this.around(path, { descendants: recursive });
      const resources = [path];
      if (changesParent && path !== treeRoot) resources.push(splitPath(path).folder);
      for (const locked of new Set(found.map((lock) => lock.path)))
        if (isBelow(locked, path)) resources.push(locked);
      for (const resource of resources) {
        const [first, ...more] = found.filter((lock) => covers(lock, resource));
        if (first === undefined) continue;
        if (caller === undefined || ![first, ...more].some((lock) => holdsLock(caller, lock)))
          throw new LockedFault([first, ...more]);
      }
    }
  }

  /** Whether the bucket is known to have no locks: most have none, and every change asks. */
  #hasNone(): boolean {
    return this.#rows.kv.isKnownEmpty(this.#namespace);
  }

  /**
   * acquire stores a lock, atomically. `sweep` comes first if it is due. Throws LockedFault when another conflicts,
   * TooManyLocksFault when a limit is reached.
   */
  async acquire(wanted: Lock): Promise<Lock> {
    this.#counts.assertBelowLimits(wanted.holder);
    for (;;) {
      try {
        return await this.#tryAcquire(wanted);
      } catch (error) {
        const orphans = error instanceof LockedFault ? await this.#orphansAmong(error.locks) : [];
        if (orphans.length === 0) throw error;
        await this.#removeOrphans(orphans);
      }
    }
  }

  #tryAcquire(wanted: Lock): Promise<Lock> {
    const { path, ...stored } = wanted;
    const read = { keys: withAncestors(path).map(keyOf), ...(wanted.deep ? { subtree: keyOf(path) } : {}) };
    return this.#rows.kv.change(this.#namespace, read, (rows) => {
      const locks = this.#toLocks(rows);
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
      this.#counts.add(wanted.holder);
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
    if (this.#hasNone()) return;
    await this.#rows.kv.remove(this.#namespace, keyOf(path), { includingKey: true });
  }

  /** forgetBelow deletes the locks below a path, but not those on it. */
  async forgetBelow(path: TreePath): Promise<void> {
    await this.#rows.kv.remove(this.#namespace, keyOf(path), { includingKey: false });
  }

  /** isSweepDue returns whether `sweep` should run before this holder takes a lock: regularly, and sooner when a limit is reached. */
  isSweepDue(holder: string): boolean {
    return this.#counts.isDue(holder);
  }

  /** sweep removes expired locks and counts the others. It reads every lock of the bucket. */
  async sweep(): Promise<void> {
    await this.#counts.refresh(() => this.#removeExpiredLocks());
  }

  /** Deletes the rows whose locks have all expired, and returns the holders of the other locks. */
  async #removeExpiredLocks(): Promise<string[]> {
    const rows = await this.#rows.kv.subtree(this.#namespace, keyOf(treeRoot));
    const live = this.#toLocks(new Map(rows.map(({ key, value }) => [key, value])));
    const paths = new Set(live.map(({ path }) => keyOf(path)));
    const expired = rows.map(({ key }) => key).filter((key) => !paths.has(key));
    for (let at = 0; at < expired.length; at += maxRowsPerTransaction)
      await this.#removeExpired(expired.slice(at, at + maxRowsPerTransaction));
    return live.map(({ holder }) => holder);
  }

  /** Reads the rows again in the transaction: a lock may have been taken on the same path since. */
  #removeExpired(keys: readonly string[]): Promise<void> {
    return this.#rows.kv.change(this.#namespace, { keys }, (rows) => {
      const live = new Set(this.#toLocks(rows).map(({ path }) => keyOf(path)));
      const gone = keys.filter((key) => !live.has(key));
      return { write: new Map(gone.map((key) => [key, undefined])), result: undefined };
    });
  }

  /** The locks whose access token no longer exists. */
  async #orphansAmong(locks: readonly Lock[]): Promise<Lock[]> {
    const holders = [...new Set(locks.map(({ holder }) => holder))];
    const existing = await this.#rows.existingTokens(holders);
    return locks.filter(({ holder }) => !existing.has(holder));
  }

  async #removeOrphans(orphans: readonly Lock[]): Promise<void> {
    const removed = new Set(orphans.map(({ token }) => token));
    const keys = [...new Set(orphans.map(({ path }) => keyOf(path)))];
    for (let at = 0; at < keys.length; at += maxRowsPerTransaction) {
      const some = keys.slice(at, at + maxRowsPerTransaction);
      await this.#rows.kv.change(this.#namespace, { keys: some }, (rows) => {
        const remaining = Map.groupBy(
          this.#toLocks(rows).filter(({ token }) => !removed.has(token)),
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
    return this.#rows.kv.change(this.#namespace, { keys: [key] }, (rows) => {
      const locks = this.#toLocks(rows);
      const present = locks.some(({ token }) => token === lock.token);
      const rest = locks.filter(({ token }) => token !== lock.token);
      const remaining = present && next !== undefined ? [...rest, next] : rest;
      return {
        write: new Map([[key, remaining.length === 0 ? undefined : remaining.map(toStored)]]),
        result: present ? next : undefined,
      };
    });
  }

  /** Leaves out expired locks. */
  #toLocks(rows: ReadonlyMap<string, unknown>): Lock[] {
    const now = this.#rows.now();
    return [...rows].flatMap(([key, value]) => {
      const path = pathOfKey(key);
      if (path === undefined) return [];
      return (value as StoredLock[])
        .filter(({ until }) => until > now)
        .map((stored) => ({ ...stored, path }));
    });
  }
}

/** LockIndex has locks by lock root, so that a listing of many resources does not search all locks for each of them. */
export class LockIndex {
  readonly #byPath: ReadonlyMap<TreePath, readonly Lock[]>;
  /** When the locks were read, in Unix milliseconds of the clock by which they expire. */
  readonly readAtMs: number;

  constructor(locks: readonly Lock[], readAtMs: number) {
    this.readAtMs = readAtMs;
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

/** covers returns whether a lock protects the resource at a path. */
export function covers(lock: Lock, path: TreePath): boolean {
  return lock.path === path || (lock.deep && isBelow(path, lock.path));
}

function toStored({ path: _, ...stored }: Lock): StoredLock {
  return stored;
}

/** TooManyLocksFault is thrown at one of the limits below. WebDAV answers 507. */
export class TooManyLocksFault extends Fault {
  constructor(detail: string) {
    super("Other", detail);
  }
}

/** Locks of one bucket. */
const maxLocksPerBucket = 10_000;
/** Locks that one access token may hold in a bucket. Clients hold one per open file. */
const maxLocksPerToken = 1000;
/** Time between two counts. */
const intervalMs = 60_000;
/** The same while a limit is reached: a count reads every lock of the bucket. */
const urgentIntervalMs = 1000;

/** LockCounts are the numbers of locks of one bucket: what the last count found, plus the locks that were taken since. */
class LockCounts {
  #countedAt = Number.NEGATIVE_INFINITY;
  #total = 0;
  #byHolder = new Map<string, number>();
  readonly #counts = new SharedRuns();

  /** assertBelowLimits throws TooManyLocksFault if the bucket, or this holder, has as many locks as allowed. */
  assertBelowLimits(holder: string): void {
    if (this.#isFullFor(holder))
      throw new TooManyLocksFault(
        `a token may hold ${maxLocksPerToken} locks in a bucket, and all tokens together ${maxLocksPerBucket}; release some, or wait until they expire`,
      );
  }

  add(holder: string): void {
    this.#total += 1;
    this.#byHolder.set(holder, (this.#byHolder.get(holder) ?? 0) + 1);
  }

  /** isDue returns whether the locks should be counted again before this holder takes one. */
  isDue(holder: string): boolean {
    const age = performance.now() - this.#countedAt;
    return age > (this.#isFullFor(holder) ? urgentIntervalMs : intervalMs);
  }

  /** refresh counts again, once for everyone who needs it at the same time. `count` returns the holder of each lock. */
  refresh(count: () => Promise<readonly string[]>): Promise<void> {
    return this.#counts.join("", () => this.#count(count));
  }

  async #count(count: () => Promise<readonly string[]>): Promise<void> {
    const holders = await count();
    this.#total = holders.length;
    this.#byHolder = new Map();
    for (const holder of holders) this.#byHolder.set(holder, (this.#byHolder.get(holder) ?? 0) + 1);
    this.#countedAt = performance.now();
  }

  #isFullFor(holder: string): boolean {
    return this.#total >= maxLocksPerBucket || (this.#byHolder.get(holder) ?? 0) >= maxLocksPerToken;
  }
}
