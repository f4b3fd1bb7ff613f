import { realpathSync } from "node:fs";
import { parseGivenToken } from "../auth/super-token.ts";
import { formatAddress } from "../base/address.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { exitCodes } from "../base/process.ts";
import { isCompiled, selfCommand } from "../build.ts";
import { readOverrides } from "../config/environment.ts";
import { loadConfig } from "../config/live.ts";
import type { Config } from "../config/schema.ts";
import { isColoured, openTerminal } from "../log/terminal.ts";
import { preflight } from "../preflight.ts";
import { inspectShared } from "../process-group.ts";
import { Binary } from "../update/binary.ts";
import { endTrial } from "../update/trial.ts";
import { LineMerger } from "./line-merger.ts";
import { defaultStopMs, MemberProcess, NotStarted } from "./member-process.ts";
import { ReloadRequests } from "./reload-requests.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";
import { openNotifier } from "./systemd-notify.ts";

export interface SuperviseOptions {
  readonly config: string;
  readonly listen?: string | undefined;
  readonly processes: number;
}

/** The exit code of a shell for a program that cannot be run. */
const cannotRunCode = 126;

/** Runs a server as several processes, until SIGTERM or SIGINT. */
export async function supervise(options: SuperviseOptions): Promise<number> {
  if (process.platform !== "linux")
    throw new Fault("Other", "--processes needs Linux; start without it on other systems");
  const stop = Promise.withResolvers<string>();
  let stopped: string | undefined;
  let supervisor: Supervisor | undefined;
  const notifier = openNotifier(process.env);
  const reloads = new ReloadRequests();
  process.on("SIGHUP", () => reloads.request());
  for (const name of ["SIGTERM", "SIGINT"] as const)
    process.on(name, () => {
      // The second signal does not wait.
      if (stopped !== undefined) void supervisor?.stop(name);
      stopped ??= name;
      stop.resolve(name);
    });

  const terminal = openTerminal();
  const startMember = await memberStarter(options, terminal);
  supervisor = new Supervisor({
    count: options.processes,
    async rollBack() {
      const binary = new Binary(realpathSync(process.execPath));
      await binary.rollBack();
      await endTrial(binary);
    },
    onStopping: (maxMs) => notifier.stopping(maxMs),
    print: (line) => terminal.write(`${line}\n`),
    start: (slot, onMessage) => startMember(slot, onMessage, supervisor?.url),
  });
  let code: number = exitCodes.done;
  try {
    const opened = supervisor.open();
    await Promise.race([opened, supervisor.failed, stop.promise]);
    if (stopped === undefined) {
      notifier.ready();
      reloads.begin(() => notifier.reloading(() => supervisor?.reload()));
      await Promise.race([stop.promise, supervisor.failed]);
    }
    // It rejects if the stop came before all processes served.
    opened.catch(() => {});
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    code = error.code === 0 ? exitCodes.failed : error.code;
  } finally {
    notifier.stopping(defaultStopMs);
    await supervisor.stop(stopped ?? "the failure of a process");
    terminal.flush();
  }
  return code;
}

type StartOptions = Parameters<SupervisorOptions["start"]>;

/**
 * memberStarter returns the function that starts one process. `url` is where the first one listens. Throws before anything is created
 * if the token or the configuration is not valid.
 */
async function memberStarter(
  { config: path, listen, processes }: SuperviseOptions,
  terminal: ReturnType<typeof openTerminal>,
) {
  parseGivenToken(process.env);
  const overrides = readOverrides(process.env, { listen });
  const { config } = await loadConfig(path, preflight(path, inspectShared), overrides);
  const output = new LineMerger(terminal);
  const boot = crypto.randomUUID();
  const env = memberEnvironment(process.env);
  return async (slot: StartOptions[0], onMessage: StartOptions[1], url: string | undefined) => {
    const command = memberCommand(path, boundAddress(config, url) ?? listen);
    const role = { ...slot, count: processes, boot };
    try {
      return await MemberProcess.start({ command, env, role, output, onMessage });
    } catch (error) {
      terminal.write(`node-server: ${command[0]} cannot be run: ${messageOf(error)}\n`);
      throw new NotStarted(slot.number, 0, cannotRunCode);
    }
  };
}

/** The command that runs one process: the binary that is on the disk now, which an update may have replaced. */
function memberCommand(config: string, listen: string | undefined): string[] {
  const args = ["serve", "-c", config, ...(listen === undefined ? [] : ["--listen", listen])];
  return isCompiled ? [realpathSync(process.execPath), ...args] : selfCommand(...args);
}

/** With port 0 the first process finds a free port, and the others share it. */
function boundAddress({ ws_listener: { host, port } }: Config, url: string | undefined): string | undefined {
  if (port !== 0 || url === undefined) return undefined;
  return formatAddress({ host, port: Number(new URL(url).port) });
}

/** The supervisor alone talks to systemd, and knows whether lines end up on a terminal. */
function memberEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NOTIFY_SOCKET: _, WATCHDOG_USEC: __, WATCHDOG_PID: ___, ...others } = env;
  return isColoured() ? { ...others, FORCE_COLOR: "1" } : others;
}
