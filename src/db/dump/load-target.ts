import { parseDatabaseUrl } from "../../base/database-url.ts";
import type { LogHub } from "../../log/hub.ts";
import { type DatabaseSettings, openDialect } from "../database.ts";
import { PostgresLoadTarget } from "./postgres-load-target.ts";
import { SqliteLoadTarget } from "./sqlite-load-target.ts";
import type { LoadTarget } from "./table-loader.ts";

/** `openLoadTarget` throws DatabaseError if a server uses the database, and keeps one from starting on a SQLite file. */
export async function openLoadTarget(settings: DatabaseSettings, hub: LogHub): Promise<LoadTarget> {
  const place = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in place)
    return SqliteLoadTarget.open(place.sqlite.path, (path) =>
      openDialect({ ...settings, database_url: sqliteUrl(path) }, hub),
    );
  return PostgresLoadTarget.open(await openDialect({ ...settings, max_connections: 1 }, hub));
}

/** `sqliteUrl` is the `database_url` of a file, which is created if it is missing. */
export function sqliteUrl(path: string): string {
  return `sqlite://${path.split("/").map(encodeURIComponent).join("/")}?mode=rwc`;
}
