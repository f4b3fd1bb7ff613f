import { readConfigFile } from "../config/file.ts";
import { parseConfig } from "../config/parse.ts";
import { type CommandOptions, exitCodes } from "./command.ts";

/** Reads a configuration as `serve` would and changes nothing. */
export async function check({ config: path }: CommandOptions): Promise<number> {
  const { unknown } = parseConfig(await readConfigFile(path));
  for (const key of unknown) process.stderr.write(`warning: ${key} is unknown and has no effect\n`);
  process.stdout.write(`${path} is a valid configuration.\n`);
  return exitCodes.done;
}
