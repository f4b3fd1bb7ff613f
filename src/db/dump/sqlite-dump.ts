import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { lchown, link, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { inheritedOwner } from "../../base/local-fs/access.ts";
import { Folder } from "../../base/local-fs/folder.ts";
import { backupPath, isTemporaryName, temporaryName } from "../../base/local-fs/replace-file.ts";
import { nextTurn } from "../../base/turns.ts";
import { type Dialect, schemaScope } from "../dialect.ts";
import { businessTables } from "../migrations/tables.ts";
import { toSqliteFault, whenFree } from "../sqlite/sqlite-connections.ts";
import { canonicalPath, lockSqlite } from "../sqlite/sqlite-lock.ts";
import {
  batchBytes,
  type DatabaseShape,
  type DatabaseSnapshot,
  type PortableRow,
  type PortableValue,
  portableInteger,
  portableReal,
  type TableShape,
} from "./portable.ts";
import { type InsertRows, type LoadReport, type LoadTarget, loadTables } from "./table-loader.ts";

/**
 * `openSqliteSnapshot` reads a SQLite file in one read transaction. In WAL mode a server writes on meanwhile; what it writes stays
 * in the -wal file until the snapshot is closed. It takes no lock that a server needs, and writes nothing.
 */
export async function openSqliteSnapshot(path: string): Promise<DatabaseSnapshot> {
  let file: Database | undefined;
  try {
    // With readwrite SQLite removes the side files that it has to create where no server runs.
    file = new Database(path, { readwrite: true, safeIntegers: true });
    const opened = file;
    opened.run("PRAGMA query_only = ON");
    await whenFree(() => begin(opened));
    return toSnapshot(opened);
  } catch (error) {
    file?.close();
    if (error instanceof Fault) throw error;
    throw new Fault("DatabaseError", `the database ${path} cannot be read: ${messageOf(error)}`, { path });
  }
}

/** The transaction's state is that of its first read. */
function begin(file: Database): void {
  file.run("BEGIN");
  try {
    file.query("SELECT count(*) FROM sqlite_master").get();
  } catch (error) {
    file.run("ROLLBACK");
    throw error;
  }
}

function toSnapshot(file: Database): DatabaseSnapshot {
  const names = (
    file.query("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
  )
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sqlite_"));
  if (!names.includes("seaql_migrations"))
    throw new Fault("DatabaseError", "the database is empty; there is nothing to copy");
  const migrations = file
    .query("SELECT version, applied_at FROM seaql_migrations ORDER BY version")
    .all() as { version: string; applied_at: bigint }[];
  const sequences = file.query("SELECT name, seq FROM sqlite_sequence").all() as {
    name: string;
    seq: bigint;
  }[];
  const flags = new Map<string, ReadonlySet<string>>();
  const tables = businessTables.map((name): TableShape => {
    const columns = file.query(`SELECT name, type FROM pragma_table_info('${name}') ORDER BY cid`).all() as {
      name: string;
      type: string;
    }[];
    if (columns.length === 0) throw new Fault("DatabaseError", `the database has no table ${name}`);
    flags.set(name, new Set(columns.filter(({ type }) => type === "BOOLEAN").map(({ name }) => name)));
    const lastId = sequences.find((sequence) => sequence.name === name)?.seq ?? 0n;
    return { name, columns: columns.map(({ name }) => name), lastId: String(lastId) };
  });
  return {
    kind: "sqlite",
    migrations: migrations.map(({ version, applied_at }) => ({ version, applied_at: Number(applied_at) })),
    tables,
    otherTables: names.filter((name) => name !== "seaql_migrations" && !businessTables.includes(name)).sort(),
    jsonColumns: new Set(),
    rows: (table) => readRows(file, table, flags.get(table.name) ?? new Set()),
    async close() {
      file.close();
    },
  };
}

async function* readRows(
  file: Database,
  { name, columns }: TableShape,
  flags: ReadonlySet<string>,
): AsyncGenerator<readonly PortableRow[]> {
  const list = columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(", ");
  const rows = file.query<Record<string, unknown>, []>(`SELECT ${list} FROM "${name}" ORDER BY id`).iterate();
  let batch: PortableRow[] = [];
  let bytes = 0;
  try {
    for (const row of rows) {
      const values = columns.map((column) => toPortable(row[column], flags.has(column)));
      batch.push(values);
      for (const value of values) bytes += sizeOf(value);
      if (bytes < batchBytes) continue;
      yield batch;
      await nextTurn();
      batch = [];
      bytes = 0;
    }
  } catch (error) {
    throw error instanceof Fault ? error : toSqliteFault(error);
  }
  if (batch.length > 0) yield batch;
}

function toPortable(value: unknown, isFlag: boolean): PortableValue {
  if (typeof value === "bigint")
    return isFlag && (value === 0n || value === 1n) ? value === 1n : portableInteger(value);
  if (typeof value === "number") return portableReal(value);
  if (value instanceof Uint8Array) return { blob: Buffer.from(value).toString("base64") };
  return typeof value === "string" ? value : null;
}

/** An estimate, for the end of a batch. */
function sizeOf(value: PortableValue): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null && "blob" in value ? value.blob.length : 8;
}

const sideFiles = ["-wal", "-shm"];

/** SqliteLoadTarget builds a new file beside the database, which then takes its place; the previous one is kept under another name. */
export class SqliteLoadTarget implements LoadTarget {
  readonly #path: string;
  readonly #newPath: string;
  readonly #unlock: () => void;
  readonly #openDialect: (path: string) => Promise<Dialect>;

  private constructor(path: string, unlock: () => void, openDialect: (path: string) => Promise<Dialect>) {
    this.#path = path;
    this.#newPath = join(dirname(path), temporaryName(basename(path)));
    this.#unlock = unlock;
    this.#openDialect = openDialect;
  }

  /** The server's own lock keeps a server from starting meanwhile, and fails if one runs. */
  static async open(
    path: string,
    openDialect: (path: string) => Promise<Dialect>,
  ): Promise<SqliteLoadTarget> {
    const real = canonicalPath(path);
    const unlock = await lockSqlite(real);
    await clearUnfinished(real);
    return new SqliteLoadTarget(real, unlock, openDialect);
  }

  async load(shape: DatabaseShape, work: (insert: InsertRows) => Promise<void>): Promise<LoadReport> {
    const dialect = await this.#openDialect(this.#newPath);
    try {
      return await dialect.exclusively(schemaScope, (transaction) =>
        loadTables(dialect, transaction, { shape, work }),
      );
    } finally {
      // The last connection moves everything from the -wal file into the database.
      await dialect.close();
    }
  }

  loaded(): Promise<DatabaseSnapshot> {
    return openSqliteSnapshot(this.#newPath);
  }

  async commit(): Promise<string | undefined> {
    const folder = await Folder.open(dirname(this.#path));
    try {
      await sync(this.#newPath);
      await this.#takeOwner();
      const backup = await this.#backUpOld();
      await rename(this.#newPath, this.#path);
      await folder.sync();
      await this.discard();
      return backup;
    } finally {
      await folder.close();
    }
  }

  async discard(): Promise<void> {
    await this.#removeNew();
    this.#unlock();
  }

  async #takeOwner(): Promise<void> {
    const owner = inheritedOwner(this.#path);
    if (owner !== undefined) await lchown(this.#newPath, owner.uid, owner.gid);
  }

  /** Gives the previous file a second name, so that there is a database at its path at every moment. */
  async #backUpOld(): Promise<string | undefined> {
    const exists = existsSync(this.#path);
    if (exists) foldLog(this.#path);
    const backup = backupPath(this.#path, sideFiles);
    if (exists) await link(this.#path, backup);
    // Usually SQLite has removed them. They remain of a damaged or missing file, and SQLite would apply them to the new one.
    for (const end of sideFiles) await renameIfThere(this.#path + end, backup + end);
    return exists ? backup : undefined;
  }

  async #removeNew(): Promise<void> {
    for (const end of ["", ...sideFiles, "-journal"]) await rm(this.#newPath + end, { force: true });
  }
}

/** `clearUnfinished` removes the new files of processes that were killed. The lock shows that none of them still runs. */
async function clearUnfinished(path: string): Promise<void> {
  for (const name of await readdir(dirname(path)))
    if (isTemporaryName(name.replace(/-(wal|shm|journal)$/, ""), basename(path)))
      await rm(join(dirname(path), name), { force: true });
}

/** `foldLog` moves what the -wal file holds into the database. A damaged database stays as it is. */
function foldLog(path: string): void {
  // Beside a file that is not a database SQLite deletes the -wal file.
  if (!isSqlite(path)) return;
  let busy: bigint | number = 0;
  try {
    using file = new Database(path, { readwrite: true });
    file.run("PRAGMA busy_timeout = 5000");
    busy = (file.query("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number } | null)?.busy ?? 0;
  } catch (error) {
    if (codeOf(error)?.startsWith("SQLITE_") !== true) throw error;
  }
  if (Number(busy) !== 0)
    throw new Fault("DatabaseError", `another program has the database ${path} open; close it and try again`);
}

function isSqlite(path: string): boolean {
  const header = Buffer.alloc(16);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, header.length, 0);
    return header.toString("latin1") === "SQLite format 3\0";
  } finally {
    closeSync(file);
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await lstat(from);
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}
