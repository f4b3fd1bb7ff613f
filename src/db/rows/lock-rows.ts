import { sql, type Transaction } from "kysely";
import { Collection } from "../collection.ts";
import { type Dialect, type Schema, taskScope } from "../dialect.ts";

/** `maintenanceTask` is the daily maintenance of an object store. */
export const maintenanceTask = "care";

/** TaskLockValue is the row of a task. Times are Unix milliseconds of the database's clock. */
interface TaskLockValue {
  /** The server that does the task, or did it last. */
  readonly holder: string;
  /** The lock expires at this time, so a holder that died holds nobody up for long. */
  readonly until: number;
  /** When the task was last done to its end; 0 for never. */
  readonly done: number;
}

interface TaskLockOptions {
  /** Who asks: equal for no two processes. */
  readonly holder: string;
  /** Validity of the lock without a renewal. */
  readonly lockMs: number;
}

/** TaskLockRows make one of several servers do a task that is to be done once for all of them. */
export class TaskLockRows {
  readonly #dialect: Dialect;
  /** By task. */
  readonly #locks: Collection<TaskLockValue>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#locks = new Collection(dialect, "static-files/leases");
  }

  /**
   * acquire takes the lock of a task that is due `everyMs` after it was last done. Returns 0 if the caller now has it; otherwise
   * the time, in milliseconds, after which asking again makes sense.
   */
  acquire(task: string, options: TaskLockOptions & { readonly everyMs: number }): Promise<number> {
    const { holder, lockMs, everyMs } = options;
    return this.#change(task, (lock, now) => {
      if (lock !== undefined && lock.until > now && lock.holder !== holder)
        return { result: lock.until - now };
      // A time in the future is from before the clock was set back.
      const done = lock === undefined || lock.done > now ? 0 : lock.done;
      if (done + everyMs > now) return { result: done + everyMs - now };
      return { write: { holder, until: now + lockMs, done }, result: 0 };
    });
  }

  /** renew returns false if the lock expired and another server has taken it. */
  renew(task: string, { holder, lockMs }: TaskLockOptions): Promise<boolean> {
    return this.#change(task, (lock, now) => {
      if (lock?.holder !== holder) return { result: false };
      return { write: { ...lock, until: now + lockMs }, result: true };
    });
  }

  /** release ends the caller's lock. `isDone` is whether the task was done to its end; if not, another server may begin at once. */
  async release(task: string, holder: string, { isDone }: { readonly isDone: boolean }): Promise<void> {
    await this.#change(task, (lock, now) => {
      if (lock?.holder !== holder) return { result: undefined };
      return { write: { holder, until: 0, done: isDone ? now : lock.done }, result: undefined };
    });
  }

  /** Makes a task due at once, unless somebody does it now. */
  async forget(task: string): Promise<void> {
    await this.#change(task, (lock, now) =>
      lock === undefined || lock.until > now
        ? { result: undefined }
        : { write: { ...lock, done: 0 }, result: undefined },
    );
  }

  #change<T>(
    task: string,
    change: (
      lock: TaskLockValue | undefined,
      now: number,
    ) => { readonly write?: TaskLockValue; readonly result: T },
  ): Promise<T> {
    return this.#locks.exclusively(async (locks, transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const { write, result } = change(await locks.get(task), now);
      if (write !== undefined) await locks.put(task, write);
      return result;
    }, taskScope(task));
  }
}

/** `readClock` returns the time by the database's clock, in Unix milliseconds. */
export async function readClock(
  dialect: Dialect,
  query: Dialect["query"] | Transaction<Schema> = dialect.query,
): Promise<number> {
  const { rows } = await sql<{ now: number | bigint }>`SELECT ${dialect.nowMs} AS now`.execute(query);
  return Number(rows[0]?.now);
}

/** TransferLock is a change of a whole site under way: a push or a deploy. Times are Unix milliseconds of the database's clock. */
interface TransferLock {
  /** Known to the program alone that has begun it. */
  readonly lease: string;
  /** What it does, for people. */
  readonly what: string;
  /** The token: its user name, or its key. */
  readonly by: string;
  readonly since: number;
  /** It ends by itself at this time, so a program that died holds nobody up for long. */
  readonly until: number;
}

/** TransferLockRows let one program at a time change a site as a whole. They bind only programs that ask for it. */
export class TransferLockRows {
  readonly #dialect: Dialect;
  /** By the id of the bucket. */
  readonly #locks: Collection<TransferLock>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#locks = new Collection(dialect, "static-bucket/transfers");
  }

  /**
   * acquire begins a transfer, or renews the transfer of the same lease. Returns the transfer that is under way now, the caller's or
   * somebody else's, and whether this call began it.
   */
  acquire(
    bucketId: number,
    { lease, what, by, lockMs }: Pick<TransferLock, "lease" | "what" | "by"> & { readonly lockMs: number },
  ): Promise<{ readonly transfer: TransferLock; readonly isNew: boolean }> {
    const key = String(bucketId);
    return this.#locks.exclusively(async (locks, transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const present = await locks.get(key);
      if (present !== undefined && present.until > now && present.lease !== lease)
        return { transfer: present, isNew: false };
      const isNew = present?.lease !== lease;
      const since = isNew ? now : present.since;
      const transfer: TransferLock = { lease, what, by, since, until: now + lockMs };
      await locks.put(key, transfer);
      return { transfer, isNew };
    });
  }

  /** Ends a transfer. False if it has ended already. */
  release(bucketId: number, lease: string): Promise<boolean> {
    const key = String(bucketId);
    return this.#locks.exclusively(async (locks) => {
      const present = await locks.get(key);
      return present?.lease === lease && (await locks.delete(key)) > 0;
    });
  }
}
