import { rollSuperToken } from "../../auth/super-token.ts";
import { Fault } from "../../base/fault.ts";
import { inspectDatabase } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { showCredentials } from "./credentials.ts";
import { readConfig, withDatabase } from "./open.ts";

/** New credentials for the Super Token, also beside a running server: they count from its next call on. */
export async function rollSuper({
  config: path,
  yes,
}: CommandOptions & { readonly yes?: boolean }): Promise<number> {
  const config = await readConfig(path, (config) => inspectDatabase(config, path));
  if (!yes) {
    process.stderr.write("The present Super Token and root password end at once. Type yes to go on: ");
    if (!/^y(es)?$/i.test(await readLine()))
      throw new Fault("Other", "not confirmed, nothing changed (--yes skips the question)");
  }
  showCredentials(await withDatabase(config, { create: false }, rollSuperToken));
  return exitCodes.done;
}

async function readLine(): Promise<string> {
  for await (const line of console) return line.trim();
  return "";
}
