import { type CompiledQuery, type SqlBool, sql, type Transaction } from "kysely";
import { beginsWith, Collection } from "../collection.ts";
import type { Dialect, Schema } from "../dialect.ts";
import type { EntryValue, FolderValue, HeadValue, RemovedValue } from "./entry-values.ts";

/** `headsNamespace` has the head of each bucket, by the path of its record. */
export const headsNamespace = "static-files/heads";
/** `filesPrefix` begins the namespaces of all rows of the object store. */
export const filesPrefix = "static-files/";
/** `removedPrefix` begins the namespaces of what was deleted or replaced, before the path of the bucket. */
export const removedPrefix = "static-files/removed/";

/** Names that one statement follows; those of a deeper path take several. */
const maxNamesAtOnce = 64;
/** Rows that one statement writes: databases limit the number of parameters. */
const rowsPerInsert = 500;
/** Rows of a folder that one statement reads or copies. */
const rowsAtOnce = 1000;

/** Rows of a folder that one statement reads in order: half a page of a list. */
const rowsPerPage = 501;

/** `folderNamespace` has the entries of a folder, by name. */
export function folderNamespace(folder: string): string {
  return filesPrefix + folder;
}

/** `isRemoved` is the condition of the index of removed rows: a statement has to contain it as it stands. */
export const isRemoved = beginsWith(removedPrefix);

/** The parts of a dialect that the expressions of the indexes are made of. */
type ExpressionParts = Pick<Dialect, "isJson" | "byCodePoints">;

/**
 * `blobOf` and `folderOf` are what the row of a file or folder names, present or removed, as the text of an SQL expression that has an
 * index; NULL for any other row, whose value may be of any form. A head is not in the index, because every change of a bucket writes it.
 */
export function blobOf(dialect: ExpressionParts): string {
  return ofStore(dialect, `coalesce("value" ->> 'blob', "value" -> 'entry' ->> 'blob')`);
}

export function folderOf(dialect: ExpressionParts): string {
  return ofStore(dialect, `coalesce("value" ->> 'id', "value" -> 'entry' ->> 'id')`);
}

function ofStore({ isJson, byCodePoints }: ExpressionParts, text: string): string {
  return byCodePoints(`CASE WHEN ${beginsWith(filesPrefix)} AND ${isJson} THEN ${text} END`);
}

/** `removedNamespace` has what was deleted or replaced in a bucket. */
export function removedNamespace(bucketPath: string): string {
  return removedPrefix + bucketPath;
}

/** TreeRow is a row of `kv` that belongs to a tree of files. */
export interface TreeRow {
  readonly namespace: string;
  readonly key: string;
  readonly value: EntryValue | RemovedValue;
}

/** `entryRow` returns the row of a file or folder. */
export function entryRow(folder: string, name: string, value: EntryValue): TreeRow {
  return { namespace: folderNamespace(folder), key: name, value };
}

/** `removedRow` returns the row of what was deleted or replaced in a bucket by its change number `version`. */
export function removedRow(bucketPath: string, version: number, removed: RemovedValue): TreeRow {
  const name = removed.path.slice(removed.path.lastIndexOf("/") + 1);
  return { namespace: removedNamespace(bucketPath), key: `${version}/${name}`, value: removed };
}

export function isFolderValue(value: EntryValue): value is FolderValue {
  return "id" in value;
}

/** EntryRow is a file or folder under its name in a folder. */
export interface EntryRow {
  readonly name: string;
  readonly value: EntryValue;
}

/** FollowedPath is what exists of a path: the head of the bucket and the entries from its top, as far as there are any. */
interface FollowedPath {
  readonly head: HeadValue;
  readonly entries: readonly EntryRow[];
}

/**
 * EntryRows are the trees of files, one row for each file and folder: a folder is a namespace, a name in it a key. So every
 * look-up is by equality on the index `(namespace, key)`, whatever the collation. Names are compared as they are. It has more than 15
 * methods because reading and writing of trees share the statements that follow a path, and one way to be bound to a transaction.
 */
export class EntryRows {
  readonly #dialect: Dialect;
  readonly #query: Dialect["query"] | Transaction<Schema>;
  readonly #statements: Map<string, CompiledQuery<StepRow>>;

  constructor(dialect: Dialect, transaction?: Transaction<Schema>, of?: EntryRows) {
    this.#dialect = dialect;
    this.#query = transaction ?? dialect.query;
    this.#statements = of === undefined ? new Map() : of.#statements;
  }

  /** Returns the same rows as a transaction sees and changes them. */
  within(transaction: Transaction<Schema>): EntryRows {
    return new EntryRows(this.#dialect, transaction, this);
  }

  /** Does what `within` does. The result can hold the rows of many paths in memory. */
  held(transaction: Transaction<Schema>): HeldEntries {
    return new HeldEntries(this.#dialect, transaction, this);
  }

  /** Follows names from the top of a bucket, in one statement unless they are many; undefined if the bucket has no head. */
  async follow(bucketPath: string, names: readonly string[]): Promise<FollowedPath | undefined> {
    const rows = await this.#steps("head", bucketPath, names.slice(0, maxNamesAtOnce));
    const followed = this.#toFollowed(rows, names);
    if (followed === undefined) return undefined;
    const { head, entries } = followed;
    const last = entries.at(-1)?.value;
    if (entries.length < maxNamesAtOnce || last === undefined || !isFolderValue(last)) return followed;
    return { head, entries: [...entries, ...(await this.followFrom(last.id, names.slice(maxNamesAtOnce)))] };
  }

  /** Follows names from a folder, as far as they exist. */
  async followFrom(folder: string, names: readonly string[]): Promise<EntryRow[]> {
    const found: EntryRow[] = [];
    for (let at = folder; found.length < names.length; ) {
      const some = names.slice(found.length, found.length + maxNamesAtOnce);
      const entries = this.#toEntries(await this.#steps("folder", at, some), some);
      found.push(...entries);
      const last = entries.at(-1)?.value;
      if (entries.length < some.length || last === undefined || !isFolderValue(last)) break;
      at = last.id;
    }
    return found;
  }

  /**
   * followSync does what `follow` does, without waiting; undefined also where the database cannot do that, and for paths that
   * need several statements.
   */
  followSync(bucketPath: string, names: readonly string[]): FollowedPath | undefined {
    if (names.length > maxNamesAtOnce) return undefined;
    const rows = this.#dialect.readSync?.(this.#statement("head", bucketPath, names));
    return rows && this.#toFollowed(rows, names);
  }

  /** Returns those of these names that exist in a folder. */
  async some(folder: string, names: readonly string[]): Promise<EntryRow[]> {
    return toRows(await this.#in(folder).getMany(names));
  }

  /** Returns everything in a folder, in batches and in no particular order. */
  async *list(folder: string): AsyncGenerator<EntryRow[]> {
    for await (const batch of this.#in(folder).batches({ size: rowsAtOnce }))
      if (batch.length > 0) yield batch.map(({ key: name, value }) => ({ name, value }));
  }

  /** Returns what is in a folder behind a name, in batches sorted by the bytes of the names. */
  async *listAfter(folder: string, after: string): AsyncGenerator<EntryRow[]> {
    const order = sql.raw(this.#dialect.byCodePoints('"key"'));
    for await (const batch of this.#in(folder).batches({ after, order, size: rowsPerPage }))
      if (batch.length > 0) yield batch.map(({ key: name, value }) => ({ name, value }));
  }

  /** Returns the folders in a folder. */
  async folders(folder: string): Promise<Array<EntryRow & { readonly value: FolderValue }>> {
    const found = await this.#in(folder).list({ where: sql<SqlBool>`value ->> 'id' is not null` });
    return toRows(found as Map<string, FolderValue>);
  }

  async isEmpty(folder: string): Promise<boolean> {
    return !(await this.#in(folder).has());
  }

  #in(folder: string): Collection<EntryValue> {
    return new Collection(this.#dialect, folderNamespace(folder), this.#query);
  }

  /** Writes an entry, in place of one with this name. */
  put(folder: string, name: string, value: EntryValue): Promise<void> {
    return this.write([entryRow(folder, name, value)]);
  }

  /** Writes rows in place of those with the same keys; of two with the same key, the last. */
  async write(rows: readonly TreeRow[]): Promise<void> {
    const byKey = new Map(rows.map((row) => [`${row.namespace}\n${row.key}`, row]));
    const all = [...byKey.values()].map((row) => ({ ...row, value: this.#dialect.json(row.value) }));
    for (let at = 0; at < all.length; at += rowsPerInsert)
      await this.#query
        .insertInto("kv")
        .values(all.slice(at, at + rowsPerInsert))
        .onConflict((conflict) =>
          conflict.columns(["namespace", "key"]).doUpdateSet({ value: sql`excluded.value` }),
        )
        .execute();
  }

  async delete(folder: string, ...names: readonly string[]): Promise<void> {
    for (let at = 0; at < names.length; at += rowsPerInsert)
      await this.#in(folder).delete(...names.slice(at, at + rowsPerInsert));
  }

  /** Copies the files of a folder, without its folders, into another one that is empty. `changes` replace members of their values. */
  async copyFiles(from: string, to: string, changes: Partial<EntryValue>): Promise<void> {
    for (let after = ""; ; ) {
      const rest = this.#query
        .selectFrom("kv")
        .where("namespace", "=", folderNamespace(from))
        .where("key", ">", after);
      const last = await rest
        .select("key")
        .orderBy("key")
        .offset(rowsAtOnce - 1)
        .limit(1)
        .executeTakeFirst();
      await this.#query
        .insertInto("kv")
        .columns(["namespace", "key", "value"])
        .expression(
          rest
            .$if(last !== undefined, (query) => query.where("key", "<=", last?.key ?? ""))
            .where(sql<boolean>`value ->> 'id' is null`)
            .select([
              sql<string>`cast(${folderNamespace(to)} as text)`.as("namespace"),
              "key",
              this.#dialect.mergeJson("value", changes).as("value"),
            ]),
        )
        .execute();
      if (last === undefined) return;
      after = last.key;
    }
  }

  async #steps(start: Start, from: string, names: readonly string[]): Promise<readonly StepRow[]> {
    if (names.length === 0 && start === "folder") return [];
    return (await this.#query.executeQuery(this.#statement(start, from, names))).rows;
  }

  /** Names are filled up to a power of two with one that no entry has, so that there are few different statements to prepare. */
  #statement(start: Start, from: string, names: readonly string[]): CompiledQuery<StepRow> {
    const size = names.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(names.length));
    const key = `${start} ${size}`;
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      statement = compileSteps(this.#dialect, {
        start,
        names: size,
        heads: headsNamespace,
        prefix: filesPrefix,
      });
      this.#statements.set(key, statement);
    }
    const parameters = statement.parameters.map((parameter) =>
      parameter === startMark ? from : (names[Number(parameter)] ?? ""),
    );
    return { ...statement, parameters };
  }

  #toFollowed([first, ...rest]: readonly StepRow[], names: readonly string[]): FollowedPath | undefined {
    if (first === undefined) return undefined;
    const head = this.#dialect.fromJson(first.value) as HeadValue;
    return { head, entries: this.#toEntries(rest, names) };
  }

  #toEntries(steps: readonly StepRow[], names: readonly string[]): EntryRow[] {
    return steps.map(({ value }, at) => this.#toEntry({ name: names[at] ?? "", value }));
  }

  #toEntry({ name, value }: { readonly name: string; readonly value: unknown }): EntryRow {
    return { name, value: this.#dialect.fromJson(value) as EntryValue };
  }
}

/**
 * HeldEntries are the rows of a tree within a transaction. Between `hold` and `release` those that it reads by name stay in memory, and
 * what it changes is there until `flush`: a change of many paths takes a few statements, and not some for each path. Whatever
 * reads or copies a whole folder is written to the database first.
 */
export class HeldEntries extends EntryRows {
  #head: HeadValue | undefined;
  /** Folder → name → what is there; undefined if nothing is. */
  readonly #known = new Map<string, Map<string, EntryValue | undefined>>();
  readonly #written = new Map<string, TreeRow>();
  readonly #deleted = new Map<string, Set<string>>();

  /** hold reads what is on the way to these paths, level by level. `head` is that of the bucket, as the transaction has locked it. */
  async hold(head: HeadValue, paths: ReadonlyArray<readonly string[]>): Promise<void> {
    this.#head = head;
    let open = paths.map((names) => ({ folder: head.root, names }));
    for (let depth = 0; open.length > 0; depth += 1) {
      const level = open.filter(({ names }) => depth < names.length);
      for (const [folder, inside] of Map.groupBy(level, ({ folder }) => folder))
        await this.#load(
          folder,
          inside.map(({ names }) => names[depth] ?? ""),
        );
      open = level.flatMap(({ folder, names }) => {
        const value = this.#known.get(folder)?.get(names[depth] ?? "");
        return value !== undefined && isFolderValue(value) ? [{ folder: value.id, names }] : [];
      });
    }
  }

  /** release forgets everything, also what was not written. */
  release(): void {
    this.#head = undefined;
    this.#known.clear();
    this.#written.clear();
    this.#deleted.clear();
  }

  /** flush writes what was changed. */
  async flush(): Promise<void> {
    for (const [folder, names] of this.#deleted) await super.delete(folder, ...names);
    this.#deleted.clear();
    const rows = [...this.#written.values()];
    this.#written.clear();
    await super.write(rows);
  }

  override async follow(bucketPath: string, names: readonly string[]): Promise<FollowedPath | undefined> {
    const head = this.#head;
    if (head === undefined) return super.follow(bucketPath, names);
    return { head, entries: await this.followFrom(head.root, names) };
  }

  override async followFrom(folder: string, names: readonly string[]): Promise<EntryRow[]> {
    if (this.#head === undefined) return super.followFrom(folder, names);
    const found: EntryRow[] = [];
    let at = folder;
    for (const name of names) {
      const [row] = await this.some(at, [name]);
      if (row === undefined) break;
      found.push(row);
      if (!isFolderValue(row.value)) break;
      at = row.value.id;
    }
    return found;
  }

  override async some(folder: string, names: readonly string[]): Promise<EntryRow[]> {
    if (this.#head === undefined) return super.some(folder, names);
    const known = await this.#load(folder, names);
    return names.flatMap((name) => {
      const value = known.get(name);
      return value === undefined ? [] : [{ name, value }];
    });
  }

  override async write(rows: readonly TreeRow[]): Promise<void> {
    if (this.#head === undefined) return super.write(rows);
    for (const row of rows) {
      this.#written.set(`${row.namespace}\n${row.key}`, row);
      if ("entry" in row.value) continue;
      const folder = row.namespace.slice(filesPrefix.length);
      this.#deleted.get(folder)?.delete(row.key);
      this.#knownOf(folder).set(row.key, row.value);
    }
  }

  override async delete(folder: string, ...names: readonly string[]): Promise<void> {
    if (this.#head === undefined) return super.delete(folder, ...names);
    const deleted = this.#deleted.get(folder) ?? new Set();
    this.#deleted.set(folder, deleted);
    for (const name of names) {
      this.#written.delete(`${folderNamespace(folder)}\n${name}`);
      deleted.add(name);
      this.#knownOf(folder).set(name, undefined);
    }
  }

  override async *list(folder: string): AsyncGenerator<EntryRow[]> {
    await this.flush();
    yield* super.list(folder);
  }

  override async *listAfter(folder: string, after: string): AsyncGenerator<EntryRow[]> {
    await this.flush();
    yield* super.listAfter(folder, after);
  }

  override async folders(folder: string): Promise<Array<EntryRow & { readonly value: FolderValue }>> {
    await this.flush();
    return super.folders(folder);
  }

  override async isEmpty(folder: string): Promise<boolean> {
    await this.flush();
    return super.isEmpty(folder);
  }

  override async copyFiles(from: string, to: string, changes: Partial<EntryValue>): Promise<void> {
    await this.flush();
    this.#known.delete(to);
    await super.copyFiles(from, to, changes);
  }

  async #load(
    folder: string,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, EntryValue | undefined>> {
    const known = this.#knownOf(folder);
    const missing = [...new Set(names)].filter((name) => !known.has(name));
    for (let at = 0; at < missing.length; at += rowsPerInsert) {
      const some = missing.slice(at, at + rowsPerInsert);
      const found = new Map((await super.some(folder, some)).map(({ name, value }) => [name, value]));
      for (const name of some) known.set(name, found.get(name));
    }
    return known;
  }

  #knownOf(folder: string): Map<string, EntryValue | undefined> {
    const known = this.#known.get(folder) ?? new Map<string, EntryValue | undefined>();
    this.#known.set(folder, known);
    return known;
  }
}

function toRows<V extends EntryValue>(
  values: ReadonlyMap<string, V>,
): Array<EntryRow & { readonly value: V }> {
  return Array.from(values, ([name, value]) => ({ name, value }));
}

/** Start is where a path begins: at the head of a bucket, which is the first row of the answer, or in a folder. */
type Start = "head" | "folder";

/** StepRow is a row of a path that is followed: the head of the bucket, or what has the next name. */
interface StepRow {
  readonly value: unknown;
}

interface StepsOptions {
  readonly start: Start;
  /** The number of names. */
  readonly names: number;
  /** The namespace of the heads. */
  readonly heads: string;
  /** What the namespace of a folder has before its id. */
  readonly prefix: string;
}

/** `startMark` is the parameter of a compiled statement for its start; the others are the numbers of the names, as text. */
const startMark = "start";

/**
 * `compileSteps` returns the statement that follows this number of names through the folders of a tree: a step looks one name up in the
 * folder that the step before found. It ends at the first name that does not exist, and at a file. Each step is a subquery for
 * one value, so that every planner does one look-up by the index: as a join, PostgreSQL reads the whole table while it is small,
 * and goes on so with a plan that it has kept.
 */
function compileSteps(
  { query }: Pick<Dialect, "query">,
  { start, names, heads, prefix }: StepsOptions,
): CompiledQuery<StepRow> {
  return query
    .withRecursive("at(depth, folder, value)", (db) => {
      const first =
        start === "head"
          ? db
              .selectFrom("kv")
              .where("namespace", "=", sql.lit(heads))
              .where("key", "=", startMark)
              .select([
                sql<number>`0`.as("depth"),
                sql<string | null>`value ->> 'root'`.as("folder"),
                sql<unknown>`value`.as("value"),
              ])
          : db.selectNoFrom([
              sql<number>`0`.as("depth"),
              sql<string | null>`cast(${startMark} as text)`.as("folder"),
              sql<unknown>`cast(null as jsonb)`.as("value"),
            ]);
      if (names === 0) return first;
      const folder = sql<string>`coalesce(at.folder, at.value ->> 'id')`;
      const name = sql<string>`case at.depth ${sql.join(
        Array.from({ length: names }, (_, at) => sql`when ${sql.lit(at)} then ${String(at)}`),
        sql` `,
      )} end`;
      return first.unionAll(
        db
          .selectFrom("at")
          .where("at.depth", "<", sql.lit(names))
          .where(sql<boolean>`${folder} is not null`)
          .select([
            sql<number>`at.depth + 1`.as("depth"),
            sql<string | null>`cast(null as text)`.as("folder"),
            sql<unknown>`(select child.value from kv as child where child.namespace = ${sql.lit(prefix)} || ${folder} and child.key = ${name})`.as(
              "value",
            ),
          ]),
      );
    })
    .selectFrom("at")
    .select("value")
    .where("value", "is not", null)
    .orderBy("depth")
    .compile();
}
