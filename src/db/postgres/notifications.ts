import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans, quietly } from "../../log/span.ts";
import type { PgSession } from "../operator/postgres/session.ts";

/** Topic is what has changed in the database. */
export type Topic = "buckets" | "certificates" | "tokens";
const topics: readonly Topic[] = ["buckets", "certificates", "tokens"];

/**
 * Notifications are hints between the nodes of a database that something has changed. They may be lost, late, repeated or forged:
 * a node that hears a hint reads at once, and a node that hears none reads a little later by itself.
 */
export interface Notifications {
  /** send notifies the other nodes. To be called after the commit. Returns at once; many calls become few hints. */
  send(topic: Topic): void;
  /** sendMessage sends a message to the other nodes, in order, unless it is too long or too many wait. Returns at once. */
  sendMessage(message: string): void;
  /**
   * Calls `heard` for every hint of another node, and for all topics after hints may have been lost, and `received` for every message. To be
   * called once.
   */
  listen(heard: (topic: Topic) => void, received?: (message: string) => void): void;
  close(): Promise<void>;
}

/** `noNotifications` is for a database whose changes are seen without hints. */
export const noNotifications: Notifications = {
  send() {},
  sendMessage() {},
  listen() {},
  async close() {},
};

const channel = "node_server";
/** PostgreSQL takes up to 8000 bytes at once. */
const maxPayloadBytes = 7900;
const maxMessages = 1000;
/** Begins the payload of a message, before its sender and its text. */
const messageMark = "message";
/** The pauses before another LISTEN double from the first to the longest. */
const firstPauseMs = 250;
const maxPauseMs = 10_000;
/**
 * If the own hints are not heard for this time, the connection of LISTEN is replaced: it may be silent, or a pooler may have given
 * it away.
 */
const maxDeafMs = 10_000;
const replacePauseMs = 60_000;

interface PostgresNotificationsOptions {
  /** Opens a connection for LISTEN alone: it needs a session of its own, outside of a pool. */
  readonly connect: () => Promise<PgSession>;
  /** Longest wait for the answer to LISTEN. */
  readonly timeoutMs: number;
  /** Runs one statement on the server's own pool. */
  readonly execute: (sql: string, params: readonly unknown[]) => Promise<unknown>;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * PostgresNotifications are LISTEN and NOTIFY. A failure of either is not a failure of the node. LISTEN has a connection by the
 * library pg: Bun's `sql.listen` writes a line to the standard error output whenever it fails to reconnect.
 */
export class PostgresNotifications implements Notifications {
  readonly #options: PostgresNotificationsOptions;
  /** Marks the hints of this process, which it need not follow. */
  readonly #sender = Bun.randomUUIDv7();
  readonly #waiting = new Set<Topic>();
  readonly #messages: string[] = [];
  #isSending = false;
  #heard: ((topic: Topic) => void) | undefined;
  #received: ((message: string) => void) | undefined;
  /** Set while it listens. */
  #connection: PgSession | undefined;
  /** When the first own hint was sent that was not heard since, and when the connection was last replaced for that. */
  #unheardAt: number | undefined;
  #replacedAt = Number.NEGATIVE_INFINITY;
  readonly #closing = new AbortController();

  constructor(options: PostgresNotificationsOptions) {
    this.#options = options;
  }

  send(topic: Topic): void {
    this.#waiting.add(topic);
    this.#begin();
  }

  sendMessage(message: string): void {
    const payload = `${messageMark} ${this.#sender} ${message}`;
    if (this.#messages.length >= maxMessages || Buffer.byteLength(payload) > maxPayloadBytes) return;
    this.#messages.push(payload);
    this.#begin();
  }

  #begin(): void {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    outsideSpans(() => void quietly(() => this.#sendAll()));
  }

  listen(heard: (topic: Topic) => void, received?: (message: string) => void): void {
    this.#heard = heard;
    this.#received = received;
    outsideSpans(() => void this.#listen());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection?.close();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /**
   * At most one NOTIFY is under way. It is not part of the transaction that it is about: there it would take a lock of the whole
   * server.
   */
  async #sendAll(): Promise<void> {
    for (;;) {
      const payload = this.#nextPayload();
      if (payload === undefined || this.#isClosed) break;
      try {
        await this.#options.execute("SELECT pg_notify($1, $2)", [channel, payload]);
        this.#sent();
      } catch (error) {
        this.#options.log.debug("a change could not be announced to other nodes; they will poll for it", {
          reason: messageOf(error),
        });
      }
    }
    this.#isSending = false;
  }

  #nextPayload(): string | undefined {
    if (this.#waiting.size === 0) return this.#messages.shift();
    const payload = [...this.#waiting, this.#sender].join(" ");
    this.#waiting.clear();
    return payload;
  }

  #sent(): void {
    if (this.#connection === undefined) return;
    const now = this.#options.clock.monotonic();
    this.#unheardAt ??= now;
    if (now - this.#unheardAt < maxDeafMs || now - this.#replacedAt < replacePauseMs) return;
    this.#replacedAt = now;
    this.#connection.destroy();
  }

  /** Listens, again after every failure, until it is closed. */
  async #listen(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        await using listening = await this.#open();
        pauseMs = firstPauseMs;
        // Hints may have been lost before.
        this.#notify(topics);
        await listening.end;
      } catch (error) {
        if (this.#isClosed) return;
        this.#options.log.debug(
          "announcements of changes on other nodes are lost; the server polls for changes",
          {
            reason: messageOf(error),
          },
        );
      }
      await this.#options.clock.sleep(pauseMs, this.#closing.signal);
    }
  }

  async #open(): Promise<AsyncDisposable & { readonly end: Promise<never> }> {
    const connection = await this.#options.connect();
    const close = async () => {
      this.#connection = undefined;
      connection.destroy();
    };
    const timer = setTimeout(() => connection.destroy(), this.#options.timeoutMs);
    try {
      this.#closing.signal.throwIfAborted();
      const { end } = await connection.listen(channel, (payload) => this.#receive(payload));
      this.#connection = connection;
      this.#unheardAt = undefined;
      return { end, [Symbol.asyncDispose]: close };
    } catch (error) {
      await close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Anybody who may use the database can send anything: what is not a topic is ignored. */
  #receive(payload: string): void {
    this.#unheardAt = undefined;
    if (payload.startsWith(`${messageMark} `)) {
      const [sender = "", message = ""] = payload.slice(messageMark.length + 1).split(/ (.*)/s);
      if (sender !== this.#sender && !this.#isClosed) this.#received?.(message);
      return;
    }
    const parts = payload.slice(0, 256).split(" ");
    if (parts.includes(this.#sender)) return;
    this.#notify(topics.filter((topic) => parts.includes(topic)));
  }

  #notify(some: readonly Topic[]): void {
    if (this.#isClosed) return;
    for (const topic of some) this.#heard?.(topic);
  }
}
