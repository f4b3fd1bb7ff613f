// Hooks of this folder are HTTP requests that the server makes when something has happened, for programs that cannot
// hold a connection. An event is put into the queue of each webhook that wants it, in the database, in the transaction
// of the change where there is one. One node at a time sends to a webhook, in order, until it has answered.

import { createHmac } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { type HookEvent, matchesHook } from "../base/hook-events.ts";
import { randomText } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import type { Database } from "../db/database.ts";
import type { DatabaseTransaction } from "../db/dialect.ts";
import type { HookState, QueuedEvent } from "../db/rows/hook-rows.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans, quietly } from "../log/span.ts";

/** HookSettings are one `[[hooks]]` of the configuration. */
export interface HookSettings {
  readonly url: string;
  readonly secret: string;
  /** Patterns of events. */
  readonly events: readonly string[];
  /** The buckets whose events are sent; undefined for all. */
  readonly buckets?: readonly string[] | undefined;
}

interface Hook extends HookSettings {
  readonly id: string;
}

/** HookReport is a webhook and how it is doing. */
export interface HookReport {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly buckets: readonly string[] | undefined;
  readonly waiting: number;
  readonly state: HookState;
}

/** HookCounts are what a process knows of a webhook without asking the database. */
export interface HookCounts {
  /** Events that waited when they were last counted, with those that were added since. */
  readonly waiting: number;
  /** Attempts that had failed since one succeeded, when that was last read. */
  readonly failures: number;
  /** Events that this process has delivered since it started. */
  readonly delivered: number;
  /** Events that this process has given up, or that found the queue full. */
  readonly lost: number;
}

/** NewEvent is something that has happened. */
export interface NewEvent {
  readonly type: HookEvent;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The interval at which the queues are read: another node may have put something into them. */
const pollMs = 2000;
/** Where nothing is sent at once, as after a failure, this is the first pause; each further one is twice as long. */
const firstPauseMs = 5000;
const maxPauseMs = 3600_000;
/** The time that a receiver has for its answer. */
const answerMs = 10_000;
/** One node sends to a webhook for this time at most without saying so again. */
const lockMs = 60_000;
/** Events that are read at once. */
const batchSize = 50;
/** Events that wait for one webhook; further ones are lost, and counted. */
const maxWaiting = 10_000;
/** An event is given up when it is older than this, or when the receiver has refused it so often. */
const maxAgeMs = 3 * 24 * 3600_000;
const maxRefusals = 3;
/** Answers by which a receiver refuses an event for good: all of 400 to 499 but these, which a later attempt can change. */
const passing = [408, 425, 429];

interface HooksOptions {
  readonly acquire: () => { readonly database: Database; release(): void };
  readonly log: Logger;
  readonly clock: Clock;
}

/** Hooks queues events for webhooks and sends them. */
export class Hooks {
  readonly #options: HooksOptions;
  readonly #holder = randomText(16);
  readonly #task: Task;
  #hooks: readonly Hook[] = [];
  readonly #counts = new Map<string, { -readonly [K in keyof HookCounts]: HookCounts[K] }>();
  /** Events that found the queue full and are not yet noted in the database. */
  readonly #dropped = new Map<string, number>();
  /** The webhooks whose queue is full. */
  readonly #full = new Set<string>();
  #clearedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HooksOptions) {
    this.#options = options;
    this.#task = new Task({
      clock: options.clock,
      run: (signal) => quietly(() => this.#sendAll(signal)),
      failed: () => pollMs,
    });
  }

  /** apply takes the webhooks of a configuration. What waits for one that is still there stays. */
  apply(settings: readonly HookSettings[]): void {
    this.#hooks = settings.map((hook) => ({ ...hook, id: idOf(hook.url) }));
    if (this.#hooks.length > 0) this.#task.dueIn(0);
  }

  close(): Promise<void> {
    return this.#task.close();
  }

  /** The counts of each webhook of the configuration. */
  get counts(): ReadonlyArray<readonly [hook: string, counts: HookCounts]> {
    return this.#hooks.map(({ id }) => [id, this.#countsOf(id)]);
  }

  /** wants returns whether any webhook wants events of a bucket. */
  wants(bucket: string): boolean {
    return this.#hooks.some(({ buckets }) => buckets?.includes(bucket) !== false);
  }

  /** wantsEvent returns whether any webhook wants events of a type. */
  wantsEvent(type: HookEvent): boolean {
    return this.#hooks.some(({ events }) => matchesHook(events, type));
  }

  /**
   * add queues events for the webhooks that want them, in the transaction of what they tell if there is one. Once it is committed, `wake`
   * has them sent.
   */
  async add(
    database: Database,
    events: readonly NewEvent[],
    {
      bucket,
      transaction,
    }: { readonly bucket?: string; readonly transaction?: DatabaseTransaction | undefined },
  ): Promise<void> {
    const now = this.#options.clock.now();
    for (const { id, events: patterns, buckets } of this.#hooks)
      for (const { type, data } of events) {
        if (!matchesHook(patterns, type) || (bucket !== undefined && buckets?.includes(bucket) === false))
          continue;
        const counts = this.#countsOf(id);
        if (counts.waiting >= maxWaiting) {
          this.#lose(id);
          continue;
        }
        counts.waiting += 1;
        await database.hooks.add(id, { id: Bun.randomUUIDv7(), type, at: now, data }, transaction);
      }
  }

  /** wake has what is queued sent at once. */
  wake(): void {
    if (this.#hooks.length > 0) this.#task.dueIn(0);
  }

  /** test queues an event for one webhook. NotFound if there is none with this id. */
  async test(database: Database, id: string): Promise<void> {
    const event = { id: Bun.randomUUIDv7(), type: "hook.test", at: this.#options.clock.now(), data: {} };
    await database.hooks.add(this.#require(id).id, event);
    await database.hooks.change(id, (state) => ({ ...state, retry_at: 0 }));
    this.wake();
  }

  async list(database: Database): Promise<HookReport[]> {
    return Promise.all(
      this.#hooks.map(async ({ id, url, events, buckets }) => ({
        id,
        url: shownUrl(url),
        events,
        buckets,
        waiting: await database.hooks.waiting(id),
        state: await database.hooks.state(id),
      })),
    );
  }

  #countsOf(hook: string) {
    const counts = this.#counts.get(hook) ?? { waiting: 0, failures: 0, delivered: 0, lost: 0 };
    this.#counts.set(hook, counts);
    return counts;
  }

  #lose(hook: string): void {
    this.#countsOf(hook).lost += 1;
    this.#dropped.set(hook, (this.#dropped.get(hook) ?? 0) + 1);
    if (this.#full.has(hook)) return;
    this.#full.add(hook);
    outsideSpans(() =>
      this.#options.log.event("hook.full", "new events of a webhook are lost, because too many wait", {
        hook,
        limit: maxWaiting,
      }),
    );
  }

  #require(id: string): Hook {
    const hook = this.#hooks.find((one) => one.id === id);
    if (hook === undefined)
      throw new Fault("NotFound", "the configuration has no webhook with this id", { field: "hook" });
    return hook;
  }

  async #sendAll(signal: AbortSignal): Promise<number | undefined> {
    if (this.#hooks.length === 0) return undefined;
    const { database, release } = this.#options.acquire();
    try {
      await this.#clear(database);
      const due = await Promise.all(this.#hooks.map((hook) => this.#sendTo(hook, database, signal)));
      return due.some((isMore) => isMore) ? 0 : pollMs;
    } finally {
      release();
    }
  }

  async #clear({ hooks }: Database): Promise<void> {
    const { clock } = this.#options;
    if (this.#clearedAt + maxPauseMs > clock.monotonic()) return;
    this.#clearedAt = clock.monotonic();
    // Later than the sender gives events up, which counts them.
    await hooks.clear(clock.now() - 2 * maxAgeMs);
  }

  /** Sends what waits for one webhook, unless another node does or it is too early. Returns whether there is more. */
  async #sendTo(hook: Hook, { hooks }: Database, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    const first = await hooks.first(hook.id, batchSize);
    const waiting = first.length < batchSize ? first.length : await hooks.waiting(hook.id);
    const counts = this.#countsOf(hook.id);
    counts.waiting = waiting;
    if (waiting < maxWaiting) this.#full.delete(hook.id);
    if (first.length === 0) {
      counts.failures = 0;
      return false;
    }
    let lockedUntil = 0;
    const takeLock = async () => {
      const now = clock.now();
      if (lockedUntil - lockMs / 2 > now) return true;
      const state = await hooks.change(hook.id, (old) => {
        const isFree = old.holder === this.#holder || old.until <= now || old.until > now + 2 * lockMs;
        const isDue = old.retry_at <= now || old.retry_at > now + 2 * maxPauseMs;
        return isFree && isDue ? { ...old, holder: this.#holder, until: now + lockMs } : old;
      });
      lockedUntil = state.until;
      return state.holder === this.#holder && state.retry_at <= now;
    };
    let isMore = first.length === batchSize;
    let delivered = 0;
    let lost = 0;
    let problem: Problem | undefined;
    let { failures } = await hooks.state(hook.id);
    counts.failures = failures;
    for (const { key, value } of first) {
      if (signal.aborted || !(await takeLock())) {
        isMore = false;
        break;
      }
      problem = await this.#send(hook, value, signal);
      if (problem === undefined) {
        delivered += 1;
        counts.delivered += 1;
      } else {
        const isRefused = problem.isFinal && failures + 1 >= maxRefusals;
        if (!isRefused && value.at > clock.now() - maxAgeMs) {
          isMore = false;
          break;
        }
        lost += 1;
        counts.lost += 1;
        problem = undefined;
        const { id, type } = value;
        outsideSpans(() =>
          log.event("hook.given_up", "an event for a webhook is given up", { hook: hook.id, id, type }),
        );
      }
      failures = 0;
      await hooks.remove(hook.id, key);
      counts.waiting = Math.max(0, counts.waiting - 1);
    }
    if (lockedUntil === 0) return false;
    await this.#note(hook, hooks, { delivered, lost, problem });
    return isMore;
  }

  /** Notes how it went, and lets other nodes send. */
  async #note(
    { id, url }: Hook,
    hooks: Database["hooks"],
    { delivered, lost, problem }: { delivered: number; lost: number; problem: Problem | undefined },
  ): Promise<void> {
    const { clock, log } = this.#options;
    const now = clock.now();
    const dropped = this.#dropped.get(id) ?? 0;
    let before = 0;
    let isNoted = false;
    const state = await hooks.change(id, (old) => {
      isNoted = old.holder === this.#holder;
      if (!isNoted) return old;
      before = old.failures;
      const failures = problem === undefined ? 0 : (delivered + lost > 0 ? 0 : old.failures) + 1;
      return {
        holder: "",
        until: 0,
        failures,
        retry_at: problem === undefined ? 0 : now + pauseAfter(failures),
        delivered: old.delivered + delivered,
        lost: old.lost + lost + dropped,
        delivered_at: delivered > 0 ? now : old.delivered_at,
        problem:
          problem === undefined ? old.problem : { at: now, reason: problem.reason, status: problem.status },
      };
    });
    if (isNoted) this.#dropped.set(id, (this.#dropped.get(id) ?? 0) - dropped);
    this.#countsOf(id).failures = state.failures;
    const about = { hook: id, url: shownUrl(url) };
    if (problem !== undefined && state.failures === 1) {
      const { reason, status } = problem;
      const fields = { ...about, reason, status, retry_ms: state.retry_at - now };
      outsideSpans(() =>
        log.event("hook.failed", "a webhook did not take an event; the server tries again", fields),
      );
    }
    if (problem === undefined && before > 0 && delivered > 0)
      outsideSpans(() => log.event("hook.restored", "a webhook takes events again", about));
  }

  /** Sends one event. Returns why that failed; undefined if it was taken. */
  async #send(hook: Hook, event: QueuedEvent, signal: AbortSignal): Promise<Problem | undefined> {
    const late = new AbortController();
    using _ = this.#options.clock.after(answerMs, () => late.abort());
    try {
      const response = await fetch(hook.url, {
        method: "POST",
        // An address that the operator has not written gets nothing.
        redirect: "manual",
        signal: AbortSignal.any([signal, late.signal]),
        ...signedRequest(hook.secret, event, this.#options.clock.now()),
      });
      await response.body?.cancel();
      const { status } = response;
      if (status >= 200 && status < 300) return undefined;
      const isFinal = status >= 400 && status < 500 && !passing.includes(status);
      return { reason: status >= 300 && status < 400 ? "redirect" : "status", status, isFinal };
    } catch (error) {
      if (late.signal.aborted) return { reason: "timeout", isFinal: false };
      return { reason: codeOf(error) ?? messageOf(error).slice(0, 200), isFinal: false };
    }
  }
}

interface Problem {
  /** `status`, `redirect`, `timeout`, or the code of the error of the connection. */
  readonly reason: string;
  readonly status?: number;
  /** Whether the receiver will not take this event later either. */
  readonly isFinal: boolean;
}

/** signedRequest makes the request of an event, signed as the Standard Webhooks say: receivers have libraries for it. */
export function signedRequest(secret: string, { id, type, at, data }: QueuedEvent, now: number) {
  const body = JSON.stringify({ id, type, timestamp: new Date(at).toISOString(), data });
  const timestamp = String(Math.floor(now / 1000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "user-agent": "node-server",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
  return { body, headers };
}

/** idOf names a webhook on all nodes, whatever its place in the configuration is. */
function idOf(url: string): string {
  return new Bun.CryptoHasher("sha256").update(url).digest("hex").slice(0, 12);
}

/** shownUrl leaves out the path of an address: with many services it is a secret. */
export function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return pathname === "/" && search === "" ? `${origin}/` : `${origin}/…`;
}

/** The pause is up to half as long again, so that receivers of many servers are not asked by all at once. */
function pauseAfter(failures: number): number {
  const pause = Math.min(firstPauseMs * 2 ** (failures - 1), maxPauseMs);
  return Math.round(pause * (1 + Math.random() / 2));
}
