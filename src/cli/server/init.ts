import {
  credentialLines,
  ensureSuperToken,
  parseGivenToken,
  rollSuperToken,
} from "../../auth/super-token.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { Fault } from "../../base/fault.ts";
import { ensureConfigFile } from "../../config/default-config.ts";
import { findServerUuid, pathsBeside, resolveLinkKey, resolveServerUuid } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { inspectDatabase, preflight } from "../../preflight.ts";
import { type CommandOptions, exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { confirm } from "../terminal/ask.ts";
import { readConfig, withDatabase } from "./open.ts";

interface InitOptions extends CommandOptions {
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

/** Gives the Super Token new credentials. A running server accepts them from the next call on, and the old ones no more. */
export async function rollSuper(
  { config: path, yes }: CommandOptions & { readonly yes?: boolean },
  ctx: Context,
): Promise<Outcome> {
  const config = await readConfig(ctx, path, inspectDatabase);
  await confirm(ctx, "The current Super Token and root password will be invalid at once.", yes);
  const made = await withDatabase(ctx, config, { create: false, configPath: path }, rollSuperToken);
  return { text: credentialLines(made) };
}

/** Prints the UUID that the first start made. Makes none where it is missing. */
export async function getUuid({ config: given }: CommandOptions, ctx: Context): Promise<Outcome> {
  const config = await readConfig(ctx, given);
  const path = ctx.path(given);
  const file = databaseFile(config.database.database_url);
  const uuid = await findServerUuid(config.server_uuid, path, file);
  if (uuid === undefined) {
    const paths = [...new Set(pathsBeside(path, file))];
    throw new Fault(
      "NotFound",
      `this server has no UUID yet: there is no ${paths.join(" and no ")}; the first start or \`node-server init\` creates it`,
    );
  }
  return { text: `${uuid}\n` };
}
