// This folder is the dialect of SQLite. This file opens it. sqlite-connections.ts has one connection that writes and
// one that reads, waits while another process has locked the file, and turns errors into faults. sqlite-lock.ts allows
// one server per file. sqlite-file.ts notices when the open file was deleted or replaced, which SQLite itself does not
// report.

import type { SQLQueryBindings } from "bun:sqlite";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type CompiledQuery,
  Kysely,
  sql as raw,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Clock } from "../../base/clock.ts";
import { SharedRuns } from "../../base/concurrency.ts";
import type { SqliteFile } from "../../base/database-url.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { makeFolder } from "../../base/local-fs/access.ts";
import { PerTick } from "../../base/turns.ts";
import type { Logger } from "../../log/hub.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { PooledDriver, type StatementObserver } from "../driver.ts";
import { sqliteRowWriter } from "../dump/row-writers.ts";
import type { ColumnTypes } from "../migrations/tables.ts";
import type { OperatorSql } from "../operator/operator-sql.ts";
import { SqliteOperator } from "../operator/sqlite/sqlite-operator.ts";
import { noNotifications } from "../postgres/notifications.ts";
import { unavailable } from "../unavailable.ts";
import { watchWrites } from "../write-watch.ts";
import {
  openConnections,
  openReader,
  type SqliteConnections,
  toSource,
  toSqliteFault,
} from "./sqlite-connections.ts";
import { SqliteFileWatch } from "./sqlite-file.ts";

const columnTypes: ColumnTypes = {
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

interface SqliteOptions {
  readonly acquireTimeoutMs: number;
  /** The command that runs `runSqliteChild` in a new process. */
  readonly childCommand: readonly string[];
  readonly log: Logger;
  readonly observer?: StatementObserver | undefined;
  readonly clock: Clock;
}

/**
 * `openSqlite` opens the database file, and creates it if `mode` allows that. Throws DatabaseError with the path and the reason.
 */
export async function openSqlite(file: SqliteFile, options: SqliteOptions): Promise<Dialect> {
  const { path } = file;
  const { acquireTimeoutMs, childCommand, log, observer, clock } = options;
  const connections = await openFile(file);
  const watch = new SqliteFileWatch(path, log, clock);
  const operator = new SqliteOperator(path, { command: childCommand, clock });
  const version = newDataVersion(connections);
  const source = watchWrites(
    toSource(connections, watch, () => version.forget()),
    log,
  );
  // One connection writes, so there is one write or one transaction at a time; SQLite itself allows no more.
  const query = toKysely(new PooledDriver(source, { connections: 1, acquireTimeoutMs, log, observer }));
  const wal = new SqliteWal(path);
  return {
    ...sqliteSql,
    file: path,
    get isReachable() {
      return !watch.isMissing;
    },
    get losses() {
      return watch.losses;
    },
    get acceptsWrites() {
      return source.acceptsWrites;
    },
    query,
    clock,
    dataVersion() {
      watch.assertPresent();
      return version.get();
    },
    readSync: newSyncReader(connections, watch),
    get nowMs() {
      return raw<number>`cast(${clock.now()} as integer)`;
    },
    hasSchema: () => hasSchema(query),
    // BEGIN IMMEDIATE takes the write lock, of which a file has one for all processes.
    exclusively: (_scope, work) => query.transaction().execute(work),
    transact: (work) => query.transaction().execute(work),
    flush: () => wal.sync(),
    readSnapshot: (work) => readSnapshot(path, options, work),
    operator: watched(operator, watch),
    async close() {
      await operator.close();
      await query.destroy();
    },
  };
}

/** `sqliteSql` is the SQL of SQLite and what it has nothing to do for, none of which needs the file. */
export const sqliteSql = {
  kind: "sqlite",
  columnTypes,
  rowWriter: sqliteRowWriter,
  // BEGIN IMMEDIATE has locked all rows.
  forUpdate: raw``,
  boundedWait: raw`null`,
  mergeJson: (column, changes) => raw`json_patch(${raw.ref(column)}, ${JSON.stringify(changes)})`,
  jsonInteger: (column, member) => raw`json_extract(${raw.ref(column)}, ${`$.${member}`})`,
  jsonText: (column, member) => raw`json_extract(${raw.ref(column)}, ${`$.${member}`})`,
  // Texts are compared by their bytes, so those with a prefix follow each other.
  hasPrefix: (column, prefix) => {
    const next = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    return raw`(${raw.ref(column)} >= ${prefix} and ${raw.ref(column)} < ${next})`;
  },
  numberOfKey: 'CAST("key" AS INTEGER)',
  isJson: 'json_valid("value")',
  byCodePoints: (expression) => expression,
  addToJson: (column, member, amount) => {
    const path = `$.${member}`;
    return raw`json_set(${raw.ref(column)}, ${path}, json_extract(${raw.ref(column)}, ${path}) + ${amount})`;
  },
  json: (value) => JSON.stringify(value),
  fromJson: (value) => JSON.parse(String(value)),
  resetIdSequence: async () => {},
  // A local file answers or fails.
  limitAnswers: () => {},
  notifications: noNotifications,
  toSetupFault: (error) => error,
} satisfies Partial<Dialect>;

async function openFile({ path, mode }: SqliteFile): Promise<SqliteConnections> {
  if (mode === "rw" && !existsSync(path)) {
    throw new Fault(
      "DatabaseError",
      `the database ${path} does not exist; add ?mode=rwc to database_url to create it`,
      { path },
    );
  }
  try {
    makeFolder(dirname(path));
    return await openConnections(path);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(
      "DatabaseError",
      `the database ${path} cannot be opened: ${messageOf(error)}`,
      { path },
      { cause: error },
    );
  }
}

/** `newDataVersion` reads the number that changes with every commit, once in a tick. */
function newDataVersion({ reader }: SqliteConnections): PerTick<number> {
  // On the connection that never writes, for which every commit is another's.
  const dataVersion = reader.query<{ data_version: number }, []>("PRAGMA data_version");
  return new PerTick(() => Number(dataVersion.get()?.data_version));
}

function newSyncReader({ reader }: SqliteConnections, watch: SqliteFileWatch) {
  return <R>({ sql, parameters }: CompiledQuery<R>): R[] => {
    watch.assertPresent();
    try {
      return reader.query(sql).all(...(parameters as SQLQueryBindings[])) as R[];
    } catch (error) {
      throw toSqliteFault(error);
    }
  };
}

async function hasSchema(query: Kysely<Schema>): Promise<boolean> {
  const { rows } = await raw`SELECT 1 FROM sqlite_master WHERE name = 'seaql_migrations'`.execute(query);
  return rows.length > 0;
}

/** `readSnapshot` reads in one transaction on a connection of its own. */
async function readSnapshot<T>(
  path: string,
  { acquireTimeoutMs, log }: SqliteOptions,
  work: (snapshot: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  const snapshot = toKysely(new PooledDriver(openReader(path), { connections: 1, acquireTimeoutMs, log }));
  try {
    return await snapshot.transaction().execute(async (transaction) => {
      // The state of a transaction is that of its first read.
      await transaction.selectFrom("kv").select("id").limit(1).execute();
      return work(transaction);
    });
  } finally {
    await snapshot.destroy();
  }
}

/** `watched` refuses statements of an operator while the file is missing. */
function watched(operator: SqliteOperator, watch: SqliteFileWatch): OperatorSql {
  return {
    async run(request) {
      watch.assertPresentInTick();
      return operator.run(request);
    },
    async open(request) {
      watch.assertPresentInTick();
      return operator.open(request);
    },
    async tableSizes() {
      watch.assertPresentInTick();
      return operator.tableSizes();
    },
    close: () => operator.close(),
  };
}

function toKysely(driver: PooledDriver): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/**
 * SqliteWal writes the -wal file of a database to the disk. SQLite does so itself with `synchronous = FULL`, within COMMIT and
 * therefore on the thread of the event loop; here a thread of the pool does it, once for all commits that wait for it. Frames
 * that are not in the -wal file any more were moved into the database by a checkpoint, which syncs both files with `synchronous =
 * NORMAL`. SQLite holds no lock on the -wal file, so closing a descriptor of it releases none.
 */
class SqliteWal {
  readonly #path: string;
  readonly #syncs = new SharedRuns();

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** sync resolves when every transaction that was committed before this call survives a power cut. */
  sync(): Promise<void> {
    return this.#syncs.next(this.#path, () => this.#sync());
  }

  async #sync(): Promise<void> {
    try {
      await using file = await open(this.#path, "r");
      await file.datasync();
    } catch (error) {
      // The last connection of all processes removes it, after a checkpoint.
      if (codeOf(error) !== "ENOENT") throw notSynced(error);
    }
  }
}

function notSynced(error: unknown): unknown {
  return unavailable(
    error,
    `the change is stored, but the disk of the database could not confirm it (${codeOf(error) ?? messageOf(error)}); check that disk`,
  );
}
