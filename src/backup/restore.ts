import { type FilesTarget, openNewTrees } from "../buckets/open-storage.ts";
import type { NewTrees } from "../buckets/ports.ts";
import type { TreeRow } from "../buckets/trees/rows/new-trees.ts";
import type { DatabaseSettings } from "../db/database.ts";
import { openLoadTarget } from "../db/dump/load-target.ts";
import {
  type DatabaseShape,
  type PortableRow,
  parsePortableRow,
  type TableShape,
} from "../db/dump/portable.ts";
import type { InsertRows, LoadReport } from "../db/dump/table-loader.ts";
import { isOfNode } from "../db/rows/memory-rows.ts";
import { storeNamespace } from "../db/rows/store-rows.ts";
import type { LogHub } from "../log/hub.ts";
import { bucketPathOf, tableOf } from "./manifest.ts";
import { membersOf, type ReadOptions, type VerifiedBackup } from "./read-backup.ts";
import { damaged, type TarMember } from "./tar.ts";

export interface RestoreOptions extends ReadOptions {
  readonly database: DatabaseSettings;
  /** Where the files of the buckets go: a folder or a blob store; undefined leaves all files as they are. */
  readonly files: FilesTarget | undefined;
  readonly hub: LogHub;
}

interface RestoreReport extends LoadReport {
  /** The path of the previous database, if it was kept. */
  readonly previousDatabase: string | undefined;
  /** Replaced folders of buckets that could not be removed. */
  readonly remains: readonly string[];
}

/** The number of rows that are written at once. */
const rowsAtOnce = 500;

/**
 * `restoreBackup` replaces the database, and the files of the buckets if requested. Everything is complete and compared with the
 * manifest before anything is replaced; if it throws, database and files are as they were. The signal ends it before that moment,
 * not after it.
 */
export async function restoreBackup(
  backup: VerifiedBackup,
  { database, files, hub, ...reading }: RestoreOptions,
): Promise<RestoreReport> {
  const shape = shapeOf(backup);
  const kv = tableNamed(shape, "kv");
  const rows = new RestoredRows(kv);
  const { signal = new AbortController().signal } = reading;
  const trees = files && (await openNewTrees(files, { insert: (added) => rows.add(added), signal }));
  const target = await openLoadTarget(database, hub);
  const members = new MemberQueue(membersOf(backup, reading));
  let report: LoadReport;
  let previousDatabase: string | undefined;
  try {
    report = await target.load(withTable(shape, rows.table), async (insert) => {
      rows.begin(insert);
      await loadRows(
        backup,
        members,
        trees === undefined ? withoutStore(insert, kv) : withoutTrees(insert, kv),
      );
      if (trees === undefined) return;
      await fillTrees(backup, members, trees);
      await trees.complete();
    });
    await trees?.install();
    previousDatabase = await target.commit();
  } catch (error) {
    try {
      await trees?.undo();
    } finally {
      await target.discard();
    }
    throw error;
  } finally {
    await members.close();
  }
  return { ...report, previousDatabase, remains: (await trees?.finish()) ?? [] };
}

function shapeOf({ header: { database } }: VerifiedBackup): DatabaseShape {
  const { kind, migrations, tables } = database;
  return {
    kind,
    migrations,
    tables: tables.map(({ name, columns, last_id }) => ({ name, columns, lastId: last_id })),
  };
}

function tableNamed({ tables }: DatabaseShape, name: string): TableShape {
  const table = tables.find((table) => table.name === name);
  if (table === undefined) throw damaged(`it does not have the table ${name}`);
  return table;
}

function withTable(shape: DatabaseShape, table: TableShape): DatabaseShape {
  return { ...shape, tables: shape.tables.map((other) => (other.name === table.name ? table : other)) };
}

/** `loadRows` reads the members up to the first one of the files. */
async function loadRows(
  { header, manifest }: VerifiedBackup,
  members: MemberQueue,
  insert: InsertRows,
): Promise<void> {
  const counts: Record<string, number> = {};
  for (let member = await members.peek(); member !== undefined; member = await members.peek()) {
    const table = tableOf(member, header);
    if (bucketPathOf(member, header) !== undefined) break;
    members.shift();
    if (table === undefined) for await (const _ of member.content());
    else
      for await (const rows of rowsOf(member)) {
        counts[table] = (counts[table] ?? 0) + rows.length;
        await insert(table, rows);
      }
  }
  for (const { name } of header.database.tables)
    if ((counts[name] ?? 0) !== (manifest.rows[name] ?? 0))
      throw damaged(`the table ${name} has ${counts[name] ?? 0} rows instead of ${manifest.rows[name]}`);
}

async function* rowsOf(member: TarMember): AsyncGenerator<readonly PortableRow[]> {
  let rows: PortableRow[] = [];
  for await (const line of linesOf(member)) {
    rows.push(parsed(line, member.name));
    if (rows.length < rowsAtOnce) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

async function* linesOf(member: TarMember): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  // Joined only at the end of a line: a row may be many megabytes long.
  let parts: string[] = [];
  for await (const bytes of member.content()) {
    const [first = "", ...more] = decoded(decoder, bytes, member.name).split("\n");
    parts.push(first);
    for (const next of more) {
      yield parts.join("");
      parts = [next];
    }
  }
  if (parts.join("") !== "") throw damaged(`the last line of ${member.name} is incomplete`);
}

function decoded(decoder: TextDecoder, bytes: Uint8Array, name: string): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw damaged(`${name} is not UTF-8`);
  }
}

function parsed(line: string, name: string): PortableRow {
  try {
    return parsePortableRow(line);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(`a line of ${name} is not a row`);
  }
}

async function fillTrees({ header }: VerifiedBackup, members: MemberQueue, trees: NewTrees): Promise<void> {
  for (let member = await members.peek(); member !== undefined; member = await members.peek()) {
    const at = bucketPathOf(member, header);
    if (at === undefined) throw damaged(`${member.name} is in the wrong place`);
    members.shift();
    await trees.add(at, member);
  }
}

/** MemberQueue lets one reader stop in front of a member that belongs to the next. */
class MemberQueue {
  readonly #members: AsyncGenerator<TarMember>;
  #next: TarMember | undefined;

  constructor(members: AsyncGenerator<TarMember>) {
    this.#members = members;
  }

  async peek(): Promise<TarMember | undefined> {
    if (this.#next === undefined) {
      const { done, value } = await this.#members.next();
      this.#next = done ? undefined : value;
    }
    return this.#next;
  }

  shift(): void {
    this.#next = undefined;
  }

  async close(): Promise<void> {
    await this.#members.return(undefined);
  }
}

/** The namespaces of the names of files. */
const treesPrefix = "static-files/";

/** RestoredRows are the rows of `kv` that a restore adds to those of the backup: the names of files that get new blobs. */
class RestoredRows {
  readonly #table: TableShape;
  #lastId: bigint;
  #insert: InsertRows | undefined;

  /** `table` is `kv` in the backup. */
  constructor(table: TableShape) {
    this.#table = table;
    this.#lastId = BigInt(table.lastId);
  }

  /** The table with the rows that were added. */
  get table(): TableShape {
    const lastId = () => String(this.#lastId);
    return {
      ...this.#table,
      get lastId() {
        return lastId();
      },
    };
  }

  /** To be called with what the database is loaded by, before the first `add`. */
  begin(insert: InsertRows): void {
    this.#insert = insert;
  }

  async add(rows: readonly TreeRow[]): Promise<void> {
    await this.#insert?.(
      this.#table.name,
      rows.map((row) => this.#toPortable(row)),
    );
  }

  #toPortable({ namespace, key, value }: TreeRow): PortableRow {
    this.#lastId += 1n;
    const id = Number(this.#lastId);
    const values: Readonly<Record<string, PortableRow[number]>> = {
      id: Number.isSafeInteger(id) ? id : { integer: String(this.#lastId) },
      namespace,
      key,
      value: JSON.stringify(value),
    };
    return this.#table.columns.map((name) => values[name] ?? null);
  }
}

/** `withoutTrees` leaves out the names of files that are in the rows of a backup: its files are restored, and get new ones. */
function withoutTrees(insert: InsertRows, kv: TableShape): InsertRows {
  return without(insert, kv, (namespace) => namespace.startsWith(treesPrefix));
}

/**
 * `withoutStore` leaves out to which store the database of a backup belonged: that may be used by the server of which the backup
 * was made.
 */
function withoutStore(insert: InsertRows, kv: TableShape): InsertRows {
  return without(insert, kv, (namespace) => namespace === storeNamespace);
}

/** Also leaves out what is about the nodes that used the database of the backup. */
function without(
  insert: InsertRows,
  { name, columns }: TableShape,
  isLeftOut: (namespace: string) => boolean,
): InsertRows {
  const at = columns.indexOf("namespace");
  const stays = (row: PortableRow) => !isOfNode(String(row[at])) && !isLeftOut(String(row[at]));
  return (table, rows) => insert(table, table === name ? rows.filter(stays) : rows);
}
