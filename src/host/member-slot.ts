import { messageOf } from "../base/fault.ts";
import type { EventCode, EventFields } from "../log/events.ts";
import { type MemberProcess, NotStarted } from "./member-process.ts";
import { replacedSignal, startAgainCode } from "./messages.ts";

/** The pause before a process that has ended is started again: the first, and the longest after several that ended soon. */
const minRestartMs = 100;
const maxRestartMs = 30_000;
/** A process that ran for this time has not failed soon. */
const steadyMs = 60_000;
/** The pause before a version on trial, or the one before it, is started again. */
const trialRetryMs = 1000;
/** How often it is tried to replace a process that still runs. */
const maxReplacements = 5;

export interface SlotOptions {
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
