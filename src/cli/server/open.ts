import { resolve } from "node:path";
import { copyBeforeMigration } from "../../backup/before-migration.ts";
import { readOverrides } from "../../config/environment.ts";
import { type Inspect, loadConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { findServerUuid } from "../../config/server-uuid.ts";
import { type Database, databaseFile, openDatabase } from "../../db/database.ts";
import { parseFilter } from "../../log/filter.ts";
import { LogHub } from "../../log/hub.ts";
import { TerminalSink } from "../../log/terminal.ts";
import { backupSettings } from "../../settings.ts";

/** Reads a configuration as a server in this environment would. */
export async function readConfig(path: string, inspect?: Inspect): Promise<Config> {
  return (await loadConfig(path, inspect, readOverrides(process.env))).config;
}

/** Opens the database for a command that needs no server. Works beside a running one. */
export async function withDatabase<T>(
  config: Config,
  { create, configPath }: { readonly create: boolean; readonly configPath: string },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const hub = new LogHub();
  hub.attach(new TerminalSink(parseFilter(process.env.RUST_LOG || "warn")));
  const beforeMigration = await hookFor(config, configPath, hub);
  const database = await openDatabase(config.database, hub, { create, beforeMigration });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** A command of a newer version migrates the database as a server does, so it makes the same copy first. */
async function hookFor(config: Config, configPath: string, hub: LogHub) {
  const { folder, beforeMigration } = backupSettings(config);
  if (!beforeMigration) return undefined;
  const { database, server_uuid } = config;
  const serverUuid =
    (await findServerUuid(server_uuid, configPath, databaseFile(database.database_url))) ?? noUuid;
  return copyBeforeMigration({
    source: { database, configPath: resolve(configPath), serverUuid },
    folder,
    log: hub.logger("server"),
  });
}

/** `noUuid` is used in the name of a copy if the server has no UUID yet. */
const noUuid = "00000000-0000-0000-0000-000000000000";
