import { ensureConfigFile } from "../config/file.ts";
import { openNode } from "../node.ts";
import { type CommandOptions, exitCodes } from "./command.ts";
import { showCredentials } from "./credentials.ts";

/** Runs until a signal says stop. */
export async function serve({ config }: CommandOptions): Promise<number> {
  await ensureConfigFile(config);
  const node = await openNode({
    configPath: config,
    workingDirectory: process.cwd(),
    env: process.env,
    show: showCredentials,
  });
  const log = node.hub.logger("server");
  // A terminal or a pipe that goes away must not take the server with it.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("SIGHUP", () => void node.reload());
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => resolve(name));
  });
  // The second signal does not wait.
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => process.exit(exitCodes.failed));
  log.info(`stopping on ${signal}`);
  await node.close();
  return exitCodes.done;
}
