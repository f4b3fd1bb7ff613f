import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { Collection, damagedRow } from "../collection.ts";
import { type Dialect, type Schema, storeScope } from "../dialect.ts";
import { filesPrefix, folderNamespace, headsNamespace, isRemoved, removedNamespace } from "./entry-rows.ts";
import type { EntryValue, HeadValue, RemovedValue } from "./entry-values.ts";
import { readClock } from "./lock-rows.ts";

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
  /** The address of that store, for people. */
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

/** StoreIdentityRows has the row that ties the database to the store of its files. */
export class StoreIdentityRows {
  readonly #dialect: Dialect;
  readonly #rows: Collection<StoreValue>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#rows = new Collection(dialect, storeNamespace);
  }

  /** Undefined if no server has used an object store with this database. */
  read(): Promise<StoreValue | undefined> {
    return readIdentity(this.#rows);
  }

  /** Changes the row, which is created first if there is none, and returns its new value. */
  change(changed: (value: StoreValue, nowMs: number) => StoreValue): Promise<StoreValue> {
    return this.#rows.exclusively(async (rows, transaction) => {
      const found = await readIdentity(rows);
      const now = await readClock(this.#dialect, transaction);
      const next = changed(found ?? { database: Bun.randomUUIDv7() }, now);
      if (found === undefined || !Bun.deepEquals(found, next)) await rows.put(storeKey, next);
      return next;
    }, storeScope);
  }
}

async function readIdentity(rows: Collection<StoreValue>): Promise<StoreValue | undefined> {
  const value = await rows.get(storeKey);
  // The row may have been written by hand: null, or an object of another form.
  if (value !== undefined && typeof value?.database !== "string")
    throw damagedRow({ namespace: storeNamespace, key: storeKey });
  return value;
}

/** Rows of a batch: reading them takes SQLite, which stops everybody else meanwhile, about two milliseconds. */
const batchRows = 500;

/** ObjectRow is what one row names: a blob, a folder, or neither. */
export interface ObjectRow {
  readonly blob: string | null;
  /** The size that the blob has by this row, in bytes. */
  readonly size: number;
  /** SHA-256 of the blob by this row, in hexadecimal. */
  readonly hash: string | null;
  /** The id of a folder: one in the tree, a removed one, or the root of a bucket or a deploy. */
  readonly folder: string | null;
}

/** NamedRow is a row of one namespace. */
export interface NamedRow<V> {
  readonly key: string;
  readonly value: V;
}

/** RemovedVersion is what one change of a bucket has deleted or replaced. */
interface RemovedVersion {
  readonly version: number;
  readonly removed: readonly RemovedValue[];
}

/**
 * `namesContent` is a statement that has a row if any file of an object store has content. Values of other namespaces are not
 * ours, and may be of any form.
 */
export const namesContent = `SELECT 1 AS found FROM kv WHERE CASE WHEN substr(namespace, 1, ${filesPrefix.length}) = '${filesPrefix}'
  THEN coalesce(value ->> 'blob', value -> 'entry' ->> 'blob') END IS NOT NULL LIMIT 1`;

/** ObjectRows reads the rows of the object store as they were at one moment. */
export class ObjectRows {
  readonly #query: Kysely<Schema>;
  readonly #dialect: Pick<Dialect, "fromJson" | "byCodePoints" | "numberOfKey">;

  constructor(query: Kysely<Schema>, dialect: Pick<Dialect, "fromJson" | "byCodePoints" | "numberOfKey">) {
    this.#query = query;
    this.#dialect = dialect;
  }

  /** Whether any row names content: a store without it is not the one of this database, or not mounted. */
  async haveContent(): Promise<boolean> {
    return (await sql.raw(namesContent).execute(this.#query)).rows.length > 0;
  }

  /** all yields what the rows of all buckets name, removed and deployed files included, in batches and in no order. */
  async *all(): AsyncGenerator<readonly ObjectRow[]> {
    // Values of other namespaces are not ours, and may be of any form.
    const isOurs = sql`substr(namespace, 1, ${sql.lit(filesPrefix.length)}) = ${sql.lit(filesPrefix)}`;
    const either = (name: string) =>
      sql`coalesce(value ->> ${sql.lit(name)}, value -> 'entry' ->> ${sql.lit(name)})`;
    for (let after = 0n; ; ) {
      const { rows } = await sql<ScannedRow>`
        SELECT id, CASE WHEN ${isOurs} THEN ${either("blob")} END AS blob, CASE WHEN ${isOurs} THEN ${either("size")} END AS size,
          CASE WHEN ${isOurs} THEN ${either("hash")} END AS hash,
          CASE WHEN ${isOurs} THEN coalesce(${either("id")}, value ->> 'root') END AS folder
        FROM kv WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(batchRows)}`.execute(this.#query);
      const names = rows.filter(({ blob, folder }) => blob !== null || folder !== null);
      yield names.map(({ blob, size, hash, folder }) => ({ blob, size: Number(size), hash, folder }));
      if (rows.length < batchRows) return;
      after = BigInt(rows.at(-1)?.id ?? 0);
    }
  }

  /** The buckets that have files in the object store, by the paths of their records. */
  heads(): AsyncGenerator<ReadonlyArray<NamedRow<HeadValue>>> {
    return this.#rows<HeadValue>(headsNamespace);
  }

  /** The files and folders of a folder, in batches, sorted as the database does. */
  entries(folderId: string): AsyncGenerator<ReadonlyArray<NamedRow<EntryValue>>> {
    return this.#rows<EntryValue>(folderNamespace(folderId));
  }

  /** inOrder yields what `entries` does, after `after` and by code points: the same order on every database. */
  inOrder(folderId: string, after?: string): AsyncGenerator<ReadonlyArray<NamedRow<EntryValue>>> {
    return this.#rows<EntryValue>(folderNamespace(folderId), {
      after,
      key: this.#dialect.byCodePoints("key"),
    });
  }

  /** One file or folder of a folder; undefined if there is none of that name. */
  async entry(folderId: string, name: string): Promise<EntryValue | undefined> {
    const row = await this.#query
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", folderNamespace(folderId))
      .where("key", "=", name)
      .executeTakeFirst();
    return row && (this.#dialect.fromJson(row.value) as EntryValue);
  }

  removed(bucketPath: string): AsyncGenerator<ReadonlyArray<NamedRow<RemovedValue>>> {
    return this.#rows<RemovedValue>(removedNamespace(bucketPath));
  }

  /**
   * What was removed in a bucket, the newest first, and all of one version together; with `from` the versions up to that. It is read as it
   * is asked for, `atOnce` rows in a statement.
   */
  async *newestRemoved(
    bucketPath: string,
    { from, atOnce = batchRows }: { readonly from?: number | undefined; readonly atOnce?: number },
  ): AsyncGenerator<RemovedVersion> {
    const version = sql<number>`${sql.raw(this.#dialect.numberOfKey)}`;
    const rows = (condition?: RawBuilder<SqlBool>) => {
      const all = this.#query
        .selectFrom("kv")
        .select(["key", "value", version.as("version")])
        .where("namespace", "=", removedNamespace(bucketPath))
        .where(sql<SqlBool>`${sql.raw(isRemoved)}`);
      return condition === undefined ? all : all.where(condition);
    };
    for (let bound = from === undefined ? undefined : sql<SqlBool>`${version} <= ${from}`; ; ) {
      const found = await rows(bound).orderBy(version, "desc").limit(atOnce).execute();
      const last = found.at(-1)?.version;
      if (last === undefined) return;
      const isEnd = found.length < atOnce;
      // Some of the last version may be missing.
      const ofLast = isEnd ? [] : await rows(sql<SqlBool>`${version} = ${last}`).execute();
      const complete = isEnd ? found : [...found.filter((row) => row.version !== last), ...ofLast];
      const byVersion = Map.groupBy(complete, (row) => Number(row.version));
      for (const [number, same] of byVersion)
        yield {
          version: number,
          removed: same.map(({ value }) => this.#dialect.fromJson(value) as RemovedValue),
        };
      if (isEnd) return;
      bound = sql<SqlBool>`${version} < ${last}`;
    }
  }

  async *#rows<V>(
    namespace: string,
    { after, key = sql.ref("key") }: { after?: string | undefined; key?: RawBuilder<unknown> } = {},
  ): AsyncGenerator<ReadonlyArray<NamedRow<V>>> {
    for (;;) {
      let rows = this.#query
        .selectFrom("kv")
        .select(["key", "value"])
        .where("namespace", "=", namespace)
        .orderBy(key)
        .limit(batchRows);
      if (after !== undefined) rows = rows.where(sql<SqlBool>`${key} > ${after}`);
      const found = await rows.execute();
      yield found.map(({ key, value }) => ({ key, value: this.#dialect.fromJson(value) as V }));
      if (found.length < batchRows) return;
      after = found.at(-1)?.key;
    }
  }
}

interface ScannedRow {
  readonly id: number | bigint;
  readonly blob: string | null;
  readonly size: number | string | null;
  readonly hash: string | null;
  readonly folder: string | null;
}
