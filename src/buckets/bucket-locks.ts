import { covers, type Lock } from "./metadata/locks.ts";
import type { Metadata } from "./metadata/metadata.ts";
import type { TreePath } from "./path.ts";
import type { BucketView, FileStore, ResolvedPath, WriteConditions } from "./ports.ts";

/** WantedLock is a lock to be taken. */
export interface WantedLock extends Omit<Lock, "path" | "until"> {
  /** How long it is valid. */
  readonly timeoutMs: number;
}

export interface Release {
  readonly token: string;
  readonly conditions: WriteConditions;
  /** Whether the caller may release this lock. */
  readonly mayRelease: (lock: Lock) => boolean;
}

/** BucketLocks takes, refreshes and releases the WebDAV locks of a bucket (RFC 4918 §6). Times of expiry are by the store's clock. */
export class BucketLocks {
  readonly #store: FileStore;
  readonly #metadata: Metadata;

  constructor(store: FileStore, metadata: Metadata) {
    this.#store = store;
    this.#metadata = metadata;
  }

  /**
   * take takes a lock. Where nothing exists, an empty file is created (RFC 4918 §7.3). Throws LockedFault when another lock conflicts,
   * TooManyLocksFault when a limit is reached, and whatever the conditions throw.
   */
  async take(
    path: TreePath,
    { timeoutMs, ...wanted }: WantedLock,
    conditions: WriteConditions,
  ): Promise<{ readonly lock: Lock; readonly created: boolean }> {
    if (this.#metadata.locks.isSweepDue(wanted.holder))
      await this.#store.transactMetadata(({ metadata }) => metadata.locks.sweep());
    return this.#store.transact(path, async (transaction, target) => {
      await conditions.assertPreconditions(target, transaction);
      const { locks, properties } = transaction.metadata;
      const created = target.entry === undefined;
      if (created) await locks.assertUnlocked(conditions, { path: target.path, changesParent: true });
      const lock = await locks.take({ ...wanted, path: target.path, until: locks.now() + timeoutMs });
      if (!created) return { lock, created };
      try {
        await transaction.makeFile(target.path);
        await properties.forget(target.path);
        return { lock, created };
      } catch (error) {
        await locks.release(lock);
        throw error;
      }
    });
  }

  /** refresh makes a lock on or above a path, which the caller holds, valid for `timeoutMs` from now. Undefined if there is none. */
  async refresh(path: TreePath, timeoutMs: number, conditions: WriteConditions): Promise<Lock | undefined> {
    return this.#store.transactMetadata(async (view) => {
      const covering = await this.#covering(view, path, conditions);
      const held = covering.find((lock) => conditions.holdsLock(lock));
      const { locks } = view.metadata;
      return held && (await locks.refresh(held, locks.now() + timeoutMs));
    });
  }

  /** release ends a lock on or above a path. */
  async release(
    path: TreePath,
    { token, conditions, mayRelease }: Release,
  ): Promise<"released" | "missing" | "forbidden"> {
    return this.#store.transactMetadata(async (view) => {
      const held = (await this.#covering(view, path, conditions)).find((lock) => lock.token === token);
      if (held === undefined) return "missing";
      if (!mayRelease(held)) return "forbidden";
      await view.metadata.locks.release(held);
      return "released";
    });
  }

  async #covering(view: BucketView, path: TreePath, conditions: WriteConditions): Promise<Lock[]> {
    const target: ResolvedPath = await view.reader.resolve(path);
    await conditions.assertPreconditions(target, view);
    const around = await view.metadata.locks.around(target.path);
    return around.filter((lock) => covers(lock, target.path));
  }
}
