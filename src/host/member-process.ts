import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import type { Subprocess } from "bun";
import { atMost } from "../base/clock.ts";
import { Fault, messageOf } from "../base/fault.ts";
import type { Outcome } from "../config/live.ts";
import type { EventCode, EventFields } from "../log/events.ts";
import type { TerminalOutput } from "../log/terminal.ts";
import type { SampledFamily } from "../metrics/family.ts";
import {
  channelDescriptor,
  type FromMember,
  type JsonChannel,
  type MemberRole,
  memberVariable,
  openJsonChannel,
  replacedSignal,
  startAgainCode,
  type ToMember,
} from "./messages.ts";

/** A line that is longer is passed on in pieces. */
const maxLineChars = 1024 * 1024;

/** LineMerger passes on what several processes write, in whole lines. */
export class LineMerger {
  readonly #output: TerminalOutput;

  constructor(output: TerminalOutput) {
    this.#output = output;
  }

  /** Passes on the lines of one process. Resolves at the end of its output. */
  async pass(stream: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    for await (const { buffer, byteOffset, byteLength } of stream) {
      rest += decoder.write(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength));
      const end = rest.length > maxLineChars ? rest.length : rest.lastIndexOf("\n") + 1;
      if (end > 0) this.#output.write(rest.slice(0, end));
      rest = rest.slice(end);
    }
    if (rest !== "") this.#output.write(`${rest}\n`);
  }
}

/** `defaultStopMs` is how long a process may take to end, unless it says so itself. */
export const defaultStopMs = 30_000;
/** Longest wait for the last output of a process that has ended. */
const maxReadMs = 1000;

/** NotStarted is the end of a process that never served. Its reason is on standard error already. */
export class NotStarted extends Error {
  constructor(
    readonly number: number,
    readonly pid: number,
    /** As a shell gives it: 128 and the number of the signal for a process that was killed. */
    readonly code: number,
  ) {
    super(`process ${number} ended with code ${code} before it served`);
  }
}

interface MemberOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly role: MemberRole;
  readonly output: LineMerger;
  /** Called for messages that are not answers to this end. */
  onMessage(member: MemberProcess, message: FromMember): void;
}

interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/** MemberProcess is one process of the server, as its supervisor sees it. */
export class MemberProcess {
  readonly number: number;
  /** Resolves once it serves; rejects with NotStarted. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended and all that it wrote was passed on. */
  readonly ended: Promise<ExitStatus>;
  url = "";
  version = "";
  /** True from when it serves until it ends or is asked to. */
  isServing = false;
  hasEnded = false;
  /** Pings without an answer. */
  unanswered = 0;
  #stopMs = defaultStopMs;
  readonly #child: Subprocess;
  readonly #channel: JsonChannel<ToMember>;
  readonly #options: MemberOptions;
  #nextId = 1;
  readonly #asked = new Map<number, (answer: FromMember | undefined) => void>();
  readonly #started = Promise.withResolvers<void>();

  private constructor(
    child: Subprocess<"ignore", "inherit", "pipe">,
    options: MemberOptions,
    channel: Channel,
  ) {
    this.#child = child;
    this.#options = options;
    this.number = options.role.number;
    this.#channel = channel.open;
    this.ready = this.#started.promise;
    // Whoever waits for it gets the rejection; nobody may.
    this.ready.catch(() => {});
    const read = options.output.pass(child.stderr);
    this.ended = child.exited.then(async () => {
      // A program that it has started may still have its standard error.
      await Promise.race([Promise.all([read, channel.ended]), Bun.sleep(maxReadMs)]);
      this.hasEnded = true;
      this.isServing = false;
      for (const answer of this.#asked.values()) answer(undefined);
      const { exitCode: code, signalCode } = child;
      const ended = { code, signal: signalCode === null ? null : String(signalCode) };
      this.#started.reject(new NotStarted(this.number, this.pid, shellCode(ended)));
      return ended;
    });
    channel.receive = (message) => this.#receive(message);
    for (const message of channel.early) this.#receive(message);
  }

  static async start(options: MemberOptions): Promise<MemberProcess> {
    const child = Bun.spawn([...options.command], {
      env: { ...options.env, [memberVariable]: JSON.stringify(options.role) },
      stdio: ["ignore", "inherit", "pipe", "pipe"],
    });
    const fd = child.stdio[channelDescriptor];
    if (typeof fd !== "number") {
      child.kill("SIGKILL");
      throw new Fault("Other", "the system opened no socket pair for a process");
    }
    const ended = Promise.withResolvers<void>();
    const early: FromMember[] = [];
    const channel = {
      early,
      ended: ended.promise,
      receive: (message: FromMember) => void early.push(message),
    };
    const open = await openJsonChannel<FromMember, ToMember>(fd, {
      message: (message) => channel.receive(message),
      end: () => ended.resolve(),
    });
    return new MemberProcess(child, options, Object.assign(channel, { open }));
  }

  get pid(): number {
    return this.#child.pid;
  }

  send(message: ToMember): void {
    if (!this.hasEnded) this.#channel.send(message);
  }

  /** Makes it read the configuration again. A process that ends meanwhile has refused. */
  async reload(): Promise<Outcome> {
    const answer = await this.#ask((id) => ({ type: "reload", id }));
    return answer?.type === "reloaded" ? answer.outcome : "refused";
  }

  /** Returns its metrics; undefined if it does not answer in time. */
  async sample(timeoutMs: number): Promise<readonly SampledFamily[] | undefined> {
    const answer = await atMost(
      this.#ask((id) => ({ type: "sample", id })),
      { ms: timeoutMs },
    );
    return answer?.type === "sampled" ? answer.families : undefined;
  }

  /** Asks it to end. If it takes longer than it may, kills it and resolves to that time. */
  async stop(signal: string): Promise<number | undefined> {
    this.isServing = false;
    this.send({ type: "stop", signal });
    const startedAt = performance.now();
    while (!this.hasEnded) {
      const leftMs = startedAt + this.#stopMs - performance.now();
      if (leftMs <= 0) {
        this.kill();
        await this.ended;
        return this.#stopMs;
      }
      await Promise.race([this.ended, Bun.sleep(leftMs)]);
    }
    return undefined;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #ask(question: (id: number) => ToMember): Promise<FromMember | undefined> {
    if (this.hasEnded) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<FromMember | undefined>();
    const id = this.#nextId++;
    this.#asked.set(id, resolve);
    this.send(question(id));
    return promise.finally(() => this.#asked.delete(id));
  }

  #receive(message: FromMember): void {
    if (message.type === "ready") {
      ({ url: this.url, version: this.version } = message);
      this.isServing = true;
      this.#started.resolve();
    } else if (message.type === "pong") this.unanswered = 0;
    else if (message.type === "reloaded" || message.type === "sampled")
      this.#asked.get(message.id)?.(message);
    else {
      if (message.type === "stopping") this.#stopMs = message.maxMs;
      this.#options.onMessage(this, message);
    }
  }
}

/** Channel is the supervisor's end; messages that come before somebody receives them wait in `early`. */
interface Channel {
  readonly open: JsonChannel<ToMember>;
  readonly ended: Promise<void>;
  readonly early: readonly FromMember[];
  receive(message: FromMember): void;
}

function shellCode({ code, signal }: ExitStatus): number {
  if (code !== null) return code;
  return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}

/** The pause before a process that has ended is started again: the first, and the longest after several that ended soon. */
const minRestartMs = 100;
const maxRestartMs = 30_000;
/** A process that ran for this time has not failed soon. */
const steadyMs = 60_000;
/** The pause before a version on trial, or the one before it, is started again. */
const trialRetryMs = 1000;
/** How often it is tried to replace a process that still runs. */
const maxReplacements = 5;

interface SlotOptions {
  readonly number: number;
  start(options: { readonly takesOver: boolean }): Promise<MemberProcess>;
  readonly log: EventLog;
  /** True once the server stops: nothing is started any more. */
  isStopping(): boolean;
  /** Whether any process of the server serves. */
  isServing(): boolean;
  /** Settles when no new version is on trial. */
  trial(): Promise<unknown>;
  /** Called when no process serves and none can be started. */
  fail(error: unknown): void;
}

/** EventLog logs an event of the supervisor. */
export type EventLog = <C extends EventCode>(code: C, message: string, fields: EventFields<C>) => void;

interface Gone {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: string | null;
}

/** MemberSlot is the place of one process. When that ends, another one is started in it. */
export class MemberSlot {
  readonly #options: SlotOptions;
  #current: MemberProcess | undefined;
  #startedAt = 0;
  /** Ends in a row, each soon after the start. */
  #failures = 0;
  /** True while a new process is started beside the current one. */
  #isReplacing = false;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  get current(): MemberProcess | undefined {
    return this.#current;
  }

  /** Starts the process and waits until it serves. Rejects with NotStarted. */
  async fill(): Promise<void> {
    this.#occupy(await this.#launch({ takesOver: false }));
  }

  /**
   * Starts a new process, and stops the old one once the new one serves. If none can be started, the old one goes on, and it is
   * tried again a few times; resolves to undefined if that was in vain.
   */
  async replace(): Promise<MemberProcess | undefined> {
    const { number: of, log, isStopping } = this.#options;
    for (let tried = 1; !isStopping(); tried += 1) {
      try {
        return await this.#replaceOnce();
      } catch (error) {
        if (!(error instanceof NotStarted)) throw error;
        const reason = messageOf(error);
        log("process.not_replaced", `process ${of} could not be replaced; the old one continues`, {
          of,
          reason,
        });
        if (tried === maxReplacements) return undefined;
        await Bun.sleep(trialRetryMs * 2 ** (tried - 1));
      }
    }
    return undefined;
  }

  #occupy(member: MemberProcess): void {
    this.#current = member;
    this.#startedAt = performance.now();
    void member.ended.then((ended) => {
      if (this.#current !== member || this.#isReplacing || this.#options.isStopping()) return;
      void this.#revive({ pid: member.pid, ...ended });
    });
  }

  /**
   * Starts a process and waits until it serves. A version on trial that fails is started again: it counts its starts and gives up
   * itself.
   */
  async #launch(options: { readonly takesOver: boolean }): Promise<MemberProcess> {
    for (;;) {
      const member = await this.#options.start(options);
      try {
        await member.ready;
        return member;
      } catch (error) {
        const wantsMore = error instanceof NotStarted && error.code === startAgainCode;
        if (!wantsMore || this.#options.isStopping()) throw error;
        await Bun.sleep(trialRetryMs);
      }
    }
  }

  /** Starts a process after one has ended, with longer and longer pauses. */
  async #revive(gone: Gone): Promise<void> {
    const { number: of, log, isStopping, isServing, trial, fail } = this.#options;
    if (performance.now() - this.#startedAt > steadyMs) this.#failures = 0;
    for (let last = gone; ; ) {
      const restartMs = Math.min(maxRestartMs, minRestartMs * 2 ** this.#failures);
      this.#failures += 1;
      const fields = { of, ...last, restart_ms: restartMs };
      log("process.ended", `process ${of} has ended and is started again`, fields);
      await Bun.sleep(restartMs);
      await trial();
      if (isStopping()) return;
      try {
        await this.fill();
        log("process.started", `process ${of} serves again`, { of, pid: this.#current?.pid ?? 0 });
        return;
      } catch (error) {
        // If nobody serves, whoever runs this server must know, as with a single process.
        if (!(error instanceof NotStarted) || !isServing()) return fail(error);
        last = { pid: error.pid, code: error.code, signal: null };
      }
    }
  }

  async #replaceOnce(): Promise<MemberProcess> {
    const { number: of, log, isStopping } = this.#options;
    const old = this.#current;
    this.#isReplacing = true;
    try {
      const next = await this.#launch({ takesOver: old?.hasEnded === false });
      this.#occupy(next);
      const { pid, version } = next;
      log("process.replaced", `process ${of} was replaced`, { of, pid, version });
    } finally {
      this.#isReplacing = false;
      // It ended while its successor could not be started.
      if (this.#current === old && old?.hasEnded && !isStopping())
        void this.#revive({ pid: old.pid, ...(await old.ended) });
    }
    const stopMs = await old?.stop(replacedSignal);
    if (old !== undefined && stopMs !== undefined)
      log("process.killed", `process ${of} was killed because it did not end`, {
        of,
        pid: old.pid,
        stop_ms: stopMs,
      });
    return this.#current as MemberProcess;
  }
}
