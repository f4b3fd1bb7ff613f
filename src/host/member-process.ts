import { constants } from "node:os";
import type { Subprocess } from "bun";
import { atMost } from "../base/clock.ts";
import { Fault } from "../base/fault.ts";
import type { Outcome } from "../config/live.ts";
import type { SampledFamily } from "../metrics/family.ts";
import { type JsonChannel, openJsonChannel } from "./json-channel.ts";
import type { LineMerger } from "./line-merger.ts";
import {
  channelDescriptor,
  type FromMember,
  type MemberRole,
  memberVariable,
  type ToMember,
} from "./messages.ts";

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

export interface MemberOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly role: MemberRole;
  readonly output: LineMerger;
  /** Called for messages that are not answers to this end. */
  onMessage(member: MemberProcess, message: FromMember): void;
}

export interface ExitStatus {
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
