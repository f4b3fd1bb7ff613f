import { rollSuperToken } from "../../auth/super-token.ts";
import { credentialLines } from "../../host/credentials.ts";
import { inspectDatabase } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { confirm } from "../terminal/confirm.ts";
import { readConfig, withDatabase } from "./open.ts";

/** Gives the Super Token new credentials. A running server accepts them from the next call on, and the old ones no more. */
export async function rollSuper(
  { config: path, yes }: CommandOptions & { readonly yes?: boolean },
  ctx: Context,
): Promise<number> {
  const config = await readConfig(ctx, path, inspectDatabase);
  await confirm(ctx, "The current Super Token and root password will be invalid at once.", yes);
  await ctx.print(
    credentialLines(await withDatabase(ctx, config, { create: false, configPath: path }, rollSuperToken)),
  );
  return exitCodes.done;
}
