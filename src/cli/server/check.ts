import { readConfigFile } from "../../config/file.ts";
import { parseConfig } from "../../config/parse.ts";
import { parsePublicKeys } from "../../update/minisign.ts";
import { type CommandOptions, exitCodes } from "../command.ts";

/** Reads a configuration as `serve` would and changes nothing. */
export async function check({ config: path }: CommandOptions): Promise<number> {
  const { unknown, config } = parseConfig(await readConfigFile(path));
  if (config.release_public_key !== undefined) parsePublicKeys(config.release_public_key);
  for (const key of unknown) process.stderr.write(`warning: ${key} is unknown and has no effect\n`);
  process.stdout.write(`${path} is a valid configuration.\n`);
  return exitCodes.done;
}
