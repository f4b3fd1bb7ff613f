import { type RawBuilder, type SqlBool, sql, type Transaction } from "kysely";
import { Fault } from "../base/fault.ts";
import { type Dialect, namespaceScope, type Schema, type Scope } from "./dialect.ts";

export type Query = Dialect["query"] | Transaction<Schema>;
export type Condition = RawBuilder<SqlBool>;

interface ListOptions {
  readonly where?: Condition | undefined;
  /** By key, the last key first, or the oldest row first. */
  readonly order?: "key" | "last" | "age";
  readonly max?: number;
}

interface BatchOptions {
  /** The key after which to begin. */
  readonly after?: string | undefined;
  /** An expression of the key. */
  readonly order?: RawBuilder<unknown>;
  /** The number of rows that one statement reads. */
  readonly size?: number;
}

export interface KeyedValue<T> {
  readonly key: string;
  readonly value: T;
}

interface OneValue {
  executeTakeFirst(): Promise<{ readonly value: unknown } | undefined>;
}

/**
 * Collection is one namespace of the table `kv`: JSON values of one form, by key. It has more than 15 methods because it is all that can
 * be asked of such a namespace, so that the modules of `rows/` write no statement for it.
 */
export class Collection<T> {
  readonly #dialect: Dialect;
  readonly #query: Query;
  readonly namespace: string;

  constructor(dialect: Dialect, namespace: string, query: Query = dialect.query) {
    this.#dialect = dialect;
    this.namespace = namespace;
    this.#query = query;
  }

  /** within returns the same rows as a transaction sees and changes them. */
  within(transaction: Transaction<Schema>): Collection<T> {
    return new Collection(this.#dialect, this.namespace, transaction);
  }

  /** exclusively runs `work` in a transaction, in which no other exclusive one of the scope runs, on any node. */
  exclusively<R>(
    work: (rows: Collection<T>, transaction: Transaction<Schema>) => Promise<R>,
    scope: Scope = namespaceScope(this.namespace),
  ): Promise<R> {
    return this.#dialect.exclusively(scope, (transaction) => work(this.within(transaction), transaction));
  }

  async get(key: string, where?: Condition): Promise<T | undefined> {
    return this.#first(this.#one(key).$if(where !== undefined, (query) => query.where(where as Condition)));
  }

  /** lock returns a value that nobody else changes until the transaction ends. */
  lock(key: string): Promise<T | undefined> {
    return this.#first(this.#one(key).modifyEnd(this.#dialect.forUpdate));
  }

  async getMany(keys: readonly string[]): Promise<Map<string, T>> {
    if (keys.length === 0) return new Map();
    return this.list({ where: sql<SqlBool>`key in (${sql.join(keys)})` });
  }

  async list({ where, order = "key", max }: ListOptions = {}): Promise<Map<string, T>> {
    const rows = await this.#query
      .selectFrom("kv")
      .select(["key", "value"])
      .where("namespace", "=", this.namespace)
      .$if(where !== undefined, (query) => query.where(where as Condition))
      .orderBy(order === "age" ? "id" : "key", order === "last" ? "desc" : "asc")
      .$if(max !== undefined, (query) => query.limit(max as number))
      .execute();
    return new Map(rows.map(({ key, value }) => [key, this.#read(value)]));
  }

  /**
   * batches yields all rows, each batch read when it is asked for, sorted by key as the database does, or by `order`. SQLite stops
   * everybody else while it reads one, about two milliseconds for 500 rows.
   */
  async *batches({
    after,
    order = sql.ref("key"),
    size = 500,
  }: BatchOptions = {}): AsyncGenerator<ReadonlyArray<KeyedValue<T>>> {
    for (let last = after; ; ) {
      const rows = await this.#query
        .selectFrom("kv")
        .select(["key", "value"])
        .where("namespace", "=", this.namespace)
        .$if(last !== undefined, (query) => query.where(sql<SqlBool>`${order} > ${last}`))
        .orderBy(order)
        .limit(size)
        .execute();
      yield rows.map(({ key, value }) => ({ key, value: this.#read(value) }));
      if (rows.length < size) return;
      last = rows.at(-1)?.key;
    }
  }

  /** has returns whether there is a row, or one that satisfies a condition. */
  async has(where?: Condition): Promise<boolean> {
    const row = await this.#query
      .selectFrom("kv")
      .select("id")
      .where("namespace", "=", this.namespace)
      .$if(where !== undefined, (query) => query.where(where as Condition))
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** sums returns one row of aggregates over the values. */
  async sums<N extends string>(sums: Readonly<Record<N, RawBuilder<unknown>>>): Promise<Record<N, number>> {
    const names = Object.keys(sums) as N[];
    const columns = names.map((name) => sql`${sums[name]} as ${sql.ref(name)}`);
    const { rows } = await sql<Record<N, number | bigint | string | null>>`
      select ${sql.join(columns)} from kv where namespace = ${this.namespace}`.execute(this.#query);
    const [row] = rows;
    return Object.fromEntries(names.map((name) => [name, Number(row?.[name] ?? 0)])) as Record<N, number>;
  }

  /** insert fails if there is a row with the key. */
  async insert(key: string, value: T): Promise<void> {
    await this.#query
      .insertInto("kv")
      .values({ namespace: this.namespace, key, value: this.#dialect.json(value) })
      .execute();
  }

  /** insertIfAbsent leaves a row with the key as it is. */
  async insertIfAbsent(key: string, value: T): Promise<void> {
    await this.#query
      .insertInto("kv")
      .values({ namespace: this.namespace, key, value: this.#dialect.json(value) })
      .onConflict((conflict) => conflict.columns(["namespace", "key"]).doNothing())
      .execute();
  }

  /** put writes a row, in the place of one with the same key. */
  async put(key: string, value: T): Promise<void> {
    const row = { namespace: this.namespace, key, value: this.#dialect.json(value) };
    await this.#query
      .insertInto("kv")
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(["namespace", "key"]).doUpdateSet({ value: sql`excluded.value` }),
      )
      .execute();
  }

  /** putMany writes rows by one statement, each in the place of one with the same key. There must not be more than a few hundred. */
  async putMany(values: ReadonlyMap<string, T>): Promise<void> {
    if (values.size === 0) return;
    await this.#query
      .insertInto("kv")
      .values(
        Array.from(values, ([key, value]) => ({
          namespace: this.namespace,
          key,
          value: this.#dialect.json(value),
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["namespace", "key"]).doUpdateSet({ value: sql`excluded.value` }),
      )
      .execute();
  }

  /** update replaces the value of a row, if it exists. */
  async update(key: string, value: T): Promise<void> {
    await this.#set(this.#dialect.json(value), sql<SqlBool>`key = ${key}`);
  }

  /** patch changes the values of rows by an SQL expression, and returns how many. */
  patch(value: RawBuilder<unknown>, where: Condition): Promise<number> {
    return this.#set(value, where);
  }

  async #set(value: unknown, where: Condition): Promise<number> {
    const { numUpdatedRows } = await this.#query
      .updateTable("kv")
      .set({ value })
      .where("namespace", "=", this.namespace)
      .where(where)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  /** delete deletes rows by their keys, and returns how many there were. */
  async delete(...keys: readonly string[]): Promise<number> {
    return keys.length === 0 ? 0 : this.deleteWhere(sql<SqlBool>`key in (${sql.join(keys)})`);
  }

  async deleteWhere(where: Condition): Promise<number> {
    const { numDeletedRows } = await this.#query
      .deleteFrom("kv")
      .where("namespace", "=", this.namespace)
      .where(where)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** take deletes rows and returns their values. */
  async take(where: Condition): Promise<T[]> {
    const rows = await this.#query
      .deleteFrom("kv")
      .where("namespace", "=", this.namespace)
      .where(where)
      .returning("value")
      .execute();
    return rows.map(({ value }) => this.#read(value));
  }

  #one(key: string) {
    return this.#query
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", this.namespace)
      .where("key", "=", key);
  }

  async #first(query: OneValue): Promise<T | undefined> {
    const row = await query.executeTakeFirst();
    return row && this.#read(row.value);
  }

  #read(value: unknown): T {
    return this.#dialect.fromJson(value) as T;
  }
}

/** Collections are the namespaces of the table `kv` that begin with a prefix: a collection for each id that follows it. */
export class Collections<T> {
  readonly #dialect: Dialect;
  readonly #prefix: string;

  constructor(dialect: Dialect, prefix: string) {
    this.#dialect = dialect;
    this.#prefix = prefix;
  }

  of(id: string | number, query?: Query): Collection<T> {
    return new Collection(this.#dialect, this.#prefix + id, query);
  }

  /** ids returns the ids of collections that are not empty. */
  async ids(): Promise<string[]> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select("namespace")
      .distinct()
      .where(this.#isOurs())
      .execute();
    return rows.map(({ namespace }) => namespace.slice(this.#prefix.length));
  }

  /** find returns where the rows of all collections are that satisfy a condition. */
  async find(where?: Condition): Promise<Array<{ readonly id: string; readonly key: string }>> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select(["namespace", "key"])
      .where(this.#ours(where))
      .execute();
    return rows.map(({ namespace, key }) => ({ id: namespace.slice(this.#prefix.length), key }));
  }

  async deleteAll(where?: Condition, query: Query = this.#dialect.query): Promise<void> {
    await query.deleteFrom("kv").where(this.#ours(where)).execute();
  }

  /** Values of other namespaces may be of any form, so the condition is not evaluated for them. */
  #ours(where: Condition | undefined): Condition {
    const isOurs = this.#isOurs();
    return where === undefined ? isOurs : sql<SqlBool>`(${isOurs} and case when ${isOurs} then ${where} end)`;
  }

  #isOurs(): Condition {
    return this.#dialect.hasPrefix("namespace", this.#prefix);
  }
}

/** `beginsWith` returns the condition that a namespace begins with a prefix, as the text of an SQL condition that an index can have. */
export function beginsWith(prefix: string): string {
  return `substr("namespace", 1, ${prefix.length}) = '${prefix}'`;
}

/** RowName is where a row of `kv` is. */
interface RowName {
  readonly namespace: string;
  readonly key: string;
}

/** `damagedRow` returns the error for a row of `kv` whose value is none that a server writes. */
export function damagedRow({ namespace, key }: RowName, cause?: unknown): Fault {
  return new Fault(
    "DatabaseError",
    `the row of the table kv with the namespace ${JSON.stringify(namespace)} and the key ${JSON.stringify(key)} is damaged; restore the database from a backup, or correct the value of this row`,
    { namespace, key },
    { cause },
  );
}
