import { Database } from "bun:sqlite";
import { Fault, messageOf } from "../../base/fault.ts";
import { nextTurn } from "../../base/turns.ts";
import { businessTables } from "../migrations/tables.ts";
import { toSqliteFault, whenFree } from "../sqlite/sqlite-connections.ts";
import {
  batchBytes,
  type DatabaseSnapshot,
  type PortableRow,
  type PortableValue,
  portableInteger,
  portableReal,
  type TableShape,
} from "./portable.ts";

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
