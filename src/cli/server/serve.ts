import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { parseGivenToken } from "../../auth/super-token.ts";
import { messageOf } from "../../base/fault.ts";
import { build, isCompiled } from "../../build.ts";
import { ensureConfigFile } from "../../config/default-config.ts";
import { type Node, openNode } from "../../node.ts";
import { Binary } from "../../update/binary.ts";
import { execInto } from "../../update/exec-into.ts";
import { beginTrial, endTrial, type StartMode } from "../../update/trial.ts";
import { type CommandOptions, defaultConfigPath, exitCodes } from "../command.ts";
import { showCredentials } from "./credentials.ts";
import { openNotifier } from "./systemd-notify.ts";

/** Between two starts of a new version that fails, so that what it waits for may come. */
const retryMs = 1000;

/** Runs until a signal says stop. */
export async function serve({ config }: CommandOptions): Promise<number> {
  // From the first moment on: a terminal or a pipe that goes away must not take the server with it, nor a signal that
  // comes while it starts.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  let node: Node | undefined;
  const notifier = openNotifier(process.env);
  // Before it is up there is nothing to reload, and nobody may be told that it is ready.
  process.on("SIGHUP", () => {
    if (node !== undefined) void notifier.reloading(() => node?.reload());
  });
  const stop = Promise.withResolvers<string>();
  let stopped: string | undefined;
  const stopping = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const)
    process.once(name, () => {
      stopped = name;
      stopping.abort();
      stop.resolve(name);
    });

  const binary = isCompiled ? new Binary(realpathSync(process.execPath)) : undefined;
  const startMode = await begin(binary);
  let failure: string | undefined;
  // Refused here, so that a start that must fail makes nothing.
  parseGivenToken(process.env);
  const isNew = await ensureConfigFile(config);
  // Said at once, in case that the start fails.
  if (isNew) process.stderr.write(`node-server: wrote a default configuration to ${resolve(config)}\n`);
  for (;;) {
    const restart = Promise.withResolvers<"restart">();
    node = await open(
      config,
      binary,
      startMode,
      () => restart.resolve("restart"),
      () => stopped !== undefined,
    );
    await greet(node, binary, startMode);
    // A path that somebody typed and that did not exist may be a mistake.
    if (isNew && config !== defaultConfigPath)
      node.hub
        .logger("server")
        .warn(`${resolve(config)} did not exist: this is a new server with default settings`, {
          url: node.url,
        });
    if (failure !== undefined)
      node.hub
        .logger("server")
        .event("update.not_started", "the new binary could not be run", { reason: failure });
    notifier.ready();
    const why = await Promise.race([stop.promise, restart.promise]);
    const log = node.hub.logger("server");
    if (why !== "restart" || binary === undefined) {
      // The second signal does not wait.
      for (const name of ["SIGTERM", "SIGINT"] as const)
        process.on(name, () => process.exit(exitCodes.failed));
      notifier.stopping();
      log.event("server.stopping", `stopping on ${why}`, { signal: why });
      await node.close();
      return exitCodes.done;
    }
    log.event("server.restarting", "restarting into the new binary", {});
    notifier.restarting();
    // What runs is finished while new calls are still answered, unless a stop comes.
    await node.drain(stopping.signal);
    await node.close("restart");
    // A stop that came meanwhile is meant for the server, not for this version of it.
    if (stopped !== undefined) return exitCodes.done;
    failure = await tryToBecome(binary);
  }
}

/** A new version that failed twice is given up before it can fail again. */
async function begin(binary: Binary | undefined): Promise<StartMode> {
  if (binary === undefined) return { kind: "ordinary" };
  const startMode = await beginTrial(binary, build.cargo_version);
  if (startMode.kind !== "give up") return startMode;
  const { from, to } = startMode;
  process.stderr.write(`node-server: version ${to} failed to start twice; going back to ${from}\n`);
  execInto(binary);
}

async function open(
  config: string,
  binary: Binary | undefined,
  startMode: StartMode,
  restart: () => void,
  isStopped: () => boolean,
): Promise<Node> {
  try {
    return await openNode({
      configPath: config,
      workingDirectory: process.cwd(),
      env: process.env,
      show: showCredentials,
      program: {
        installed: { binary, version: build.cargo_version, triple: build.cargo_target_triple },
        restart,
      },
    });
  } catch (error) {
    if (startMode.kind !== "trial" || binary === undefined) throw error;
    // Nobody may be there to start it again, so it does so itself, until its trial is over.
    process.stderr.write(`node-server: version ${build.cargo_version} did not start: ${messageOf(error)}\n`);
    await Bun.sleep(retryMs);
    if (isStopped()) throw error;
    execInto(binary);
  }
}

/** It is up: a new version has proven itself, and one that was taken back is remembered. */
async function greet(node: Node, binary: Binary | undefined, startMode: StartMode): Promise<void> {
  const log = node.hub.logger("server");
  if (startMode.kind === "trial" && binary !== undefined) {
    await endTrial(binary);
    log.event("update.completed", "update done", { from: startMode.from, to: build.cargo_version });
  }
  if (startMode.kind === "taken back")
    log.event("update.reverted", "an update was taken back because it did not start", {
      failed: startMode.failed,
      running: build.cargo_version,
    });
}

/** Why it is still this process. */
async function tryToBecome(binary: Binary): Promise<string> {
  try {
    execInto(binary);
  } catch (error) {
    const reason = messageOf(error);
    try {
      await binary.restore();
      await endTrial(binary);
      return `${reason}; the old one is back in place and the server goes on`;
    } catch (second) {
      return `${reason}; the old one cannot be put back either (${messageOf(second)}): mend ${binary.path} before the next start`;
    }
  }
}
