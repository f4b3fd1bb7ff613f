import { loadConfig } from "../../config/load.ts";
import { formatProblem } from "../../config/problem.ts";
import { type CommandOptions, exitCodes } from "../command.ts";

/** Reads a configuration as `serve` would and changes nothing. */
export async function check({ config: path }: CommandOptions): Promise<number> {
  const { warnings } = await loadConfig(path);
  for (const warning of warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
  process.stdout.write(`${path} is a valid configuration.\n`);
  return exitCodes.done;
}
