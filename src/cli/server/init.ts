import { resolve } from "node:path";
import { ensureSuperToken, parseGivenToken } from "../../auth/super-token.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { ensureConfigFile } from "../../config/default-config.ts";
import { resolveServerUuid } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { preflight } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { showCredentials } from "./credentials.ts";
import { readConfig, withDatabase } from "./open.ts";

export interface InitOptions extends CommandOptions {
  /** `ws_listener` of the configuration that is written. */
  readonly listen?: string;
}

/** Makes what a first start would make, and exits. Only the credentials go to standard output. */
export async function init({ config: path, listen }: InitOptions): Promise<number> {
  const given = parseGivenToken(process.env);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const made = await ensureConfigFile(path, listen);
  const shown = resolve(path);
  if (!made && listen !== undefined)
    throw new WrongUsage(`the configuration ${shown} exists; change ws_listener there instead of --listen`);
  say(made ? `Configuration written to ${shown}.` : `The configuration ${shown} exists; it stays as it is.`);
  const config = await readConfig(path, preflight(path));
  await resolveServerUuid(config.server_uuid, path, databaseFile(config.database.database_url));
  const first = await withDatabase(config, { create: true, configPath: path }, (database) =>
    ensureSuperToken(database, process.env, {
      show: showCredentials,
      log: { warn: (text) => say(`${text}.`) },
    }),
  );
  const database = shownDatabase(config.database.database_url);
  if (!first)
    say(
      `The database ${database} and its Super Token exist; \`node-server roll-super-token\` creates new credentials.`,
    );
  else if (given !== undefined)
    say(`Database ${database} created. The Super Token is the one in NODE_SERVER_SUPER_TOKEN.`);
  else
    say(
      `Database ${database} and Super Token created. Keep the two lines; they are not shown again. The password belongs to the user name root.`,
    );
  return exitCodes.done;
}
