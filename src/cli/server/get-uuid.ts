import { Fault } from "../../base/fault.ts";
import { findServerUuid, pathsBeside } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { readConfig } from "./open.ts";

/** Prints the UUID that the first start made. Makes none where it is missing. */
export async function getUuid({ config: given }: CommandOptions, ctx: Context): Promise<number> {
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
  await ctx.print(`${uuid}\n`);
  return exitCodes.done;
}
