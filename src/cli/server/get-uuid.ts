import { resolveServerUuid } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { readConfig } from "./open.ts";

export async function getUuid({ config: path }: CommandOptions): Promise<number> {
  const config = await readConfig(path);
  const uuid = await resolveServerUuid(config.server_uuid, path, databaseFile(config.database.database_url));
  process.stdout.write(`${uuid}\n`);
  return exitCodes.done;
}
