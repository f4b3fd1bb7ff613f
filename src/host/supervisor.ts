import { realpathSync } from "node:fs";
import { parseGivenToken } from "../auth/super-token.ts";
import { formatAddress } from "../base/address.ts";
import { Fault, messageOf } from "../base/fault.ts";
import { exitCodes } from "../base/process.ts";
import { isCompiled, selfCommand } from "../build.ts";
import { readOverrides } from "../config/environment.ts";
import { loadConfig } from "../config/live.ts";
import type { Config } from "../config/schema.ts";
import { formatTimestamp } from "../log/entry.ts";
import { events } from "../log/events.ts";
import { formatLine, isColoured, openTerminal } from "../log/terminal.ts";
import { preflight } from "../preflight.ts";
import { inspectShared } from "../process-group.ts";
import { Binary } from "../update/binary.ts";
import { endTrial } from "../update/trial.ts";
import {
  defaultStopMs,
  type EventLog,
  LineMerger,
  MemberProcess,
  MemberSlot,
  NotStarted,
} from "./member-process.ts";
import type { FromMember } from "./messages.ts";
import { ReloadRequests } from "./signals.ts";
import { openNotifier } from "./systemd.ts";

const defaultPingMs = 5000;
/** Pings without an answer after which a process is killed. */
const maxUnanswered = 6;
/** How long other processes may take to answer for their metrics. */
const sampleMs = 2000;

interface SupervisorOptions {
  readonly count: number;
  /** How often processes are asked whether they still answer; by default every 5 seconds. */
  readonly pingMs?: number;
  /** Starts a process; `onMessage` gets what it tells. */
  start(
    slot: { readonly number: number; readonly takesOver: boolean },
    onMessage: (member: MemberProcess, message: FromMember) => void,
  ): Promise<MemberProcess>;
  /** Puts the binary of the version before back in place, of which another one did not start. */
  rollBack(): Promise<void>;
  /** Called when a process says how long its stop may take. */
  onStopping(maxMs: number): void;
  /** Prints a line if no process is there to log it. */
  print(line: string): void;
}

/**
 * Supervisor runs the processes of a server: it starts others in the place of those that end, passes on what one tells the
 * others, and makes changes that concern all of them in one after the other.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #slots: readonly MemberSlot[];
  /** Processes that have not ended, also those that start or are being replaced. */
  readonly #members = new Set<MemberProcess>();
  /** Changes that concern all processes. */
  #queue: Promise<unknown> = Promise.resolve();
  #trial: Promise<unknown> = Promise.resolve();
  #stopping: string | undefined;
  /** True once all processes have listened. */
  #isOpen = false;
  readonly #failed = Promise.withResolvers<never>();
  readonly #pingMs: number;
  readonly #pings: Timer;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, (_, at) => {
      const number = at + 1;
      return new MemberSlot({
        number,
        start: ({ takesOver }) => this.#start({ number, takesOver }),
        log: (code, message, fields) => this.#log(code, message, fields),
        isStopping: () => this.#stopping !== undefined,
        isServing: () => this.#serving.length > 0,
        trial: () => this.#trial,
        fail: (error) => this.#failed.reject(error),
      });
    });
    this.#failed.promise.catch(() => {});
    this.#pingMs = options.pingMs ?? defaultPingMs;
    this.#pings = setInterval(() => this.#ping(), this.#pingMs);
  }

  /** Rejects, with NotStarted in most cases, when no process serves and none can be started. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /**
   * Starts the processes: the first alone, because it may create or migrate the database, then the others. Resolves when all
   * serve, and rejects if one of them cannot be started.
   */
  async open(): Promise<void> {
    const [first, ...others] = this.#slots;
    await first?.fill();
    await Promise.all(others.map((slot) => slot.fill()));
    this.#isOpen = true;
    first?.current?.send({ type: "announce", isNew: true });
  }

  /** The address at which the first process listens. */
  get url(): string | undefined {
    return this.#serving[0]?.url;
  }

  /** Makes every process read the configuration again, unless the first one refuses it. */
  reload(): Promise<void> {
    return this.#enqueue(async () => {
      const [first, ...others] = this.#serving;
      if (first === undefined || (await first.reload()) === "refused") return;
      await this.#reload(others);
    });
  }

  /** Stops all processes and resolves when they have ended. A second call does not let them wait for running requests. */
  async stop(signal: string): Promise<void> {
    this.#stopping = signal;
    clearInterval(this.#pings);
    await Promise.all(
      [...this.#members].map(async (member) => {
        const { number: of, pid } = member;
        const stopMs = await member.stop(signal);
        if (stopMs !== undefined)
          this.#log("process.killed", `process ${of} was killed because it did not end`, {
            of,
            pid,
            stop_ms: stopMs,
          });
      }),
    );
  }

  /** Processes that serve, by number. */
  get #serving(): readonly MemberProcess[] {
    return this.#slots.flatMap(({ current }) => (current?.isServing ? [current] : []));
  }

  async #start(slot: { readonly number: number; readonly takesOver: boolean }): Promise<MemberProcess> {
    const member = await this.#options.start(slot, (from, message) => this.#receive(from, message));
    this.#members.add(member);
    void member.ended.then(() => this.#members.delete(member));
    const announce = () => member.send({ type: "announce", isNew: false });
    if (this.#isOpen && slot.number === 1) member.ready.then(announce, () => {});
    // A stop that came meanwhile has not reached it.
    if (this.#stopping !== undefined) member.send({ type: "stop", signal: this.#stopping });
    return member;
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(() => (this.#stopping === undefined ? work() : undefined));
    this.#queue = done.catch((error: unknown) => this.#failed.reject(error));
    return done;
  }

  async #reload(members: readonly MemberProcess[]): Promise<void> {
    for (const member of members) {
      if (!member.isServing || (await member.reload()) !== "refused") continue;
      // It refused what another has accepted; a new process may get it.
      const slot = this.#slotOf(member);
      if (slot?.current === member) await slot.replace();
    }
  }

  /** Puts a new binary to use: first in the place of the process that has installed it, and in the others if it proves itself there. */
  async #update(from: MemberProcess): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#trial = promise;
    const first = await this.#try(from).finally(resolve);
    // The old version again: the new one was rolled back, and that process has logged it.
    if (first === undefined || first.version === from.version) return;
    for (const slot of this.#slots) if (slot.current?.version !== first.version) await slot.replace();
  }

  /** Replaces a process by one of the new binary. A version that fails goes back by itself, unless it is so broken that it cannot. */
  async #try(from: MemberProcess): Promise<MemberProcess | undefined> {
    const slot = this.#slotOf(from);
    const first = await slot?.replace();
    if (first !== undefined || this.#stopping !== undefined) return first;
    await this.#options.rollBack();
    this.#log("update.not_started", "the new binary could not be run", {
      reason: "no process of it has served; the old one is back in place and continues to run",
    });
    return slot?.replace();
  }

  #slotOf({ number }: MemberProcess): MemberSlot | undefined {
    return this.#slots[number - 1];
  }

  #receive(from: MemberProcess, message: FromMember): void {
    if (message.type === "restart") void this.#enqueue(() => this.#update(from));
    if (message.type === "reload-others")
      void this.#enqueue(() => this.#reload(this.#serving.filter((other) => other !== from)));
    if (message.type === "stopping" && this.#stopping !== undefined) this.#options.onStopping(message.maxMs);
    if (message.type === "gather") void this.#gather(from, message.id);
    if (message.type === "entry") for (const other of this.#members) if (other !== from) other.send(message);
  }

  async #gather(from: MemberProcess, id: number): Promise<void> {
    const others = this.#serving.filter((other) => other !== from);
    const sampled = await Promise.all(
      others.map(async (other) => ({ process: other.number, families: await other.sample(sampleMs) })),
    );
    const processes = sampled.flatMap(({ process, families }) =>
      families === undefined ? [] : [{ process, families }],
    );
    from.send({ type: "gathered", id, processes });
  }

  #ping(): void {
    for (const member of this.#serving) {
      member.unanswered += 1;
      if (member.unanswered <= maxUnanswered) {
        member.send({ type: "ping" });
        continue;
      }
      const { number: of, pid } = member;
      member.kill();
      this.#log("process.silent", `process ${of} does not answer and is killed`, {
        of,
        pid,
        silent_ms: maxUnanswered * this.#pingMs,
      });
    }
  }

  /** Logs through a process that serves and answers, and on standard error if there is none. */
  #log: EventLog = (code, message, fields) => {
    const logger = this.#serving.find(({ unanswered }) => unanswered < 2);
    if (logger !== undefined) return logger.send({ type: "event", code, message, fields });
    const { level } = events[code];
    const entry = { level, target: "server", message, fields: { event: code, ...fields }, spans: [] };
    this.#options.print(formatLine({ ...entry, timestamp: formatTimestamp(new Date()) }, false));
  };
}

interface SuperviseOptions {
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
