// Db is the only module that writes SQL, and Database in this file is its one interface, the same for SQLite and
// PostgreSQL. dialect.ts names every difference between the two, which sqlite/ and postgres/ implement on the
// connections of driver.ts. rows/ has the typed records that other modules read and write, migrations/ the tables.
// operator/ runs the operator's own SQL apart from the server's, dump/ copies a whole database. freshness.ts says how
// long what was read may be used. unavailable.ts and write-watch.ts are about a database that fails, and probe.ts
// tells what a start would find.

import { existsSync } from "node:fs";
import type { Transaction } from "kysely";
import { type Clock, millisecondsSince, systemClock } from "../base/clock.ts";
import { parseDatabaseUrl, shownDatabase } from "../base/database-url.ts";
import { Fault } from "../base/fault.ts";
import { selfCommand } from "../build.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import type { Dialect, Schema } from "./dialect.ts";
import type { StatementObserver } from "./driver.ts";
import { type MigrationHook, migrate, type NewerMigration, readNewer } from "./migrations/migrate.ts";
import type { Migration } from "./migrations/migrations.ts";
import { type OperatorSql, rowCountOf } from "./operator/operator-sql.ts";
import { SqlCursors } from "./operator/sql-cursors.ts";
import { withoutValues, writingStatements } from "./operator/statement-text.ts";
import type { Notifications } from "./postgres/notifications.ts";
import { openPostgres } from "./postgres/postgres.ts";
import { AgentRows } from "./rows/agent-rows.ts";
import { BucketRows } from "./rows/bucket-rows.ts";
import { CertificateRows } from "./rows/certificate-rows.ts";
import { DeployRows } from "./rows/deploy-rows.ts";
import { EntryRows } from "./rows/entry-rows.ts";
import { HeadRows } from "./rows/head-rows.ts";
import { HookRows } from "./rows/hook-rows.ts";
import { KvRows, namingDamage } from "./rows/kv-rows.ts";
import { LinkRows } from "./rows/link-rows.ts";
import { TaskLockRows, TransferLockRows } from "./rows/lock-rows.ts";
import { MemoryRows } from "./rows/memory-rows.ts";
import { NodeRows } from "./rows/node-rows.ts";
import { RemovedRows } from "./rows/removed-rows.ts";
import { SecondFactorRows } from "./rows/second-factor-rows.ts";
import { SessionRows } from "./rows/session-rows.ts";
import { StoreIdentityRows } from "./rows/store-rows.ts";
import { TokenRows, TokenUseRows } from "./rows/token-rows.ts";
import { UploadRows } from "./rows/upload-rows.ts";
import { openSqlite } from "./sqlite/sqlite.ts";

/** `libraryTarget` is the target of what the database libraries log, which readers see as `db`. */
const libraryTarget = "sqlx";

/** DatabaseSettings are the keys of the `[database]` table of the configuration. */
export interface DatabaseSettings {
  readonly database_url: string;
  readonly timeout_ms: number;
  readonly max_connections: number;
}

/** StatementObservers see the server's own statements, and those of operators (`exec_sql`). */
export interface StatementObservers {
  readonly server?: StatementObserver;
  readonly operator?: StatementObserver;
}

/**
 * Database is the main database, migrated and ready: the same interface for SQLite and PostgreSQL. Its methods throw DatabaseError;
 * with the reason `unavailable` the call may succeed later. After `close` every statement fails.
 */
export class Database {
  readonly #dialect: Dialect;
  readonly kind: "sqlite" | "postgres";
  readonly tokens: TokenRows;
  readonly tokenUses: TokenUseRows;
  readonly agents: AgentRows;
  readonly buckets: BucketRows;
  readonly kv: KvRows;
  /** The names of files whose content is in a blob store. */
  readonly entries: EntryRows;
  /** What the nodes share to have certificates. */
  readonly certificates: CertificateRows;
  readonly heads: HeadRows;
  /** What waits to be sent to webhooks. */
  readonly hooks: HookRows;
  /** Published and prepared trees of buckets. */
  readonly deploys: DeployRows;
  readonly taskLocks: TaskLockRows;
  /** The secrets and records of signed links. */
  readonly links: LinkRows;
  /** The nodes that use this database. */
  readonly nodes: NodeRows;
  /** What nodes remember over a restart. */
  readonly memory: MemoryRows;
  /** What was deleted or replaced in the object store, and everything that is named there. */
  readonly removed: RemovedRows;
  /** The codes with which people sign in beside their passwords. */
  readonly secondFactors: SecondFactorRows;
  /** The sign-ins of people in the console. */
  readonly sessions: SessionRows;
  /** The store that the files are in. */
  readonly storeIdentity: StoreIdentityRows;
  /** Locks of programs that change the site of a bucket as a whole. */
  readonly transferLocks: TransferLockRows;
  /** Uploads that can be resumed. */
  readonly uploads: UploadRows;
  /** Hints of changes, to and from the other nodes. */
  readonly notifications: Notifications;
  /** Runs an operator's own statements. */
  readonly operator: OperatorSql;
  /** Cursors on queries of an operator. */
  readonly cursors: SqlCursors;

  constructor(dialect: Dialect, log: Logger, observers: StatementObservers = {}) {
    this.#dialect = dialect;
    this.kind = dialect.kind;
    this.tokens = new TokenRows(dialect);
    this.tokenUses = new TokenUseRows(dialect);
    this.agents = new AgentRows(dialect);
    this.buckets = new BucketRows(dialect);
    this.kv = new KvRows(dialect);
    this.entries = new EntryRows(dialect);
    this.certificates = new CertificateRows(dialect);
    this.heads = new HeadRows(dialect);
    this.hooks = new HookRows(dialect);
    this.deploys = new DeployRows(dialect);
    this.taskLocks = new TaskLockRows(dialect);
    this.links = new LinkRows(dialect);
    this.nodes = new NodeRows(dialect);
    this.memory = new MemoryRows(dialect);
    this.removed = new RemovedRows(dialect, this.heads);
    this.secondFactors = new SecondFactorRows(dialect);
    this.sessions = new SessionRows(dialect);
    this.storeIdentity = new StoreIdentityRows(dialect);
    this.transferLocks = new TransferLockRows(dialect);
    this.uploads = new UploadRows(dialect);
    this.notifications = dialect.notifications;
    this.operator = observed(dialect, log, observers.operator);
    this.cursors = new SqlCursors(this.operator, dialect.clock);
  }

  /** Returns the error that a start fails with, with the name of the damaged row if it is about one. */
  namingDamage(error: unknown): Promise<unknown> {
    return namingDamage(this.#dialect, error);
  }

  /** The time of the node that opened the database. */
  get clock(): Clock {
    return this.#dialect.clock;
  }

  /** The path of a SQLite file, as configured; undefined for PostgreSQL. */
  get file(): string | undefined {
    return this.#dialect.file;
  }

  /** False while the database is known to be lost. No statement is sent to find out; `ping` does. */
  get isReachable(): boolean {
    return this.#dialect.isReachable;
  }

  /** The number of times that the database was lost since it was opened. */
  get losses(): number {
    return this.#dialect.losses;
  }

  /** False if the last write failed because the database accepts none. */
  get acceptsWrites(): boolean {
    return this.#dialect.acceptsWrites;
  }

  /**
   * Returns the migrations of the database that this version does not have, oldest first; another node may have applied some since the
   * start. Reads the database in any case, which proves that it answers.
   */
  newerMigrations(): Promise<NewerMigration[]> {
    return readNewer(this.#dialect);
  }

  /** Runs `work` in one transaction, which commits when it resolves. What it reads and writes has to go through the transaction. */
  transact<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T> {
    return this.#dialect.transact(work);
  }

  /** Resolves when everything that was committed before this call survives a power cut. */
  flush(): Promise<void> {
    return this.#dialect.flush();
  }

  /** A number that changes with every commit; undefined where asking for it would cost as much as reading. */
  get dataVersion(): number | undefined {
    return this.#dialect.dataVersion?.();
  }

  /** Whether `dataVersion` and the methods that end in `Now` work: rows can be read without waiting. */
  get canReadSync(): boolean {
    return this.#dialect.readSync !== undefined;
  }

  /** Returns the first words of an operator's statements, in capitals, if any of them can write; else none. */
  writingStatements(sql: string): readonly string[] {
    return writingStatements(sql);
  }

  /** Waits until running statements have ended, at most a few seconds on PostgreSQL, and closes all connections. */
  close(): Promise<void> {
    return this.#dialect.close();
  }
}

interface OpenOptions {
  readonly create: boolean;
  /** Makes a copy of a database that migrations are about to change. */
  readonly beforeMigration?: MigrationHook | undefined;
  /** The node that opens it; undefined for a command beside a server. */
  readonly serverUuid?: string | undefined;
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[];
  readonly observers?: StatementObservers;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

/**
 * `openDatabase` opens a database and brings its schema up to date. A server takes a `ServerLock` first; a command that changes a
 * row beside a running server does not. With `create: false` a database that does not exist or is empty is left unchanged, and
 * NotFound is thrown. If it throws, nothing stays open.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  hub: LogHub,
  { create, observers = {}, clock, ...options }: OpenOptions,
): Promise<Database> {
  if (!create) requireFile(settings);
  const dialect = await openDialect(settings, hub, { observer: observers.server, clock });
  try {
    if (!create && !(await dialect.hasSchema())) throw notMade(settings, "is empty");
    await migrate(dialect, { log: hub.logger("sea_orm_migration"), ...options });
    dialect.limitAnswers();
    return new Database(dialect, hub.logger(libraryTarget), observers);
  } catch (error) {
    await dialect.close();
    throw dialect.toSetupFault(error);
  }
}

/** `requireFile` throws NotFound for a SQLite database whose file does not exist. */
export function requireFile(settings: DatabaseSettings): void {
  const file = databaseFile(settings.database_url);
  if (file !== undefined && !existsSync(file)) throw notMade(settings, "does not exist");
}

/** `notMade` returns the error for a database that does not exist or is empty. */
export function notMade({ database_url }: DatabaseSettings, state: string): Fault {
  return new Fault(
    "NotFound",
    `the database ${shownDatabase(database_url)} ${state}; \`node-server init\`, with the same -c, creates it and prints its Super Token`,
  );
}

interface DialectOptions {
  /** The least time that PostgreSQL has for an answer, whatever `timeout_ms` says. */
  readonly minAnswerMs?: number;
  readonly observer?: StatementObserver | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** `openDialect` opens a database and leaves its schema as it is. */
export async function openDialect(
  settings: DatabaseSettings,
  hub: LogHub,
  { minAnswerMs = 0, observer, clock = systemClock }: DialectOptions = {},
): Promise<Dialect> {
  const log = hub.logger(libraryTarget);
  const { timeout_ms: timeoutMs } = settings;
  const location = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in location)
    return openSqlite(location.sqlite, {
      acquireTimeoutMs: timeoutMs,
      childCommand: selfCommand("sql-child"),
      log,
      observer,
      clock,
    });
  return openPostgres(
    location.postgres,
    {
      acquireTimeoutMs: timeoutMs,
      answerTimeoutMs: Math.max(timeoutMs, minAnswerMs),
      connectTimeoutMs: timeoutMs,
      maxConnections: settings.max_connections,
      observer,
      clock,
    },
    log,
  );
}

interface Ending {
  readonly rows?: number;
  readonly error?: unknown;
}

/** `observed` reports statements of operators as those of the server are: to the metrics, and to the log without their values. */
function observed(
  { kind, operator }: Dialect,
  log: Logger,
  observer: StatementObserver | undefined,
): OperatorSql {
  const ended = (sql: string, startedAt: number, { rows, error }: Ending) => {
    observer?.ended(startedAt, error);
    const elapsed_ms = millisecondsSince(startedAt);
    // The database's own message may have values in it.
    if (error === undefined) log.debug("exec_sql succeeded", { elapsed_ms, rows });
    else log.debug("exec_sql failed", { elapsed_ms, kind: error instanceof Fault ? error.kind : "Other" });
    if (log.wants("TRACE")) log.trace(withoutValues(sql, kind), { elapsed_ms });
  };
  return {
    async run(request) {
      const startedAt = performance.now();
      try {
        const result = await operator.run(request);
        ended(request.sql, startedAt, { rows: rowCountOf(result) });
        return result;
      } catch (error) {
        ended(request.sql, startedAt, { error });
        throw error;
      }
    },
    async open(request) {
      const startedAt = performance.now();
      try {
        const cursor = await operator.open(request);
        ended(request.sql, startedAt, {});
        return cursor;
      } catch (error) {
        ended(request.sql, startedAt, { error });
        throw error;
      }
    },
    tableSizes: () => operator.tableSizes(),
    close: () => operator.close(),
  };
}

/** `databaseFile` returns the path of a SQLite database; undefined for PostgreSQL. */
export function databaseFile(url: string): string | undefined {
  const location = parseDatabaseUrl(url);
  return "sqlite" in location ? location.sqlite.path : undefined;
}
