import { parseDatabaseUrl } from "../base/database-url.ts";
import { selfCommand } from "../build.ts";
import type { LogHub } from "../log/hub.ts";
import { AgentRows } from "./agent-rows.ts";
import { BucketRows } from "./bucket-rows.ts";
import type { Dialect } from "./dialect.ts";
import { KvRows } from "./kv-rows.ts";
import { migrate } from "./migrations.ts";
import type { OperatorSql } from "./operator/operator-sql.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import { TokenRows } from "./token-rows.ts";

/** As in the `[database]` table of the configuration. */
export interface DatabaseSettings {
  readonly database_url: string;
  readonly connect_timeout_ms: number;
  readonly acquire_timeout_ms: number;
  readonly idle_timeout_ms: number;
  readonly max_lifetime_ms: number;
  readonly max_connections: number;
}

/** The main database, migrated and ready. The same on SQLite and PostgreSQL. */
export class Database {
  readonly kind: "sqlite" | "postgres";
  readonly tokens: TokenRows;
  readonly agents: AgentRows;
  readonly buckets: BucketRows;
  readonly kv: KvRows;

  constructor(private readonly dialect: Dialect) {
    this.kind = dialect.kind;
    this.tokens = new TokenRows(dialect);
    this.agents = new AgentRows(dialect);
    this.buckets = new BucketRows(dialect);
    this.kv = new KvRows(dialect);
  }

  /** An operator's own statements. */
  get operator(): OperatorSql {
    return this.dialect.operator;
  }

  /** Waits for statements that run. */
  close(): Promise<void> {
    return this.dialect.close();
  }
}

/** A server also takes `lockSqlite`; a command that changes a row beside a running server does not. */
export async function openDatabase(settings: DatabaseSettings, hub: LogHub): Promise<Database> {
  const dialect = await openDialect(settings, hub);
  try {
    await migrate(dialect, hub.logger("sea_orm_migration"));
    return new Database(dialect);
  } catch (error) {
    await dialect.close();
    throw dialect.toSetupFault(error);
  }
}

async function openDialect(settings: DatabaseSettings, hub: LogHub): Promise<Dialect> {
  const log = hub.logger("sqlx");
  const acquireTimeoutMs = settings.acquire_timeout_ms;
  const place = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in place) return openSqlite(place.sqlite, acquireTimeoutMs, selfCommand("sql-child"), log);
  return openPostgres(
    place.postgres,
    {
      acquireTimeoutMs,
      connectTimeoutMs: settings.connect_timeout_ms,
      idleTimeoutMs: settings.idle_timeout_ms,
      maxLifetimeMs: settings.max_lifetime_ms,
      maxConnections: settings.max_connections,
    },
    log,
  );
}

/** The file of an embedded database; undefined for one that lives elsewhere. */
export function databaseFile(url: string): string | undefined {
  const place = parseDatabaseUrl(url);
  return "sqlite" in place ? place.sqlite.path : undefined;
}
