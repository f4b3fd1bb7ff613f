// This folder has the typed records of the database: other modules call the methods of a class here and never see a
// statement. Tokens, buckets and agents have tables of their own. Everything else is JSON in the table `kv`: a file
// declares the namespaces that it owns and the form of their values, as collections (../collection.ts). The files of an
// object store are entry-, head- and removed-rows.ts, with their values in entry-values.ts; store-rows.ts finds what
// names a blob, and ties a database to its store. lock-rows.ts lets one of several servers do a task. This file has
// the locks and properties of files.

import { type CompiledQuery, type SqlBool, sql, type Transaction } from "kysely";
import { codeOf, Fault } from "../../base/fault.ts";
import { Collection, type Condition, damagedRow, type Query } from "../collection.ts";
import { type Dialect, namespaceScope, type Schema } from "../dialect.ts";
import { RowCache } from "../freshness.ts";

/** `maxKeyBytes` is the longest key: an index entry of PostgreSQL, less the namespace. */
export const maxKeyBytes = 2000;
/** `superTokenRolls` is the namespace of the notes that `roll-super-token` leaves for the audit; their keys are those of the new tokens. */
export const superTokenRolls = "super_token_rolls";
const maxCachedNamespaces = 10_000;

interface KvRow {
  readonly key: string;
  readonly value: unknown;
}

/** BoundTo is the transaction that all statements of a KvRows run in, or undefined for a turn without one. */
interface BoundTo {
  readonly transaction: Transaction<Schema> | undefined;
  readonly anyIn: CompiledQuery<unknown>;
}

/**
 * KvRows are JSON values by namespace and key. Keys are paths: "below" a key are those that begin with it and a slash. It has more than 15
 * methods because each of them asks first whether the namespace is empty, inside and outside of a transaction.
 */
export class KvRows {
  readonly #dialect: Dialect;
  readonly #query: Query;
  readonly #transaction: Transaction<Schema> | undefined;
  /** Whether a namespace is empty. Most buckets have neither locks nor properties. */
  readonly #emptiness: RowCache<boolean>;
  /**
   * The same as the transaction, or the turn, sees it; undefined outside of both. A namespace that it wrote to counts as filled from
   * then on, because a savepoint may undo what emptied it.
   */
  readonly #emptinessInside: Map<string, boolean> | undefined;
  /** Compiled once. Its parameters are the namespace and the number of rows. */
  readonly #anyIn: CompiledQuery<unknown>;

  constructor(dialect: Dialect, bound?: BoundTo) {
    this.#dialect = dialect;
    this.#transaction = bound?.transaction;
    this.#emptinessInside = bound && new Map();
    this.#query = bound?.transaction ?? dialect.query;
    this.#emptiness = new RowCache(dialect, { maxValues: maxCachedNamespaces });
    this.#anyIn =
      bound?.anyIn ??
      dialect.query.selectFrom("kv").select("id").where("namespace", "=", "").limit(1).compile();
  }

  /**
   * Returns the same rows as a transaction sees and changes them. It asks once whether a namespace is empty; nobody else may fill one
   * that it reads until the transaction ends.
   */
  within(transaction: Transaction<Schema>): KvRows {
    return new KvRows(this.#dialect, { transaction, anyIn: this.#anyIn });
  }

  /** Returns the same rows for one turn, in which nobody else fills a namespace that it reads. It asks once whether that is empty. */
  inTurn(): KvRows {
    return new KvRows(this.#dialect, { transaction: this.#transaction, anyIn: this.#anyIn });
  }

  async getMany(namespace: string, keys: readonly string[]): Promise<KvRow[]> {
    if (await this.#isEmptyByCache(namespace)) return [];
    return this.#read(this.#query, namespace, keys);
  }

  /**
   * getInParts returns the values of keys in parts of about `maxBytes`, or of one larger value: all of them together may be more than the
   * memory. `count` is how many of the keys, in their order, a part is about.
   */
  async *getInParts(
    namespace: string,
    keys: readonly string[],
    maxBytes: number,
  ): AsyncGenerator<{ readonly count: number; readonly rows: readonly KvRow[] }> {
    const sizes = new Map<string, number>();
    if (keys.length > 0 && !(await this.#isEmptyByCache(namespace))) {
      const found = await this.#query
        .selectFrom("kv")
        .select(["key", sql<number | bigint>`octet_length(cast(value as text))`.as("bytes")])
        .where("namespace", "=", namespace)
        .where("key", "in", keys)
        .execute();
      for (const { key, bytes } of found) sizes.set(key, Number(bytes));
    }
    let [from, total] = [0, 0];
    const part = async (to: number) => {
      const wanted = keys.slice(from, to).filter((key) => sizes.has(key));
      const count = to - from;
      [from, total] = [to, 0];
      return { count, rows: await this.#read(this.#query, namespace, wanted) };
    };
    for (const [at, key] of keys.entries()) {
      const bytes = sizes.get(key) ?? 0;
      if (total > 0 && total + bytes > maxBytes) yield await part(at);
      total += bytes;
    }
    if (from < keys.length) yield await part(keys.length);
  }

  /** subtreeKeys returns a key, if it exists, and all keys below it. */
  async subtreeKeys(namespace: string, key: string): Promise<string[]> {
    if (await this.#isEmptyByCache(namespace)) return [];
    const rows = await this.#query
      .selectFrom("kv")
      .select("key")
      .where("namespace", "=", namespace)
      .where(isWithin(key))
      .execute();
    return rows.map((row) => row.key);
  }

  /** Returns a key and everything below it. */
  async subtree(namespace: string, key: string): Promise<KvRow[]> {
    if (await this.#isEmptyByCache(namespace)) return [];
    return toRows(await this.#in(namespace).list({ where: isWithin(key) }));
  }

  async isEmpty(namespace: string): Promise<boolean> {
    const hasNone = async () => {
      const { rows } = await this.#query.executeQuery({ ...this.#anyIn, parameters: [namespace, 1] });
      return rows.length === 0;
    };
    const inside = this.#emptinessInside;
    if (inside === undefined) return this.#emptiness.read(namespace, hasNone);
    const isEmpty = inside.get(namespace) ?? (await hasNone());
    inside.set(namespace, isEmpty);
    return isEmpty;
  }

  /** isKnownEmpty returns whether a namespace is known to be empty, without waiting. */
  isKnownEmpty(namespace: string): boolean {
    return (this.#emptinessInside ?? this.#emptiness).get(namespace) === true;
  }

  /** Asks whether a namespace is empty, but only where the answer can be cached: elsewhere that would cost a second query. */
  async #isEmptyByCache(namespace: string): Promise<boolean> {
    const canCache = this.#emptinessInside !== undefined || this.#dialect.dataVersion !== undefined;
    return canCache && this.isEmpty(namespace);
  }

  /** Runs `work` in the transaction that this is bound to, or in an exclusive one. */
  #exclusively<T>(namespace: string, work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T> {
    return this.#transaction === undefined
      ? this.#dialect.exclusively(namespaceScope(namespace), work)
      : work(this.#transaction);
  }

  /**
   * Reads some keys and writes the result of `change`, in one exclusive transaction. The value undefined removes a key. `change`
   * must be synchronous; if it throws, nothing is written.
   */
  change<T>(
    namespace: string,
    read: { readonly keys: readonly string[]; readonly subtree?: string },
    change: (rows: ReadonlyMap<string, unknown>) => {
      readonly write: ReadonlyMap<string, unknown>;
      readonly result: T;
    },
  ): Promise<T> {
    return this.#exclusively(namespace, async (transaction) => {
      const rows = new Map<string, unknown>();
      for (const { key, value } of await this.#read(transaction, namespace, read.keys)) rows.set(key, value);
      if (read.subtree !== undefined)
        for (const [key, value] of await this.#in(namespace, transaction).list({
          where: isWithin(read.subtree),
        }))
          rows.set(key, value);
      const { write, result } = change(rows);
      for (const [key, value] of write) await this.#write(transaction, namespace, key, value);
      return result;
    });
  }

  /** Removes everything below a key, and the key itself with `includingKey`. If nothing exists there, it takes no write lock. */
  async remove(
    namespace: string,
    key: string,
    { includingKey }: { readonly includingKey: boolean },
  ): Promise<void> {
    if (!(await this.#hasWithin(namespace, [key]))) return;
    const below = sql<SqlBool>`${isWithin(key)} and key <> ${key}`;
    await this.#in(namespace).deleteWhere(includingKey ? isWithin(key) : below);
  }

  /** removeAndReturnAll removes a namespace and returns its values by key. */
  async removeAndReturnAll(namespace: string): Promise<Record<string, unknown>> {
    const rows = await this.#query
      .deleteFrom("kv")
      .where("namespace", "=", namespace)
      .returning(["key", "value"])
      .execute();
    return Object.fromEntries(rows.map(({ key, value }) => [key, this.#dialect.fromJson(value)]));
  }

  async removeAll(namespaces: readonly string[]): Promise<void> {
    await this.#query.deleteFrom("kv").where("namespace", "in", namespaces).execute();
  }

  /** Moves a key and everything below it over another, whose values are removed. Keys that would become too long are removed. */
  async move(namespace: string, from: string, to: string): Promise<void> {
    if (!(await this.#hasWithin(namespace, [from, to]))) return;
    await this.#exclusively(namespace, async (transaction) => {
      await transaction.deleteFrom("kv").where("namespace", "=", namespace).where(isWithin(to)).execute();
      const moved = sql<string>`cast(${to} as text) || substr(key, length(cast(${from} as text)) + 1)`;
      const moving = transaction
        .updateTable("kv")
        .set({ key: moved })
        .where("namespace", "=", namespace)
        .where(isWithin(from));
      await transaction
        .deleteFrom("kv")
        .where("namespace", "=", namespace)
        .where(isWithin(from))
        .where(sql<SqlBool>`octet_length(${moved}) > ${maxKeyBytes}`)
        .execute();
      await moving.execute();
    });
  }

  async #hasWithin(namespace: string, keys: readonly string[]): Promise<boolean> {
    if (await this.#isEmptyByCache(namespace)) return false;
    return this.#in(namespace).has(sql<SqlBool>`(${sql.join(keys.map(isWithin), sql` or `)})`);
  }

  async #read(query: Query, namespace: string, keys: readonly string[]): Promise<KvRow[]> {
    return toRows(await this.#in(namespace, query).getMany(keys));
  }

  async #write(query: Query, namespace: string, key: string, value: unknown): Promise<void> {
    if (value === undefined) return void (await this.#in(namespace, query).delete(key));
    this.#emptinessInside?.set(namespace, false);
    await this.#in(namespace, query).put(key, value);
  }

  #in(namespace: string, query: Query = this.#query): Collection<unknown> {
    return new Collection(this.#dialect, namespace, query);
  }
}

function toRows(values: ReadonlyMap<string, unknown>): KvRow[] {
  return Array.from(values, ([key, value]) => ({ key, value }));
}

/** `isWithin` compares the text itself: a LIKE pattern would need escapes, and a range would depend on the database's collation. */
function isWithin(key: string): Condition {
  const folder = key.endsWith("/") ? key : `${key}/`;
  return sql<SqlBool>`(key = ${key} or substr(key, 1, length(cast(${folder} as text))) = ${folder})`;
}

/**
 * `namingDamage` returns the error for a row whose value is not JSON, if that may be what an error is about, else the error. SQLite
 * takes any text as a value, and names no row in its own error.
 */
export async function namingDamage(
  dialect: Pick<Dialect, "kind" | "query">,
  error: unknown,
): Promise<unknown> {
  const isOfStatement = error instanceof Fault && codeOf(error.cause) === "SQLITE_ERROR";
  if (dialect.kind !== "sqlite" || !(isOfStatement || error instanceof SyntaxError)) return error;
  const row = await dialect.query
    .selectFrom("kv")
    .select(["namespace", "key"])
    .where(sql<SqlBool>`not json_valid(value)`)
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? error : damagedRow(row, error);
}
