import { constants, Database as SqliteDatabase } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { parseDatabaseUrl } from "../base/database-url.ts";
import { Fault, messageOf } from "../base/fault.ts";
import type { LogHub } from "../log/hub.ts";
import { type DatabaseSettings, openDialect } from "./database.ts";
import { appliedVersions, refuseNewer } from "./migrations.ts";
import { TokenRows } from "./token-rows.ts";

/** DatabaseState is what a start would find; `ready` is a database of this server with a Super Token. */
export type DatabaseState = "missing" | "empty" | "ready";

/** `probeDatabase` connects and reads, and creates nothing. Throws if a server could not use the database. */
export async function probeDatabase(settings: DatabaseSettings, hub: LogHub): Promise<DatabaseState> {
  const place = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in place) return probeSqlite(place.sqlite.path);
  const dialect = await openDialect({ ...settings, max_connections: 1 }, hub);
  try {
    if (!(await dialect.hasSchema())) return "empty";
    refuseNewer(await appliedVersions(dialect.query));
    return (await new TokenRows(dialect).superToken()) === undefined ? "empty" : "ready";
  } finally {
    await dialect.close();
  }
}

function probeSqlite(path: string): DatabaseState {
  if (!existsSync(path)) return "missing";
  if (statSync(path).size === 0) return "empty";
  const hasLog = existsSync(`${path}-wal`);
  // A server crashed here. Reading its write-ahead log would create a shared-memory file, which the next start does.
  if (hasLog && !existsSync(`${path}-shm`)) return "ready";
  let file: SqliteDatabase | undefined;
  try {
    file = hasLog ? new SqliteDatabase(path, { readonly: true }) : openImmutable(path);
    if (file.query("SELECT 1 FROM sqlite_master WHERE name = 'seaql_migrations'").get() === null)
      return "empty";
    const rows = file.query("SELECT version FROM seaql_migrations").all() as { version: string }[];
    refuseNewer(rows.map(({ version }) => version));
    return file.query("SELECT 1 FROM token WHERE id = 1").get() === null ? "empty" : "ready";
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("DatabaseError", `the database ${path} cannot be read: ${messageOf(error)}`, { path });
  } finally {
    file?.close();
  }
}

/** `openImmutable` opens the file without side files, which even a reader would create, with the wrong owner. */
function openImmutable(path: string): SqliteDatabase {
  const url = `file:${path.split("/").map(encodeURIComponent).join("/")}?immutable=1`;
  return new SqliteDatabase(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
}
