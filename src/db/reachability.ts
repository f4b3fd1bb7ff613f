import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import { isUnavailable } from "./unavailable.ts";

/** While the database is lost, the pauses between probes double from the first to the last. */
const firstPauseMs = 250;
const maxPauseMs = 5000;
/** A database that nobody has asked for so long is probed, so that a loss shows before the next caller meets it. */
const idleProbeMs = 10_000;

export interface Probe {
  /** Opens a connection of its own; rejects when it cannot. */
  connect(): Promise<void>;
  /** Why not, for an operator. */
  why(error: unknown): Promise<string>;
  /** Which database, without credentials. */
  readonly place: string;
}

/**
 * Whether the database can be reached, as its statements show. The loss and the return are one log line each, whatever the
 * traffic. A statement whose connection broke is no loss yet: a new connection decides.
 */
export class Reachability {
  readonly #probe: Probe;
  readonly #log: Logger;
  #lostAt: number | undefined;
  /** Counts the losses, so that a statement that began before one says nothing about its end. */
  #losses = 0;
  #lastAnswer = performance.now();
  /** A loss is being looked into; statements that fail meanwhile add nothing to it. */
  #confirming = false;
  #closed = false;
  #retry: Timer | undefined;
  readonly #idle: Timer;

  constructor(probe: Probe, log: Logger) {
    this.#probe = probe;
    this.#log = log;
    this.#idle = outsideSpans(() => setInterval(() => this.#probeIdle(), idleProbeMs));
    this.#idle.unref();
  }

  /** Whether the database is lost, or a new connection is about to show whether it is. */
  get isInDoubt(): boolean {
    return this.#lostAt !== undefined || this.#confirming;
  }

  /** Runs a statement and learns from it. */
  async observe<T>(run: () => Promise<T>): Promise<T> {
    const losses = this.#losses;
    try {
      const result = await run();
      this.#lastAnswer = performance.now();
      if (this.#lostAt !== undefined && losses === this.#losses) this.#restored();
      return result;
    } catch (error) {
      // The line about a loss belongs to no call, and a call that logs nothing must not swallow it.
      if (isUnavailable(error)) outsideSpans(() => void this.#confirm());
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#idle);
    clearTimeout(this.#retry);
  }

  #probeIdle(): void {
    if (performance.now() - this.#lastAnswer >= idleProbeMs) void this.#confirm();
  }

  async #confirm(): Promise<void> {
    if (this.#lostAt !== undefined || this.#confirming || this.#closed) return;
    this.#confirming = true;
    try {
      const error = await this.#try();
      if (error !== undefined && !this.#closed) this.#lose(await this.#probe.why(error));
    } finally {
      this.#confirming = false;
    }
  }

  #lose(reason: string): void {
    if (this.#closed) return;
    this.#lostAt = performance.now();
    this.#losses += 1;
    this.#log.event(
      "database.lost",
      "the database cannot be reached; calls that need it fail until it returns",
      {
        database: this.#probe.place,
        reason,
      },
    );
    this.#tryLater(firstPauseMs);
  }

  #tryLater(pauseMs: number): void {
    this.#retry = setTimeout(async () => {
      const error = await this.#try();
      if (this.#lostAt === undefined || this.#closed) return;
      if (error === undefined) this.#restored();
      else this.#tryLater(Math.min(pauseMs * 2, maxPauseMs));
    }, pauseMs);
    this.#retry.unref();
  }

  /** The error of one attempt to connect; undefined when it succeeds. */
  async #try(): Promise<unknown> {
    try {
      await this.#probe.connect();
      this.#lastAnswer = performance.now();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #restored(): void {
    clearTimeout(this.#retry);
    const lost_ms = Math.round(performance.now() - (this.#lostAt ?? 0));
    this.#lostAt = undefined;
    outsideSpans(() =>
      this.#log.event("database.restored", "the database can be reached again", {
        database: this.#probe.place,
        lost_ms,
      }),
    );
  }
}
