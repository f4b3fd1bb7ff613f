import { type Kysely, type QueryResult, type RawBuilder, type SqlBool, sql } from "kysely";
import { nextTurn } from "../../base/turns.ts";
import { beginsWith, Collection, damagedRow, type KeyedValue } from "../collection.ts";
import { type Dialect, type Schema, storeScope } from "../dialect.ts";
import {
  blobOf,
  filesPrefix,
  folderNamespace,
  folderOf,
  headsNamespace,
  isRemoved,
  removedNamespace,
  removedPrefix,
} from "./entry-rows.ts";
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

/** NamedBlob is a blob with what a row says about it. */
export interface NamedBlob {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
}

/** FileOfBlob is a row that names a blob, under the path that leads to it. */
export interface FileOfBlob {
  readonly blob: string;
  /** The size that the blob has by the row, in bytes; 0 if nothing leads to the row. */
  readonly size: number;
  /** The path of the bucket and of the file in it; undefined if nothing leads to the row. */
  readonly location: { readonly bucket: string; readonly path: string } | undefined;
  /** Whether the file was deleted or replaced, and is kept for a while. */
  readonly isRemoved: boolean;
}

/** Above is where a folder is: in a bucket, below a path that is empty or ends with a slash. */
interface Above {
  readonly bucket: string;
  readonly path: string;
  readonly isRemoved: boolean;
}

interface StoredRow {
  readonly namespace: string;
  readonly key: string;
  readonly value: unknown;
}

/** DamageRow is what one statement found in a batch of rows: the ids of the last one, and of one that cannot be read. */
interface DamageRow {
  readonly last: number | bigint | null;
  readonly damaged: number | bigint | null;
}

/** RemovedVersion is what one change of a bucket has deleted or replaced. */
interface RemovedVersion {
  readonly version: number;
  readonly removed: readonly RemovedValue[];
}

/** `namesContent` is a statement that has a row if any file of an object store has content. */
export function namesContent(dialect: Pick<Dialect, "byCodePoints" | "isJson">): string {
  return `SELECT 1 AS found FROM kv WHERE (${blobOf(dialect)}) IS NOT NULL LIMIT 1`;
}

/** ContentNames tells which rows of the object store, present or removed, name a blob or a folder. */
export class ContentNames {
  readonly #query: Dialect["query"];
  readonly #dialect: Dialect;
  readonly #blob: RawBuilder<string>;
  readonly #folder: RawBuilder<string>;

  constructor(dialect: Dialect) {
    this.#query = dialect.query;
    this.#dialect = dialect;
    this.#blob = sql.raw(blobOf(dialect));
    this.#folder = sql.raw(folderOf(dialect));
  }

  /** Whether any row names content: a store without it is not the one of this database, or not mounted. */
  async haveContent(): Promise<boolean> {
    return (await sql.raw(namesContent(this.#dialect)).execute(this.#query)).rows.length > 0;
  }

  /**
   * Throws for a row of files that cannot be read: what it names is not in the indexes, and must not be deleted as unnamed. No index has
   * such rows, so all are read, a batch in a statement.
   */
  async refuseDamaged(): Promise<void> {
    const isDamaged = sql.raw(`${beginsWith(filesPrefix)} AND NOT (${this.#dialect.isJson})`);
    for (let last = 0; ; await nextTurn()) {
      const { rows }: QueryResult<DamageRow> = await sql<DamageRow>`
        select max(id) as last, min(case when ${isDamaged} then id end) as damaged
        from (select id, namespace, value from kv where id > ${last} order by id limit ${batchRows}) as batch`.execute(
        this.#query,
      );
      const [found] = rows;
      if (found?.damaged != null) throw damagedRow(await this.#rowOf(Number(found.damaged)));
      if (found?.last == null) return;
      last = Number(found.last);
    }
  }

  #rowOf(id: number) {
    return this.#query
      .selectFrom("kv")
      .select(["namespace", "key"])
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
  }

  /** Returns those of these blobs that any row names, as they are at one moment. */
  async namedAmong(blobs: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#naming(this.#blob, blobs).select(this.#blob.as("blob")).distinct().execute();
    return new Set(rows.map(({ blob }) => blob));
  }

  /** named yields the blobs after `after` and up to `upTo` that rows name, in batches, each once and in the order of their keys. */
  async *named({
    after = "",
    upTo,
  }: {
    readonly after?: string;
    readonly upTo?: string | undefined;
  } = {}): AsyncGenerator<NamedBlob[]> {
    const either = (member: string) =>
      sql`coalesce(value ->> ${sql.lit(member)}, value -> 'entry' ->> ${sql.lit(member)})`;
    for (let last = after; ; ) {
      const rows = await this.#query
        .selectFrom("kv")
        .select([
          this.#blob.as("blob"),
          sql<number | string>`${either("size")}`.as("size"),
          sql<string>`${either("hash")}`.as("hash"),
        ])
        .where(sql<SqlBool>`(${this.#blob}) is not null`)
        .where(sql<SqlBool>`(${this.#blob}) > ${last}`)
        .$if(upTo !== undefined, (query) => query.where(sql<SqlBool>`(${this.#blob}) <= ${upTo}`))
        .orderBy(this.#blob)
        .limit(batchRows)
        .execute();
      // Of one blob that has more rows than a batch the others say the same.
      const batch = rows.filter(({ blob }, at) => blob !== rows[at - 1]?.blob);
      yield batch.map(({ blob, size, hash }) => ({ key: blob, size: Number(size), hash }));
      if (rows.length < batchRows) return;
      last = rows.at(-1)?.blob ?? last;
    }
  }

  /** Whether more than one row names a folder, the heads of buckets included. */
  async isNamedTwice(folder: string): Promise<boolean> {
    return (await this.#namingFolder(folder)).length > 1;
  }

  /** Returns the rows that name a folder, and the heads of buckets whose root it is. */
  async #namingFolder(folder: string): Promise<StoredRow[]> {
    const columns = ["namespace", "key", "value"] as const;
    const rows = await this.#naming(this.#folder, [folder]).select(columns).execute();
    const heads = await this.#query
      .selectFrom("kv")
      .select(columns)
      .where("namespace", "=", headsNamespace)
      .where(sql<SqlBool>`value ->> 'root' = ${folder}`)
      .execute();
    return [...rows, ...heads];
  }

  /** Returns the files of these blobs, and each blob that has none without a location. */
  async filesOf(blobs: readonly string[]): Promise<FileOfBlob[]> {
    const files: FileOfBlob[] = [];
    const above = new Map<string, Above[]>();
    for (let at = 0; at < blobs.length; at += batchRows) {
      const some = blobs.slice(at, at + batchRows);
      const unreached = new Set(some);
      const rows = await this.#naming(this.#blob, some)
        .select(["namespace", "key", "value", this.#blob.as("blob")])
        .execute();
      for (const { namespace, key, value, blob } of rows)
        for (const { bucket, path, isRemoved } of await this.#above({ namespace, key, value }, above)) {
          const { size } = entryIn(this.#dialect.fromJson(value));
          unreached.delete(blob);
          files.push({ blob, size, location: { bucket, path }, isRemoved });
        }
      for (const blob of unreached) files.push({ blob, size: 0, location: undefined, isRemoved: true });
    }
    return files;
  }

  /** Returns the paths that lead to a row. `known` has those of the folders that were asked for. */
  async #above({ namespace, key, value }: StoredRow, known: Map<string, Above[]>): Promise<Above[]> {
    if (namespace === headsNamespace) return [{ bucket: key, path: "", isRemoved: false }];
    if (namespace.startsWith(removedPrefix)) {
      const { path } = this.#dialect.fromJson(value) as RemovedValue;
      return [{ bucket: namespace.slice(removedPrefix.length), path, isRemoved: true }];
    }
    const folder = namespace.slice(filesPrefix.length);
    const above = known.get(folder) ?? (await this.#aboveFolder(folder, known));
    return above.map((one) => ({ ...one, path: one.path === "" ? key : `${one.path}/${key}` }));
  }

  async #aboveFolder(folder: string, known: Map<string, Above[]>): Promise<Above[]> {
    // No folder is in itself, but a row that was written by hand may say so.
    known.set(folder, []);
    const above: Above[] = [];
    for (const row of await this.#namingFolder(folder)) above.push(...(await this.#above(row, known)));
    known.set(folder, above);
    return above;
  }

  #naming(expression: RawBuilder<string>, names: readonly string[]) {
    return this.#query
      .selectFrom("kv")
      .where(sql<SqlBool>`(${expression}) is not null`)
      .where(expression, "in", names);
  }
}

/** ObjectRows reads the trees of the object store, and what was removed from them: as they are, or as they were at one moment. */
export class ObjectRows {
  readonly #query: Kysely<Schema>;
  readonly #dialect: Dialect;

  constructor(query: Kysely<Schema>, dialect: Dialect) {
    this.#query = query;
    this.#dialect = dialect;
  }

  /** The buckets that have files in the object store, by the paths of their records. */
  heads(): AsyncGenerator<ReadonlyArray<KeyedValue<HeadValue>>> {
    return this.#rows<HeadValue>(headsNamespace).batches();
  }

  head(bucketPath: string): Promise<HeadValue | undefined> {
    return this.#rows<HeadValue>(headsNamespace).get(bucketPath);
  }

  /** The files and folders of a folder, in batches, sorted as the database does. */
  entries(folderId: string): AsyncGenerator<ReadonlyArray<KeyedValue<EntryValue>>> {
    return this.#rows<EntryValue>(folderNamespace(folderId)).batches();
  }

  /** inOrder yields what `entries` does, after `after` and by code points: the same order on every database. */
  inOrder(folderId: string, after?: string): AsyncGenerator<ReadonlyArray<KeyedValue<EntryValue>>> {
    return this.#rows<EntryValue>(folderNamespace(folderId)).batches({
      after,
      order: sql.raw(this.#dialect.byCodePoints('"key"')),
    });
  }

  /** One file or folder of a folder; undefined if there is none of that name. */
  entry(folderId: string, name: string): Promise<EntryValue | undefined> {
    return this.#rows<EntryValue>(folderNamespace(folderId)).get(name);
  }

  removed(bucketPath: string): AsyncGenerator<ReadonlyArray<KeyedValue<RemovedValue>>> {
    return this.#rows<RemovedValue>(removedNamespace(bucketPath)).batches();
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

  #rows<V>(namespace: string): Collection<V> {
    return new Collection<V>(this.#dialect, namespace, this.#query);
  }
}

/** The row of a file that names a blob: one in a tree, or a removed one. */
function entryIn(value: unknown): { readonly size: number } {
  const { entry, size } = value as { readonly entry?: { readonly size: number }; readonly size: number };
  return entry ?? { size };
}
