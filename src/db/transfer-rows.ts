import type { Transaction } from "kysely";
import type { Dialect } from "./dialect.ts";
import { readClock } from "./lease-rows.ts";
import { putRow } from "./put-row.ts";
import type { Schema } from "./schema.ts";
import { namespaceScope } from "./scopes.ts";

/** The namespace of a row for each bucket whose site somebody is changing as a whole, by its id. */
const transfersNamespace = "static-bucket/transfers";

/** Transfer is a change of a whole site under way: a push or a deploy. Times are Unix milliseconds of the database's clock. */
export interface Transfer {
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
