import { sql, type Transaction } from "kysely";
import { type Dialect, namespaceScope, type Schema } from "../dialect.ts";
import type { DeployValue } from "./entry-values.ts";
import { deleteRow, putRow, type RowName } from "./kv-rows.ts";
import { readClock } from "./lock-rows.ts";

const deploysPrefix = "static-files/deploys/";
const droppedNamespace = "static-files/dropped-trees";

/** DroppedTree is a tree that no deploy has any more, and that is still in the store. */
interface DroppedTree {
  readonly place: string;
  /** The deploy that it belonged to, as `nameOfDeploy` names it; null if it belonged to none. */
  readonly deploy: string | null;
}

/** DeployChanges are the deploys of one bucket within a transaction, while nobody else changes them. */
export interface DeployChanges {
  /** By id, as they were when the transaction began. */
  readonly rows: ReadonlyMap<string, DeployValue>;
  /** The clock of the database. */
  readonly nowMs: number;
  readonly transaction: Transaction<Schema>;
  /** Writes a row; undefined deletes it. */
  write(id: string, value: DeployValue | undefined): Promise<void>;
  /** Notes a tree that has to be discarded after the transaction, also after a crash. */
  drop(tree: DroppedTree): Promise<void>;
}

/** DeployRows are the deploys of all buckets, by the path of the bucket's record. */
export class DeployRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Returns the deploys of a bucket, by id. */
  async list(
    bucketPath: string,
    query: Dialect["query"] | Transaction<Schema> = this.#dialect.query,
  ): Promise<Map<string, DeployValue>> {
    const rows = await query
      .selectFrom("kv")
      .select(["key", "value"])
      .where("namespace", "=", namespaceOf(bucketPath))
      .orderBy("key")
      .execute();
    return new Map(rows.map(({ key, value }) => [key, this.#dialect.fromJson(value) as DeployValue]));
  }

  async get(bucketPath: string, id: string): Promise<DeployValue | undefined> {
    const row = await this.#dialect.query
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", namespaceOf(bucketPath))
      .where("key", "=", id)
      .executeTakeFirst();
    return row && (this.#dialect.fromJson(row.value) as DeployValue);
  }

  /**
   * Runs `work` in one transaction, in which no other one changes the deploys of the bucket, on any node. If it throws, nothing
   * is changed.
   */
  change<T>(bucketPath: string, work: (changes: DeployChanges) => Promise<T>): Promise<T> {
    const namespace = namespaceOf(bucketPath);
    return this.#dialect.exclusively(namespaceScope(namespace), async (transaction) =>
      work({
        rows: await this.list(bucketPath, transaction),
        nowMs: await readClock(this.#dialect, transaction),
        transaction,
        write: (id, value) => this.#write(transaction, { namespace, key: id }, value),
        drop: ({ place, deploy }) =>
          this.#write(transaction, { namespace: droppedNamespace, key: place }, { deploy }),
      }),
    );
  }

  /** Returns the paths of all buckets that have deploys. */
  async bucketPaths(): Promise<string[]> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select("namespace")
      .distinct()
      .where(sql<boolean>`substr(namespace, 1, ${sql.lit(deploysPrefix.length)}) = ${sql.lit(deploysPrefix)}`)
      .execute();
    return rows.map(({ namespace }) => namespace.slice(deploysPrefix.length));
  }

  /** Returns the trees that have to be discarded, of all buckets. */
  async dropped(): Promise<DroppedTree[]> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select(["key", "value"])
      .where("namespace", "=", droppedNamespace)
      .orderBy("key")
      .execute();
    return rows.map(({ key, value }) => ({
      ...(this.#dialect.fromJson(value) as Pick<DroppedTree, "deploy">),
      place: key,
    }));
  }

  /** Forgets a dropped tree, which is not in the store any more. */
  async forgetDropped(place: string): Promise<void> {
    await deleteRow(this.#dialect.query, { namespace: droppedNamespace, key: place });
  }

  /** Deletes the rows of all deploys, whose trees are in another store. */
  async removeAll(): Promise<void> {
    await this.#dialect.query
      .deleteFrom("kv")
      .where(sql<boolean>`substr(namespace, 1, ${sql.lit(deploysPrefix.length)}) = ${sql.lit(deploysPrefix)}`)
      .execute();
  }

  async #write(transaction: Transaction<Schema>, name: RowName, value: object | undefined): Promise<void> {
    if (value === undefined) await deleteRow(transaction, name);
    else await putRow(transaction, name, this.#dialect.json(value));
  }
}

function namespaceOf(bucketPath: string): string {
  return deploysPrefix + bucketPath;
}
