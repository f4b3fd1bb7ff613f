import { type SqlBool, sql, type Transaction } from "kysely";
import { Collection, type KeyedValue } from "../collection.ts";
import type { Dialect, Schema } from "../dialect.ts";

/** QueuedEvent is an event that waits to be sent to one webhook. */
export interface QueuedEvent {
  readonly id: string;
  readonly type: string;
  /** When it happened, in Unix milliseconds. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** HookState is how one webhook is doing, for all nodes. Times are Unix milliseconds. */
export interface HookState {
  /** The process that sends to it at present, and until when it may. */
  readonly holder: string;
  readonly until: number;
  /** Attempts that failed since the last one that succeeded. */
  readonly failures: number;
  readonly retry_at: number;
  readonly delivered: number;
  /** Events that were given up, or that found the queue full. */
  readonly lost: number;
  readonly delivered_at?: number | undefined;
  readonly problem?:
    | { readonly at: number; readonly reason: string; readonly status?: number | undefined }
    | undefined;
}

const noState: HookState = { holder: "", until: 0, failures: 0, retry_at: 0, delivered: 0, lost: 0 };

/** HookRows are what waits to be sent to webhooks, and how each of them is doing, by the id of the webhook. */
export class HookRows {
  readonly #dialect: Dialect;
  readonly #states: Collection<HookState>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#states = new Collection(dialect, "hooks/states");
  }

  /** add puts an event into the queue of a webhook; within a transaction, it is there if that is committed. */
  async add(hook: string, event: QueuedEvent, transaction?: Transaction<Schema>): Promise<void> {
    await this.#queue(hook, transaction).insertIfAbsent(event.id, event);
  }

  /** The events that have waited longest. */
  async first(hook: string, max: number): Promise<ReadonlyArray<KeyedValue<QueuedEvent>>> {
    return Array.from(await this.#queue(hook).list({ max }), ([key, value]) => ({ key, value }));
  }

  async remove(hook: string, key: string): Promise<void> {
    await this.#queue(hook).delete(key);
  }

  /** waiting counts the events of a webhook. */
  async waiting(hook: string): Promise<number> {
    return (await this.#queue(hook).sums({ count: sql`count(*)` })).count;
  }

  async state(hook: string): Promise<HookState> {
    return (await this.#states.get(hook)) ?? noState;
  }

  /** change changes the state of a webhook, whichever node changes it at the same time. */
  change(hook: string, change: (state: HookState) => HookState): Promise<HookState> {
    return this.#states.exclusively(async (states) => {
      const next = change((await states.get(hook)) ?? noState);
      await states.put(hook, next);
      return next;
    });
  }

  /** clear removes what was queued before a time, for webhooks that no node has any more. */
  async clear(before: number): Promise<void> {
    await this.#dialect.query
      .deleteFrom("kv")
      .where(this.#dialect.hasPrefix("namespace", queuePrefix))
      .where(sql<SqlBool>`cast(value ->> 'at' as bigint) < ${before}`)
      .execute();
  }

  #queue(hook: string, transaction?: Transaction<Schema>): Collection<QueuedEvent> {
    return new Collection(this.#dialect, queuePrefix + hook, transaction);
  }
}

const queuePrefix = "hooks/queue/";
