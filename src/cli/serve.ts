import { ensureConfigFile } from "../config/file.ts";
import { type Node, openNode } from "../node.ts";
import { type CommandOptions, exitCodes } from "./command.ts";
import { showCredentials } from "./credentials.ts";

/** Runs until a signal says stop. */
export async function serve({ config }: CommandOptions): Promise<number> {
  // From the first moment on: a terminal or a pipe that goes away must not take the server with it, nor a signal that
  // comes while it starts.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  let node: Node | undefined;
  process.on("SIGHUP", () => void node?.reload());
  const stop = Promise.withResolvers<string>();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.resolve(name));

  await ensureConfigFile(config);
  node = await openNode({
    configPath: config,
    workingDirectory: process.cwd(),
    env: process.env,
    show: showCredentials,
  });
  const signal = await stop.promise;
  // The second signal does not wait.
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => process.exit(exitCodes.failed));
  node.hub.logger("server").info(`stopping on ${signal}`);
  await node.close();
  return exitCodes.done;
}
