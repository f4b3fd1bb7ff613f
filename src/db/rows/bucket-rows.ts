import { type CompiledQuery, type Selectable, sql, type Transaction } from "kysely";
import { bucketsScope, type DatabaseTransaction, type Dialect, type Schema } from "../dialect.ts";
import { RowCache } from "../freshness.ts";
import { allowOlderVersions, lockOutOlderVersions } from "../migrations/migrate.ts";
import { headsNamespace } from "./entry-rows.ts";
import type { HeadValue } from "./entry-values.ts";

export interface BucketRow {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly is_http_root: boolean;
  readonly cors: boolean;
  readonly enable: boolean;
  /** Whether anybody may read its files over plain HTTP. */
  readonly public: boolean;
  /** Host names that have this bucket at their root, in lower case. */
  readonly hosts: readonly string[];
  /** Whether `/about` is answered with `about.html`. */
  readonly clean_urls: boolean;
}

/** BucketState is what one statement found of a bucket. */
export interface BucketState {
  readonly record: BucketRow;
  /** The head of its files; undefined if they are not in an object store. */
  readonly head: HeadValue | undefined;
}

type Columns = Selectable<Schema["static_file"]>;

type NewBucket = Omit<BucketRow, "id">;

/** The number of names per statement: databases limit the number of parameters. */
const namesAtOnce = 512;
const maxCachedBuckets = 1000;

/** BucketChanges are the operations within `BucketRows.change`, while no other caller changes buckets. */
interface BucketChanges {
  readonly rows: readonly BucketRow[];
  readonly transaction: DatabaseTransaction;
  insert(bucket: NewBucket): Promise<BucketRow>;
  update(bucket: BucketRow): Promise<void>;
}

export class BucketRows {
  readonly #dialect: Dialect;
  /** Compiled once: every write runs it. */
  readonly #byName: CompiledQuery<Columns>;
  /** Rows by name. */
  readonly #cache: RowCache<BucketRow>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#cache = new RowCache(dialect, { maxValues: maxCachedBuckets });
    this.#byName = dialect.query.selectFrom("static_file").selectAll().where("name", "=", "").compile();
  }

  async names(): Promise<string[]> {
    const rows = await this.#dialect.query.selectFrom("static_file").select("name").execute();
    return rows.map(({ name }) => name);
  }

  /** cachedByName returns a row without waiting; undefined unless it is cached. */
  cachedByName(name: string): BucketRow | undefined {
    return this.#cache.get(name);
  }

  async byName(name: string): Promise<BucketRow | undefined> {
    return this.#cache.get(name) ?? this.#cache.read(name, () => this.#one(name));
  }

  async #one(name: string): Promise<BucketRow | undefined> {
    // PostgreSQL has no text with NUL in it, so no row matches.
    if (name.includes("\0")) return undefined;
    const query = { ...this.#byName, parameters: [name] };
    const { rows } = await this.#dialect.query.executeQuery<Columns>(query);
    return rows[0] && toRow(rows[0], this.#dialect);
  }

  /** Returns the existing rows with these names, in any order. */
  async byNames(names: readonly string[]): Promise<BucketRow[]> {
    // PostgreSQL has no text with NUL in it, so no row matches.
    const possible = names.filter((name) => !name.includes("\0"));
    const rows: BucketRow[] = [];
    for (let at = 0; at < possible.length; at += namesAtOnce) {
      const some = possible.slice(at, at + namesAtOnce);
      const found = await this.#dialect.query
        .selectFrom("static_file")
        .selectAll()
        .where("name", "in", fillUp(some))
        .execute();
      rows.push(...found.map((row) => toRow(row, this.#dialect)));
    }
    return rows;
  }

  /**
   * Returns the buckets with these names, all that have host names and, with `root`, the one that serves the HTTP root (a unique
   * index allows only one), each with its head, in one statement unless they are many.
   */
  async states(names: readonly string[], { root }: { readonly root: boolean }): Promise<BucketState[]> {
    // PostgreSQL has no text with NUL in it, so no row matches.
    const possible = names.filter((name) => !name.includes("\0"));
    // Parts of a union use one index each; of `or`, SQLite would read the whole table.
    let first = this.#withHeads().where("hosts", "is not", null);
    if (root) first = first.unionAll(this.#withHeads().where(sql<boolean>`is_http_root`));
    const states = new Map<string, BucketState>();
    for (let at = 0; at === 0 || at < possible.length; at += namesAtOnce) {
      const some = possible.slice(at, at + namesAtOnce);
      const named = this.#withHeads().where("name", "in", fillUp(some));
      const rows = await (at > 0 ? named : some.length === 0 ? first : first.unionAll(named)).execute();
      for (const { head, ...row } of rows)
        states.set(row.name, {
          record: toRow(row, this.#dialect),
          head: head == null ? undefined : (this.#dialect.fromJson(head) as HeadValue),
        });
    }
    return [...states.values()];
  }

  #withHeads() {
    return (
      this.#dialect.query
        .selectFrom("static_file")
        .selectAll()
        // A subquery is one look-up by the index; as a join, PostgreSQL would read the whole table while it is small.
        .select(
          sql<unknown>`(select head.value from kv as head where head.namespace = ${sql.lit(headsNamespace)} and head.key = static_file.path)`.as(
            "head",
          ),
        )
    );
  }

  /**
   * Runs `work` on all buckets in one exclusive transaction, so that no two callers can both pass a check. If it throws, nothing is
   * changed.
   */
  change<T>(work: (changes: BucketChanges) => Promise<T>): Promise<T> {
    const dialect = this.#dialect;
    return dialect.exclusively(bucketsScope, async (transaction) => {
      const rows = await readAll(transaction, dialect);
      return work({
        rows,
        transaction,
        async insert(bucket) {
          if (!bucket.public) await lockOutOlderVersions(dialect, transaction);
          await transaction.insertInto("static_file").values(columnsOf(bucket, dialect)).execute();
          const row = await transaction
            .selectFrom("static_file")
            .selectAll()
            .where("name", "=", bucket.name)
            .executeTakeFirstOrThrow();
          return toRow(row, dialect);
        },
        async update({ id, ...bucket }) {
          const wasPublic = rows.find((row) => row.id === id)?.public ?? true;
          if (wasPublic && !bucket.public) await lockOutOlderVersions(dialect, transaction);
          await transaction
            .updateTable("static_file")
            .set(columnsOf(bucket, dialect))
            .where("id", "=", id)
            .execute();
          if (!wasPublic && bucket.public) await allowOlderVersions(dialect, transaction);
        },
      });
    });
  }

  /** Deletes a row; false if there was none. */
  async delete(name: string): Promise<boolean> {
    const dialect = this.#dialect;
    return dialect.exclusively(bucketsScope, async (transaction) => {
      const deleted = await transaction
        .deleteFrom("static_file")
        .where("name", "=", name)
        .returning("public")
        .executeTakeFirst();
      if (deleted !== undefined && !deleted.public) await allowOlderVersions(dialect, transaction);
      return deleted !== undefined;
    });
  }
}

/** `fillUp` repeats the first name up to a power of two, so that there are few different statements to prepare. */
function fillUp(names: readonly string[]): string[] {
  const size = 2 ** Math.ceil(Math.log2(names.length));
  return Array.from({ length: size }, (_, at) => names[at] ?? names[0] ?? "");
}

/** `readAll` returns all buckets, sorted by name. */
async function readAll(transaction: Transaction<Schema>, dialect: Dialect): Promise<BucketRow[]> {
  const rows = await transaction.selectFrom("static_file").selectAll().orderBy("name").execute();
  return rows.map((row) => toRow(row, dialect));
}

function columnsOf({ hosts, ...bucket }: NewBucket, dialect: Dialect) {
  return { ...bucket, hosts: hosts.length === 0 ? null : dialect.json(hosts) };
}

function toRow(row: Columns, dialect: Dialect): BucketRow {
  return {
    id: Number(row.id),
    name: row.name,
    path: row.path,
    is_http_root: Boolean(row.is_http_root),
    cors: Boolean(row.cors),
    // A row written by another program may have NULL here, which means enabled.
    enable: row.enable === null || Boolean(row.enable),
    public: Boolean(row.public),
    hosts: row.hosts === null ? [] : toHosts(dialect.fromJson(row.hosts)),
    clean_urls: Boolean(row.clean_urls),
  };
}

/** A row written by another program may have anything here. */
function toHosts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((host) => typeof host === "string") : [];
}
