import { shownDatabase } from "../../base/database-url.ts";
import { overriddenKeys, readOverrides } from "../../config/environment.ts";
import { loadConfig } from "../../config/load.ts";
import { formatProblem } from "../../config/problem.ts";
import { type DatabaseState, probeDatabase } from "../../db/probe.ts";
import { LogHub } from "../../log/hub.ts";
import { preflight } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";

const states: Readonly<Record<DatabaseState, string>> = {
  missing: "does not exist yet; the first start creates it",
  empty: "is empty; the first start fills it",
  ready: "can be used",
};

/** Reads a configuration as `serve` would, opens what it names, and changes nothing. */
export async function check({
  config: path,
  connect,
}: CommandOptions & { readonly connect?: boolean }): Promise<number> {
  const overrides = readOverrides(process.env);
  const { config, warnings } = await loadConfig(path, preflight(path), overrides);
  for (const warning of warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
  if (connect) {
    const state = await probeDatabase(config.database, new LogHub());
    process.stdout.write(`The database ${shownDatabase(config.database.database_url)} ${states[state]}.\n`);
  }
  for (const { key, from } of overriddenKeys(overrides, config, process.env))
    process.stdout.write(`${key} has the value of ${from}.\n`);
  process.stdout.write(`${path} is a valid configuration.\n`);
  return exitCodes.done;
}
