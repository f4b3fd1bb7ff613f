import { ensureSuperToken, parseGivenToken } from "../../auth/super-token.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { ensureConfigFile } from "../../config/default-config.ts";
import { resolveLinkKey, resolveServerUuid } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { credentialLines } from "../../host/credentials.ts";
import { preflight } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { readConfig, withDatabase } from "./open.ts";

export interface InitOptions extends CommandOptions {
  /** `ws_listener` of the configuration that is written. */
  readonly listen?: string;
}

/** Makes what a first start would make, and exits. Only the credentials go to standard output. */
export async function init({ config: written, listen }: InitOptions, ctx: Context): Promise<number> {
  const given = parseGivenToken(ctx.env);
  const { say } = ctx;
  const path = ctx.path(written);
  const made = await ensureConfigFile(path, listen);
  if (!made && listen !== undefined)
    throw new WrongUsage(`the configuration ${path} exists; change ws_listener there instead of --listen`);
  say(made ? `Configuration written to ${path}.` : `The configuration ${path} exists and was not changed.`);
  const config = await readConfig(ctx, written, preflight(path));
  const file = databaseFile(config.database.database_url);
  await resolveServerUuid(config.server_uuid, path, file);
  await resolveLinkKey({ setting: config.link_key_file, configPath: path, databaseFile: file });
  const first = await withDatabase(ctx, config, { create: true, configPath: path }, (database) =>
    ensureSuperToken(database, ctx.env, {
      // Awaited before the row is committed: credentials that nobody can read are not created.
      show: (made) => ctx.print(credentialLines(made)),
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
      `Database ${database} and Super Token created. Save the two lines; they are not shown again. The password belongs to the user name root.`,
    );
  return exitCodes.done;
}
