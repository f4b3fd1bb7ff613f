import { Database, type SQLQueryBindings } from "bun:sqlite";
import { dirname } from "node:path";
import type { QueryResult } from "kysely";
import { retry } from "../../base/clock.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { accessMessage, fileProblem, folderProblem, makeFile } from "../../base/local-fs/access.ts";
import type { ConnectionSource, Execute } from "../driver.ts";
import { diskFull, unavailable } from "../unavailable.ts";
import type { SqliteFileWatch } from "./sqlite-file.ts";

/**
 * SqliteConnections are the server's two connections to its file. Reads have one of their own: in WAL mode they continue while a
 * write waits for another process, and they see everything that this process has committed.
 */
export interface SqliteConnections {
  readonly writer: Database;
  readonly reader: Database;
}

/**
 * The size to which the -wal file is truncated after a checkpoint. It grows while anybody reads (a backup, a long statement), and
 * without this limit it would keep its largest size.
 */
const maxIdleWalBytes = 64 * 1024 * 1024;

/** `openConnections` opens the file, and creates it if it does not exist. */
export async function openConnections(path: string): Promise<SqliteConnections> {
  // The file contains hashes of secrets: only the owner may read it, and SQLite gives its side files the same mode.
  makeFile(path, 0o600);
  const writer = new Database(path, { readwrite: true });
  try {
    for (const pragma of [
      "journal_mode = WAL",
      "synchronous = NORMAL",
      "foreign_keys = ON",
      `journal_size_limit = ${maxIdleWalBytes}`,
    ])
      await whenFree(() => writer.run(`PRAGMA ${pragma}`));
    await proveWritable(writer, path);
    const reader = new Database(path, { readwrite: true });
    reader.run("PRAGMA query_only = ON");
    return { writer, reader };
  } catch (error) {
    writer.close();
    throw error;
  }
}

/**
 * `proveWritable` writes a value that is already there. SQLite opens a file that it cannot write as read-only without an error, and
 * even BEGIN IMMEDIATE then succeeds. A full disk is not a reason not to start, because the database can be read: the first write
 * says that it is full.
 */
async function proveWritable(file: Database, path: string): Promise<void> {
  try {
    await whenFree(() => {
      const { user_version } = file.query("PRAGMA user_version").get() as { user_version: number };
      file.run(`PRAGMA user_version = ${user_version}`);
    });
  } catch (error) {
    if (codeOf(error) === "SQLITE_FULL") return;
    const subject = { name: "the database", path, failed: "cannot be written" };
    const problem = fileProblem(path) ??
      folderProblem(dirname(path)) ?? {
        path,
        why: `${subject.failed}: ${messageOf(error)}`,
      };
    throw new Fault("DatabaseError", accessMessage(subject, problem), { path }, { cause: error });
  }
}

/** `toSource` makes the connections a source for a driver. `onWritten` is called after every statement of the one that writes. */
export function toSource(
  { writer, reader }: SqliteConnections,
  watch: SqliteFileWatch,
  onWritten: () => void,
): ConnectionSource {
  const write = toExecute(writer, () => watch.checkPresent());
  const execute: Execute = (sql, params) => write(sql, params).finally(onWritten);
  // Without the watch: it must end the transaction also while the file is missing, and it changes no file.
  const rollback = toExecute(writer, () => {});
  return {
    async execute(sql, params) {
      endTransaction(writer);
      return execute(sql, params);
    },
    read: toExecute(reader, () => watch.assertPresent()),
    async reserve() {
      endTransaction(writer);
      return {
        execute: (sql, params) => (sql === "ROLLBACK" ? rollback : execute)(sql, params),
        release: () => endTransaction(writer),
      };
    },
    begin: "BEGIN IMMEDIATE",
    async close() {
      watch.close();
      reader.close();
      writer.close();
    },
  };
}

/** `openReader` opens a further connection, which only reads. */
export function openReader(path: string): ConnectionSource {
  const reader = new Database(path, { readwrite: true });
  reader.run("PRAGMA query_only = ON");
  const execute = toExecute(reader, () => {});
  return {
    execute,
    reserve: async () => ({ execute, release() {} }),
    begin: "BEGIN",
    close: async () => reader.close(),
  };
}

/**
 * `endTransaction` ends a transaction whose ROLLBACK failed. Otherwise every BEGIN would fail, and single writes would become part
 * of that transaction: reported as done, and never committed.
 */
function endTransaction(writer: Database): void {
  if (!writer.inTransaction) return;
  try {
    writer.run("ROLLBACK");
  } catch (error) {
    throw toSqliteFault(error);
  }
}

function toExecute(file: Database, assertUsable: () => void): Execute {
  const run = toRun(file);
  return async (sql, params) => {
    assertUsable();
    try {
      return run(sql, params as SQLQueryBindings[]);
    } catch (error) {
      if (!isBusy(error)) throw toSqliteFault(error);
    }
    try {
      return await whenFree(() => run(sql, params as SQLQueryBindings[]));
    } catch (error) {
      throw toSqliteFault(error);
    }
  };
}

/**
 * The number of statement texts for which it is remembered whether they return rows: asking SQLite costs more than many statements
 * do.
 */
const maxTexts = 500;

function toRun(file: Database): (sql: string, bindings: SQLQueryBindings[]) => QueryResult<unknown> {
  const hasRows = new Map<string, boolean>();
  return (sql, bindings) => {
    const statement = file.query(sql);
    let rows = hasRows.get(sql);
    if (rows === undefined) {
      rows = statement.columnNames.length > 0;
      if (hasRows.size >= maxTexts) hasRows.clear();
      hasRows.set(sql, rows);
    }
    if (rows) return { rows: statement.all(...bindings) };
    const { changes, lastInsertRowid } = statement.run(...bindings);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  };
}

/** The time that a statement waits for another process that has locked the file. */
const busyMs = 5000;

/**
 * `whenFree` runs `run` again while another process has locked the file, up to `timeoutMs`. SQLite's own `busy_timeout` would block
 * the whole process while it waits.
 */
export function whenFree<T>(run: () => T, timeoutMs = busyMs): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  return retry(run, {
    pauseAfter: (error, failures) =>
      isBusy(error) && performance.now() <= deadline ? Math.min(2 ** (failures - 1), 50) : undefined,
  });
}

export function isBusy(error: unknown): boolean {
  return codeOf(error)?.startsWith("SQLITE_BUSY") === true;
}

const uniqueCodes = new Set(["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"]);

/** `toSqliteFault` turns an error of SQLite into a Fault, with SQLite's own message unless there is a clearer one. */
export function toSqliteFault(error: unknown): Fault {
  const code = codeOf(error) ?? "";
  if (code === "SQLITE_FULL") return diskFull(error);
  if (code.startsWith("SQLITE_BUSY"))
    return unavailable(error, "another process keeps the database locked; try again shortly");
  if (code.startsWith("SQLITE_IOERR") || code.startsWith("SQLITE_CANTOPEN"))
    return unavailable(error, `the database file cannot be used: ${messageOf(error)}`);
  return new Fault("DatabaseError", messageOf(error), uniqueCodes.has(code) ? { unique: true } : {}, {
    cause: error,
  });
}
