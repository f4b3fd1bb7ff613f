import { existsSync, statSync } from "node:fs";
import { sql } from "kysely";
import { parseDatabaseUrl, sqliteLockPath } from "../../base/database-url.ts";
import type { LogHub } from "../../log/hub.ts";
import { type DatabaseSettings, databaseFile, openDialect, requireFile } from "../database.ts";
import { businessTables } from "../migrations/tables.ts";
import { lockSqlite } from "../sqlite/sqlite-lock.ts";
import type { DatabaseSnapshot } from "./portable.ts";
import { openPostgresSnapshot, PostgresLoadTarget, refuseOthers } from "./postgres-dump.ts";
import { openSqliteSnapshot, SqliteLoadTarget } from "./sqlite-dump.ts";
import type { LoadTarget } from "./table-loader.ts";

/** `openLoadTarget` throws DatabaseError if a server uses the database, and keeps one from starting on a SQLite file. */
export async function openLoadTarget(settings: DatabaseSettings, hub: LogHub): Promise<LoadTarget> {
  const location = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in location)
    return SqliteLoadTarget.open(location.sqlite.path, (path) =>
      openDialect({ ...settings, database_url: sqliteUrl(path) }, hub),
    );
  return PostgresLoadTarget.open(await openDialect({ ...settings, max_connections: 1 }, hub));
}

/** `sqliteUrl` returns the `database_url` of a file, which is created if it is missing. */
function sqliteUrl(path: string): string {
  return `sqlite://${path.split("/").map(encodeURIComponent).join("/")}?mode=rwc`;
}

/**
 * `claimDatabase` throws DatabaseError if a server uses the database. On SQLite it also keeps one from starting until the returned
 * function is called.
 */
export async function claimDatabase(settings: DatabaseSettings, hub: LogHub): Promise<() => void> {
  const location = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in location) return lockSqlite(location.sqlite.path);
  await refuseUsed(settings, hub);
  return () => {};
}

/** `refuseUsed` throws DatabaseError if a server uses the database. It creates nothing. */
export async function refuseUsed(settings: DatabaseSettings, hub: LogHub): Promise<void> {
  const file = databaseFile(settings.database_url);
  if (file !== undefined) {
    // A server that uses the file has a lock file.
    if (existsSync(sqliteLockPath(file))) (await lockSqlite(file))();
    return;
  }
  const dialect = await openDialect({ ...settings, max_connections: 1 }, hub);
  try {
    await refuseOthers(dialect);
  } finally {
    await dialect.close();
  }
}

/** `isUnused` returns whether a database has no row of a server: it does not exist, has no schema, or all its tables are empty. */
export async function isUnused(settings: DatabaseSettings, hub: LogHub): Promise<boolean> {
  const file = databaseFile(settings.database_url);
  if (file !== undefined && (!existsSync(file) || statSync(file).size === 0)) return true;
  const dialect = await openDialect({ ...settings, max_connections: 1 }, hub);
  try {
    if (!(await dialect.hasSchema())) return true;
    for (const table of businessTables) {
      const { rows } = await sql`SELECT 1 FROM ${sql.table(table)} LIMIT 1`.execute(dialect.query);
      if (rows.length > 0) return false;
    }
    return true;
  } finally {
    await dialect.close();
  }
}

/** The least time that PostgreSQL has for an answer: a batch of rows may have to be read from a slow disk. */
const minAnswerMs = 60_000;

/** `openSnapshot` opens a database for reading beside a running server. It creates nothing; throws if there is nothing to read. */
export async function openSnapshot(settings: DatabaseSettings, hub: LogHub): Promise<DatabaseSnapshot> {
  const location = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in location) {
    requireFile(settings);
    return openSqliteSnapshot(location.sqlite.path);
  }
  const dialect = await openDialect({ ...settings, max_connections: 1 }, hub, { minAnswerMs });
  dialect.limitAnswers();
  return openPostgresSnapshot(dialect);
}
