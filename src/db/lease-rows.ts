import { sql, type Transaction } from "kysely";
import type { Dialect } from "./dialect.ts";
import { putRow } from "./put-row.ts";
import type { Schema } from "./schema.ts";
import { taskScope } from "./scopes.ts";

/** The namespace of a row for each task. */
const leasesNamespace = "static-files/leases";
/** `careTask` is the daily care of an object store. */
export const careTask = "care";

/** LeaseValue is the row of a task. Times are Unix milliseconds of the database's clock. */
interface LeaseValue {
  /** The server that does the task, or did it last. */
  readonly holder: string;
  /** The lease ends by itself at this time, so a holder that died holds nobody up for long. */
  readonly until: number;
  /** When the task was last done to its end; 0 for never. */
  readonly done: number;
}

export interface LeaseOptions {
  /** Who asks: equal for no two processes. */
  readonly holder: string;
  /** How long the lease is valid without a renewal. */
  readonly leaseMs: number;
}

/** LeaseRows make one of several servers do a task that is to be done once for all of them. */
export class LeaseRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Takes the lease of a task that is due `everyMs` after it was last done. Returns 0 if the caller now has it; otherwise the time, in
   * milliseconds, after which asking again makes sense.
   */
  take(task: string, options: LeaseOptions & { readonly everyMs: number }): Promise<number> {
    const { holder, leaseMs, everyMs } = options;
    return this.#change(task, (lease, now) => {
      if (lease !== undefined && lease.until > now && lease.holder !== holder)
        return { result: lease.until - now };
      // A time in the future is from before the clock was set back.
      const done = lease === undefined || lease.done > now ? 0 : lease.done;
      if (done + everyMs > now) return { result: done + everyMs - now };
      return { write: { holder, until: now + leaseMs, done }, result: 0 };
    });
  }

  /** Returns false if the lease ended and another server has taken it. */
  renew(task: string, { holder, leaseMs }: LeaseOptions): Promise<boolean> {
    return this.#change(task, (lease, now) => {
      if (lease?.holder !== holder) return { result: false };
      return { write: { ...lease, until: now + leaseMs }, result: true };
    });
  }

  /** Ends the caller's lease. `isDone` tells whether the task was done to its end; if not, another server may begin at once. */
  async release(task: string, holder: string, { isDone }: { readonly isDone: boolean }): Promise<void> {
    await this.#change(task, (lease, now) => {
      if (lease?.holder !== holder) return { result: undefined };
      return { write: { holder, until: 0, done: isDone ? now : lease.done }, result: undefined };
    });
  }

  /** Makes a task due at once, unless somebody does it now. */
  async forget(task: string): Promise<void> {
    await this.#change(task, (lease, now) =>
      lease === undefined || lease.until > now
        ? { result: undefined }
        : { write: { ...lease, done: 0 }, result: undefined },
    );
  }

  #change<T>(
    task: string,
    change: (
      lease: LeaseValue | undefined,
      now: number,
    ) => { readonly write?: LeaseValue; readonly result: T },
  ): Promise<T> {
    return this.#dialect.exclusively(taskScope(task), async (transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const row = await transaction
        .selectFrom("kv")
        .select("value")
        .where("namespace", "=", leasesNamespace)
        .where("key", "=", task)
        .executeTakeFirst();
      const lease = row === undefined ? undefined : (this.#dialect.fromJson(row.value) as LeaseValue);
      const { write, result } = change(lease, now);
      if (write === undefined) return result;
      await putRow(transaction, { namespace: leasesNamespace, key: task }, this.#dialect.json(write));
      return result;
    });
  }
}

/** `readClock` is the time by the database's clock, in Unix milliseconds. */
export async function readClock(
  dialect: Dialect,
  query: Dialect["query"] | Transaction<Schema> = dialect.query,
): Promise<number> {
  const { rows } = await sql<{ now: number | bigint }>`SELECT ${dialect.nowMs} AS now`.execute(query);
  return Number(rows[0]?.now);
}
