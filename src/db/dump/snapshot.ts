import { parseDatabaseUrl } from "../../base/database-url.ts";
import type { LogHub } from "../../log/hub.ts";
import { type DatabaseSettings, openDialect, requireFile } from "../database.ts";
import type { DatabaseSnapshot } from "./portable.ts";
import { openPostgresSnapshot } from "./postgres-dump.ts";
import { openSqliteSnapshot } from "./sqlite-dump.ts";

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
