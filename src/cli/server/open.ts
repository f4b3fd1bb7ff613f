import { readOverrides } from "../../config/environment.ts";
import { type Inspect, loadConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { type Database, openDatabase } from "../../db/database.ts";
import { parseFilter } from "../../log/filter.ts";
import { LogHub } from "../../log/hub.ts";
import { TerminalSink } from "../../log/terminal.ts";

/** Reads a configuration as a server in this environment would. */
export async function readConfig(path: string, inspect?: Inspect): Promise<Config> {
  return (await loadConfig(path, inspect, readOverrides(process.env))).config;
}

/** Opens the database for a command that needs no server. Works beside a running one. */
export async function withDatabase<T>(
  config: Config,
  options: { readonly create: boolean },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const hub = new LogHub();
  hub.attach(new TerminalSink(parseFilter(process.env.RUST_LOG || "warn")));
  const database = await openDatabase(config.database, hub, options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
