import { type CompiledQuery, sql, type Transaction } from "kysely";
import { Collection } from "../collection.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { headsNamespace } from "./entry-rows.ts";
import type { HeadValue } from "./entry-values.ts";

/** LockedHead is the head of a bucket that a transaction has locked. */
interface LockedHead {
  /** Undefined if the bucket has none. */
  readonly head: HeadValue | undefined;
  /** The clock of the database, in Unix milliseconds. */
  readonly nowMs: number;
}

interface StateRow {
  readonly version: number | null;
  readonly root: string;
}

interface LockedRow {
  readonly value: unknown;
  readonly now: number | bigint;
}

/** HeadRows are the heads of all buckets, by the path of the bucket's record: its version, and its top folder. */
export class HeadRows {
  readonly #dialect: Dialect;
  /** Compiled once. Its parameters are the namespace and the path. */
  readonly #stateOf: CompiledQuery<StateRow>;
  /** Compiled once; the parameters of the time come first. */
  readonly #locked: CompiledQuery<LockedRow>;
  readonly #update: CompiledQuery<unknown>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    const one = dialect.query.selectFrom("kv").where("namespace", "=", "0").where("key", "=", "1");
    this.#stateOf = one
      .select(sql<number | null>`value ->> 'version'`.as("version"))
      .select(sql<string>`value ->> 'root'`.as("root"))
      .compile();
    this.#locked = one
      .select(["value", dialect.nowMs.as("now"), dialect.boundedWait.as("wait")])
      .modifyEnd(dialect.forUpdate)
      .compile();
    this.#update = dialect.query
      .updateTable("kv")
      .set({ value: "2" })
      .where("namespace", "=", "0")
      .where("key", "=", "1")
      .compile();
  }

  /** Returns the versions of all buckets. */
  async versions(): Promise<Map<string, number>> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select(["key", sql<string | number>`value ->> 'version'`.as("version")])
      .where("namespace", "=", headsNamespace)
      .execute();
    return new Map(rows.map(({ key, version }) => [key, Number(version)]));
  }

  /** Returns the version and root of a bucket without waiting; undefined if it has no head, or where the database cannot do that. */
  readSync(bucketPath: string): Pick<HeadValue, "version" | "root"> | undefined {
    const query = { ...this.#stateOf, parameters: [headsNamespace, bucketPath] };
    const row = this.#dialect.readSync?.<StateRow>(query)[0];
    return row?.version == null ? undefined : { version: Number(row.version), root: row.root };
  }

  read(bucketPath: string, transaction?: Transaction<Schema>): Promise<HeadValue | undefined> {
    return this.#heads(transaction).get(bucketPath);
  }

  /** Gives a bucket a head with an empty folder, unless it has one. Returns the head that it has then. */
  async create(bucketPath: string, transaction: Transaction<Schema>): Promise<HeadValue> {
    const heads = this.#heads(transaction);
    const found = await heads.get(bucketPath);
    if (found !== undefined) return found;
    const head: HeadValue = { version: 0, root: Bun.randomUUIDv7(), at: this.#dialect.clock.now() };
    await heads.insertIfAbsent(bucketPath, head);
    return (await heads.get(bucketPath)) ?? head;
  }

  #heads(transaction?: Transaction<Schema>): Collection<HeadValue> {
    return new Collection(this.#dialect, headsNamespace, transaction);
  }

  /**
   * Locks the head of a bucket until the transaction ends: nobody else changes its files meanwhile, on any node. Unavailable if
   * another one does for too long.
   */
  async lock(bucketPath: string, transaction: Transaction<Schema>): Promise<LockedHead> {
    const now = this.#dialect.nowMs.compile(this.#dialect.query);
    const { rows } = await transaction.executeQuery<LockedRow>({
      ...this.#locked,
      parameters: [...now.parameters, headsNamespace, bucketPath],
    });
    const row = rows[0];
    if (row === undefined) return { head: undefined, nowMs: this.#dialect.clock.now() };
    return { head: this.#dialect.fromJson(row.value) as HeadValue, nowMs: Number(row.now) };
  }

  /** Deletes a head, which the transaction has locked. */
  async drop(bucketPath: string, transaction: Transaction<Schema>): Promise<void> {
    await this.#heads(transaction).delete(bucketPath);
  }

  async write(bucketPath: string, head: HeadValue, transaction: Transaction<Schema>): Promise<void> {
    await transaction.executeQuery({
      ...this.#update,
      parameters: [this.#dialect.json(head), headsNamespace, bucketPath],
    });
  }
}
