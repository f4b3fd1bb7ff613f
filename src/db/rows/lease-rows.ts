import { sql, type Transaction } from "kysely";
import { type Dialect, namespaceScope, type Schema, taskScope } from "../dialect.ts";
import { putRow } from "./kv-rows.ts";

/** The namespace of a row for each task. */
const leasesNamespace = "static-files/leases";
/** `maintenanceTask` is the daily maintenance of an object store. */
export const maintenanceTask = "care";

/** LeaseValue is the row of a task. Times are Unix milliseconds of the database's clock. */
interface LeaseValue {
  /** The server that does the task, or did it last. */
  readonly holder: string;
  /** The lease ends by itself at this time, so a holder that died holds nobody up for long. */
  readonly until: number;
  /** When the task was last done to its end; 0 for never. */
  readonly done: number;
}

interface LeaseOptions {
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

/** The namespace of a row for each bucket whose site somebody is changing as a whole, by its id. */
const transfersNamespace = "static-bucket/transfers";

/** Transfer is a change of a whole site under way: a push or a deploy. Times are Unix milliseconds of the database's clock. */
interface Transfer {
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

/** TransferRows let one program at a time change a site as a whole. They bind only programs that ask for it. */
export class TransferRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Begins a transfer, or renews that of the same lease. Returns the one that is under way now, the caller's or somebody else's,
   * and whether this call began it.
   */
  take(
    bucketId: number,
    { lease, what, by, leaseMs }: Pick<Transfer, "lease" | "what" | "by"> & { readonly leaseMs: number },
  ): Promise<{ readonly transfer: Transfer; readonly isNew: boolean }> {
    const key = String(bucketId);
    return this.#exclusively(async (transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const row = await transaction
        .selectFrom("kv")
        .select("value")
        .where("namespace", "=", transfersNamespace)
        .where("key", "=", key)
        .executeTakeFirst();
      const present = row === undefined ? undefined : (this.#dialect.fromJson(row.value) as Transfer);
      if (present !== undefined && present.until > now && present.lease !== lease)
        return { transfer: present, isNew: false };
      const isNew = present?.lease !== lease;
      const since = isNew ? now : present.since;
      const transfer: Transfer = { lease, what, by, since, until: now + leaseMs };
      await putRow(transaction, { namespace: transfersNamespace, key }, this.#dialect.json(transfer));
      return { transfer, isNew };
    });
  }

  /** Ends a transfer. False if it has ended already. */
  release(bucketId: number, lease: string): Promise<boolean> {
    const key = String(bucketId);
    return this.#exclusively(async (transaction) => {
      const row = await transaction
        .selectFrom("kv")
        .select(["id", "value"])
        .where("namespace", "=", transfersNamespace)
        .where("key", "=", key)
        .executeTakeFirst();
      if (row === undefined || (this.#dialect.fromJson(row.value) as Transfer).lease !== lease) return false;
      await transaction.deleteFrom("kv").where("id", "=", row.id).execute();
      return true;
    });
  }

  #exclusively<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T> {
    return this.#dialect.exclusively(namespaceScope(transfersNamespace), work);
  }
}
