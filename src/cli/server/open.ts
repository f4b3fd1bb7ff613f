import { copyBeforeMigration } from "../../backup/schedule.ts";
import { readOverrides } from "../../config/environment.ts";
import { type Inspect, loadConfig } from "../../config/live.ts";
import type { ParsedConfig } from "../../config/parse.ts";
import { ConfigFault, type Problem } from "../../config/problem.ts";
import type { Config } from "../../config/schema.ts";
import { findServerUuid } from "../../config/server-uuid.ts";
import { type Database, databaseFile, openDatabase } from "../../db/database.ts";
import { parseFilter } from "../../log/filter.ts";
import { LogHub } from "../../log/hub.ts";
import { formatLine } from "../../log/terminal.ts";
import { backupSettings } from "../../settings.ts";
import type { Context } from "../context.ts";
import { isColoured } from "../terminal/colour.ts";

/** Reads a configuration as a server in this environment would. Problems name the file as the user did. */
export async function loadGivenConfig(
  ctx: Context,
  given: string,
  { inspect, overrides = readOverrides(ctx.env) }: LoadOptions = {},
): Promise<ParsedConfig> {
  const path = ctx.path(given);
  const named = <P extends Problem>(problem: P): P =>
    problem.file === path ? { ...problem, file: given } : problem;
  try {
    const parsed = await loadConfig(path, inspect, overrides);
    return { ...parsed, warnings: parsed.warnings.map(named) };
  } catch (error) {
    throw error instanceof ConfigFault ? new ConfigFault(error.problems.map(named)) : error;
  }
}

interface LoadOptions {
  readonly inspect?: Inspect | undefined;
  readonly overrides?: ReturnType<typeof readOverrides>;
}

export async function readConfig(ctx: Context, given: string, inspect?: Inspect): Promise<Config> {
  return (await loadGivenConfig(ctx, given, { inspect })).config;
}

/** Opens a log whose entries are shown on standard error. */
export function openLog({ err, env }: Context, filter: string): LogHub {
  const hub = new LogHub();
  const coloured = isColoured({ out: err, env });
  hub.attach({
    filter: parseFilter(filter),
    write: (entry) => void err.write(`${formatLine(entry, coloured)}\n`),
  });
  return hub;
}

/** Opens the database for a command that needs no server. Works beside a running one. */
export async function withDatabase<T>(
  ctx: Context,
  config: Config,
  { create, configPath }: { readonly create: boolean; readonly configPath: string },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const hub = openLog(ctx, ctx.env.RUST_LOG || "warn");
  const beforeMigration = await hookFor(config, ctx.path(configPath), hub);
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
  const serverUuid = (await uuidOf(config, configPath)) ?? noUuid;
  return copyBeforeMigration({
    source: { database: config.database, configPath, serverUuid },
    folder,
    log: hub.logger("server"),
  });
}

/** `uuidOf` returns the UUID of the server whose configuration is at this path; undefined if it has none yet. */
export function uuidOf({ server_uuid, database }: Config, configPath: string): Promise<string | undefined> {
  return findServerUuid(server_uuid, configPath, databaseFile(database.database_url));
}

/** `noUuid` stands in the names of copies and folders of a server that has no UUID yet. */
export const noUuid = "00000000-0000-0000-0000-000000000000";
