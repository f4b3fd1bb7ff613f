// This folder runs a server as a process. serve() of this file opens the node, obeys signals (signals.ts), drains, and
// ends or restarts in place; it bounds the whole stop. supervisor.ts runs several processes as one server: member-
// process.ts starts one, starts it again, and passes on its output; messages.ts is what they say to each other.
// member.ts is the other end. systemd.ts notifies systemd and writes the unit, service-paths.ts checks the paths of
// `service install`.

import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { credentialLines, parseGivenToken, type SuperCredentials } from "../auth/super-token.ts";
import { messageOf } from "../base/fault.ts";
import { shellQuoted } from "../base/local-fs/access.ts";
import { exitCodes } from "../base/process.ts";
import { build, isCompiled } from "../build.ts";
import { ensureConfigFile } from "../config/default-config.ts";
import { type Node, openNode } from "../node.ts";
import { Binary, execInto } from "../update/binary.ts";
import { beginTrial, endTrial, recordBackup, type StartMode } from "../update/trial.ts";
import { Member } from "./member.ts";
import { memberVariable, replacedSignal, startAgainCode } from "./messages.ts";
import { ReloadRequests, StopRequests } from "./signals.ts";
import { openNotifier } from "./systemd.ts";

/** Pause between two starts of a new version that fails, in case it waits for something, such as its database. */
const retryMs = 1000;

/** Longest time that closing a node may take; `TimeoutStopSec` of the service's unit allows for it. */
const maxCloseMs = 30_000;
const stopSignals = ["SIGTERM", "SIGINT"] as const;

interface ServeOptions {
  /** The path of the configuration. */
  readonly config: string;
  /** Whether the user named it. One that nobody named is created. */
  readonly isConfigGiven: boolean;
  /** Takes the place of `ws_listener`, for this run. */
  readonly listen?: string | undefined;
  /** How many processes share the work. */
  readonly processes?: number | undefined;
}

/** Runs the server until SIGTERM or SIGINT. */
export async function serve({ config, isConfigGiven, listen, processes = 1 }: ServeOptions): Promise<number> {
  // Installed first: neither a closed terminal or pipe nor a signal during the start may end the server.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // Other servers rotate logs or upgrade on them; by default they end a process.
  for (const name of ["SIGUSR1", "SIGUSR2"] as const) process.on(name, () => {});
  if (processes > 1) {
    const { supervise } = await import("./supervisor.ts");
    return supervise({ config, listen, processes });
  }
  let node: Node | undefined;
  const around = await surroundings(async () => (await node?.reload()) ?? "refused");
  const { stop, binary, member, reloads, notifier } = around;
  // Throws for an invalid token before anything is created.
  parseGivenToken(process.env);
  // A path that was given and does not exist may be a typing mistake.
  const isNew = !isConfigGiven && (await ensureConfigFile(config));
  // Reported before the start, which may fail.
  if (isNew) process.stderr.write(`node-server: wrote a default configuration to ${resolve(config)}\n`);
  let failure: string | undefined;
  for (;;) {
    const restart = Promise.withResolvers<"restart">();
    node = await start({ config, listen }, around, () => restart.resolve("restart"));
    const log = node.hub.logger("server");
    if (failure !== undefined)
      log.event("update.not_started", "the new binary could not be run", { reason: failure });
    notifier.ready();
    member?.ready(node, build.cargo_version);
    const { reload } = node;
    reloads.begin(() => notifier.reloading(reload));
    const why = await Promise.race([stop.requested, restart.promise]);
    if (why !== "restart" || binary === undefined) {
      await end(node, why, around);
      return exitCodes.done;
    }
    log.event("server.restarting", "restarting into the new binary", {});
    notifier.restarting();
    // Running calls are finished while new ones are still answered, unless a stop comes.
    await node.drain(stop.signal);
    reloads.pause();
    await node.close("restart");
    // A stop that came meanwhile is for the server, not for this version of it.
    if (stop.name !== undefined) return exitCodes.done;
    failure = await tryToExec(binary);
  }
}

/** Surroundings is what a process has beside its node, for as long as it runs. */
interface Surroundings {
  readonly stop: StopRequests;
  readonly reloads: ReloadRequests;
  readonly notifier: ReturnType<typeof openNotifier>;
  /** Undefined for a server of one process. */
  readonly member: Member | undefined;
  /** Undefined for a server that runs from its sources. */
  readonly binary: Binary | undefined;
  readonly execute: Execute;
  readonly startMode: StartMode;
}

/** surroundings begins to obey signals and the supervisor, and counts the start. */
async function surroundings(onReload: () => ReturnType<Node["reload"]>): Promise<Surroundings> {
  const notifier = openNotifier(process.env);
  const reloads = new ReloadRequests();
  const stop = new StopRequests(() => process.exit(exitCodes.failed));
  const isMember = memberVariable in process.env;
  process.on("SIGHUP", () => {
    if (!isMember) reloads.request();
  });
  for (const name of stopSignals)
    process.on(name, () => {
      // Terminals and systemd send signals to the supervisor as well, which decides what they mean.
      if (isMember && name === "SIGINT") return;
      if (isMember || stop.name === undefined) stop.request(name);
      else stop.again();
    });
  const member = await Member.open(process.env, {
    onStop: (name) => stop.request(name),
    onStopNow: () => stop.again(),
    onReload,
  });
  const binary = isCompiled ? new Binary(realpathSync(process.execPath)) : undefined;
  const execute = member === undefined ? execInto : () => process.exit(startAgainCode);
  const startMode = await begin(binary, execute);
  return { stop, reloads, notifier, member, binary, execute, startMode };
}

/** Opens the node, and tells people what they need of it. `restart` restarts a server of one process. */
async function start(
  options: Pick<ServeOptions, "config" | "listen">,
  around: Surroundings,
  restart: () => void,
): Promise<Node> {
  let hasNewCredentials = false;
  const node = await open(options, around, {
    restart,
    show(made) {
      process.stdout.write(credentialLines(made));
      hasNewCredentials = true;
    },
  });
  if (hasNewCredentials && node.consoleUrl !== undefined)
    node.hub.logger("server").info(`sign in to the console at ${node.consoleUrl}`);
  await greet(node, around.binary, around.startMode);
  return node;
}

/** Drains and closes the node because of a signal. */
async function end(node: Node, signal: string, { stop, notifier, member }: Surroundings): Promise<void> {
  // The others go on serving at the address of one that is replaced.
  const isReplaced = signal === replacedSignal;
  if (isReplaced) await node.drain(new AbortController().signal);
  const drainMs = isReplaced ? 0 : node.startDraining();
  notifier.stopping(drainMs + maxCloseMs);
  member?.stopping(drainMs + maxCloseMs);
  const draining = drainMs === 0 ? "" : `, serving for another ${Math.ceil(drainMs / 1000)} s`;
  node.hub.logger("server").event("server.stopping", `stopping on ${signal}${draining}`, {
    signal,
    drain_ms: Math.ceil(drainMs),
  });
  if (drainMs > 0) await stop.wait(drainMs);
  await node.close(isReplaced ? "restart" : "stop");
}

/** Counts the start of a version on trial; one that failed twice is replaced by the old one before it can fail again. */
async function begin(binary: Binary | undefined, execute: Execute): Promise<StartMode> {
  if (binary === undefined) return { kind: "ordinary" };
  const startMode = await beginTrial(binary, build.cargo_version);
  if (startMode.kind !== "give up") return startMode;
  const { from, to, backup } = startMode;
  process.stderr.write(
    `node-server: version ${to} failed to start twice; going back to ${from}${restoreHint(backup)}\n`,
  );
  return execute(binary);
}

/** Execute starts the binary on the disk in the place of this process. */
type Execute = (binary: Binary) => never;

/** restoreHint tells an operator what to do if the rolled-back version has migrated the database, which the old version refuses. */
function restoreHint(backup: string | undefined): string {
  return backup === undefined
    ? ""
    : `; the database from before its migration is in ${backup}: \`node-server restore ${shellQuoted(backup)}\` puts it back`;
}

interface Start {
  /** Restarts a server of one process. */
  restart(): void;
  /** Shows the credentials of a new Super Token. */
  show(made: SuperCredentials): void;
}

/** Opens the node. A version on trial that fails starts again by itself, because nobody else may do so. */
async function open(
  { config, listen }: Pick<ServeOptions, "config" | "listen">,
  { binary, startMode, member, execute, stop }: Surroundings,
  { restart, show }: Start,
): Promise<Node> {
  try {
    return await openNode({
      configPath: config,
      listen,
      workingDirectory: process.cwd(),
      env: process.env,
      show,
      group: member,
      ...(member !== undefined && { cluster: { boot: member.boot, process: member.number } }),
      program: {
        installed: { binary, version: build.cargo_version, triple: build.cargo_target_triple },
        restart: () => (member === undefined ? restart() : member.restart()),
        ...(binary !== undefined &&
          startMode.kind === "trial" && { onMigrationBackup: (path) => recordBackup(binary, path) }),
      },
    });
  } catch (error) {
    if (startMode.kind === "taken back" && startMode.backup !== undefined)
      process.stderr.write(
        `node-server: version ${startMode.failed} was rolled back${restoreHint(startMode.backup)}\n`,
      );
    if (startMode.kind !== "trial" || binary === undefined) throw error;
    process.stderr.write(`node-server: version ${build.cargo_version} did not start: ${messageOf(error)}\n`);
    await Bun.sleep(retryMs);
    if (stop.name !== undefined) throw error;
    return execute(binary);
  }
}

/** Confirms a new version that has started, and logs one that was rolled back. */
async function greet(node: Node, binary: Binary | undefined, startMode: StartMode): Promise<void> {
  const log = node.hub.logger("server");
  if (startMode.kind === "trial" && binary !== undefined) {
    await endTrial(binary);
    log.event("update.completed", "update done", { from: startMode.from, to: build.cargo_version });
  }
  if (startMode.kind === "taken back")
    log.event("update.reverted", "an update was rolled back because it did not start", {
      failed: startMode.failed,
      running: build.cargo_version,
      ...(startMode.backup !== undefined && { backup: startMode.backup }),
    });
}

/** Executes the new binary. Returns only if that failed, with the reason; the old binary is in place again then. */
async function tryToExec(binary: Binary): Promise<string> {
  try {
    execInto(binary);
  } catch (error) {
    const reason = messageOf(error);
    try {
      await binary.rollBack();
      await endTrial(binary);
      return `${reason}; the old one is back in place and continues to run`;
    } catch (second) {
      return `${reason}; the old one cannot be restored either (${messageOf(second)}): repair ${binary.path} before the next start`;
    }
  }
}
