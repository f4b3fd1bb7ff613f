import type { Transaction } from "kysely";
import type { Dialect } from "./dialect.ts";
import { readClock } from "./lease-rows.ts";
import { putRow } from "./put-row.ts";
import type { Schema } from "./schema.ts";
import { storeScope } from "./scopes.ts";

/** `storeNamespace` is the namespace of one row, which a backup does not bring along. */
export const storeNamespace = "static-files/store";
export const storeKey = "store";

/**
 * StoreValue says which store the files of this database are in. Times are Unix milliseconds of the database's clock.
 */
export interface StoreValue {
  /** Names this database in the marks of the stores that it owns. */
  readonly database: string;
  /** The store that a server last used: the id in its mark, or `disk`. Undefined before the first one. */
  readonly store?: string;
  /** Where that store is, for people. */
  readonly url?: string;
  /** When a server last began to use it. */
  readonly opened?: number;
  /** The store to which all files were last copied, and when. */
  readonly copied?: { readonly store: string; readonly at: number };
  /** The id of the next store that this database marks as its own: equal for all nodes that start at once. */
  readonly next?: string;
  /** Blobs that nothing names are kept until then, after the database was restored. */
  readonly keep_orphans_until?: number;
}

/** StoreRows is the row that ties the database to the store of its files. */
export class StoreRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Undefined if no server has used an object store with this database. */
  read(): Promise<StoreValue | undefined> {
    return this.#read(this.#dialect.query);
  }

  /** Changes the row, which is created first if there is none, and returns its new value. */
  change(changed: (value: StoreValue, nowMs: number) => StoreValue): Promise<StoreValue> {
    return this.#dialect.exclusively(storeScope, async (transaction) => {
      const found = await this.#read(transaction);
      const now = await readClock(this.#dialect, transaction);
      const next = changed(found ?? { database: Bun.randomUUIDv7() }, now);
      if (found !== undefined && Bun.deepEquals(found, next)) return next;
      await putRow(transaction, { namespace: storeNamespace, key: storeKey }, this.#dialect.json(next));
      return next;
    });
  }

  async #read(query: Dialect["query"] | Transaction<Schema>): Promise<StoreValue | undefined> {
    const row = await query
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", storeNamespace)
      .where("key", "=", storeKey)
      .executeTakeFirst();
    return row && (this.#dialect.fromJson(row.value) as StoreValue);
  }
}
