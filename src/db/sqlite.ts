import { Database, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  Kysely,
  type QueryResult,
  sql as raw,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { accessMessage, fileProblem, folderProblem } from "../base/access.ts";
import type { SqliteFile } from "../base/database-url.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import type { Dialect } from "./dialect.ts";
import { PermitDriver, type Source } from "./driver.ts";
import { SqliteSql } from "./operator/sqlite-sql.ts";
import type { Schema } from "./schema.ts";
import type { Spelling } from "./tables.ts";
import { watchWrites } from "./write-watch.ts";

const spelling: Spelling = {
  id: "INTEGER PRIMARY KEY AUTOINCREMENT",
  types: {
    big: "BIGINT",
    int: "INTEGER",
    small: "SMALLINT",
    str: "TEXT",
    json: "TEXT",
    uuid: "TEXT",
    bool: "BOOLEAN",
    bin: "BLOB",
  },
};

export function openSqlite(
  { path, mode }: SqliteFile,
  acquireTimeoutMs: number,
  childCommand: readonly string[],
  log: Logger,
): Dialect {
  if (mode === "rw" && !existsSync(path)) {
    throw new Fault(
      "DatabaseError",
      `the database ${path} does not exist; add ?mode=rwc to database_url to make it`,
      { path },
    );
  }
  let file: Database;
  try {
    mkdirSync(dirname(path), { recursive: true });
    file = openFile(path);
    proveWritable(file, path);
    // From here on `whenFree` waits instead: SQLite's own waiting would hold up every request.
    file.run("PRAGMA busy_timeout = 0");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(
      "DatabaseError",
      `the database ${path} cannot be opened: ${messageOf(error)}`,
      { path },
      { cause: error },
    );
  }
  const operator = new SqliteSql(path, childCommand);
  const source = watchWrites(toSource(file), log);
  // One connection, so one statement or one transaction at a time; SQLite would make them wait anyway.
  const driver = new PermitDriver(source, 1, acquireTimeoutMs, log);
  const query = new Kysely<Schema>({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  return {
    kind: "sqlite",
    query,
    spelling,
    async hasSchema() {
      const rows = await raw`SELECT 1 FROM sqlite_master WHERE name = 'seaql_migrations'`.execute(query);
      return rows.rows.length > 0;
    },
    json: (value) => JSON.stringify(value),
    fromJson: (value) => JSON.parse(String(value)),
    // BEGIN IMMEDIATE takes the write lock, which is one per file for all processes.
    exclusively: (work) => query.transaction().execute(work),
    continueIds: async () => {},
    operator,
    toSetupFault: (error) => error,
    async close() {
      await operator.close();
      await query.destroy();
    },
  };
}

function openFile(path: string): Database {
  // It holds hashes of secrets: only the owner reads it, and SQLite gives its side files the same mode.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  const file = new Database(path, { create: true, readwrite: true });
  file.run(`PRAGMA busy_timeout = ${busyMs}`);
  for (const pragma of ["journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"]) {
    file.run(`PRAGMA ${pragma}`);
  }
  return file;
}

/**
 * Writes a value that is there already. SQLite opens a file that it cannot write as a read-only one without a word, and even
 * BEGIN IMMEDIATE then succeeds.
 */
function proveWritable(file: Database, path: string): void {
  const { user_version } = file.query("PRAGMA user_version").get() as { user_version: number };
  try {
    file.run(`PRAGMA user_version = ${user_version}`);
  } catch (error) {
    file.close();
    const real = resolve(path);
    const subject = { name: "the database", path: real, failed: "cannot be written" };
    const problem = fileProblem(real) ??
      folderProblem(dirname(real)) ?? {
        path: real,
        why: `${subject.failed}: ${messageOf(error)}`,
      };
    throw new Fault("DatabaseError", accessMessage(subject, problem), { path }, { cause: error });
  }
}

/** How long a statement waits for another process that writes. */
const busyMs = 5000;

async function whenFree<T>(run: () => T): Promise<T> {
  const deadline = Date.now() + busyMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return run();
    } catch (error) {
      if (!codeOf(error)?.startsWith("SQLITE_BUSY") || Date.now() > deadline) throw error;
    }
    await Bun.sleep(pause);
  }
}

/** Whether a statement has rows is a matter of its text, and asking it costs more than many statements do. */
const mostTexts = 500;

function toSource(file: Database): Source {
  const hasRows = new Map<string, boolean>();
  const run = (sql: string, bindings: SQLQueryBindings[]): QueryResult<unknown> => {
    const statement = file.query(sql);
    let rows = hasRows.get(sql);
    if (rows === undefined) {
      rows = statement.columnNames.length > 0;
      if (hasRows.size >= mostTexts) hasRows.clear();
      hasRows.set(sql, rows);
    }
    if (rows) return { rows: statement.all(...bindings) };
    const { changes, lastInsertRowid } = statement.run(...bindings);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  };
  const execute = async (sql: string, params: readonly unknown[]): Promise<QueryResult<unknown>> => {
    try {
      return await whenFree(() => run(sql, params as SQLQueryBindings[]));
    } catch (error) {
      const unique =
        codeOf(error) === "SQLITE_CONSTRAINT_UNIQUE" || codeOf(error) === "SQLITE_CONSTRAINT_PRIMARYKEY";
      throw new Fault("DatabaseError", messageOf(error), unique ? { unique: true } : {}, { cause: error });
    }
  };
  return {
    execute,
    reserve: async () => ({ execute, release() {} }),
    begin: "BEGIN IMMEDIATE",
    async close() {
      file.close();
    },
  };
}
