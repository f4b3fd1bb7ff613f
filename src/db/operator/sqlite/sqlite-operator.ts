// This folder runs an operator's statements on SQLite in child processes of the same program. The server's side is
// SqliteOperator in this file, which chooses a child for each request, and sqlite-child.ts, which sends it batches of
// requests and kills it after a time limit. The child's side is child.ts, which also measures tables, with its
// connection in operator-connection.ts. channel.ts has the frames that both exchange over a socket pair;
// batch-memory.ts is shared memory for answers, so that a batch wakes the server once.

import type { Clock } from "../../../base/clock.ts";
import { Fault } from "../../../base/fault.ts";
import { RawJson } from "../../../base/json.ts";
import {
  abandonedFault,
  type CursorPage,
  type CursorRequest,
  maxStatements,
  type OperatorSql,
  type PageRequest,
  type SqlCursor,
  type SqlRequest,
} from "../operator-sql.ts";
import { type ChannelKind, channelKind, frameKinds } from "./channel.ts";
import type { SqliteQuery, SqliteRequest } from "./child.ts";
import { toBinding } from "./operator-connection.ts";
import { type ChildRequest, SqliteChild } from "./sqlite-child.ts";

/** The time after which an idle child is ended. */
const idleMs = 60_000;
/** Requests are quick if the last ones took no more processor time than this. */
const maxQuickUs = 200;
/** The number of quick requests that a child gets at once. */
const maxBatch = 32;

interface SqliteOperatorOptions {
  /** The command that runs `runSqliteChild` in a new process. */
  readonly command: readonly string[];
  readonly clock: Clock;
  /** Default: the fastest that the system has. */
  readonly channel?: ChannelKind;
}

/**
 * SqliteOperator runs an operator's statements in child processes of the same program: SQLite runs inside the process that calls it
 * and cannot be stopped from there. So a slow statement delays nobody, and one that never ends is killed. A request waits only
 * while `maxStatements` children run others; the first that is free takes it. As long as requests are quick, one child gets all of
 * a tick of the event loop as a batch, because waking another process costs ten times as much as a small query; a child that
 * turns out to be busy gives back those that it has not begun. It has more than 15 methods because each event of a child may change which
 * child gets the next request.
 */
export class SqliteOperator implements OperatorSql {
  readonly #path: string;
  readonly #options: SqliteOperatorOptions;
  readonly #waiting: ChildRequest[] = [];
  /** The one that answered last is at the end. */
  readonly #idle: SqliteChild[] = [];
  readonly #all = new Set<SqliteChild>();
  /** The number of children that are being started, or asked whether they still answer. */
  #coming = 0;
  /** Whether the last requests were quick; the next ones probably are. */
  #areQuick = false;
  #isDispatchDue = false;
  #idleTimer: Disposable | undefined;
  #isClosed = false;
  /** Children that have a cursor, each for as long as it is open. */
  readonly #cursors = new Set<SqliteChild>();

  constructor(path: string, options: SqliteOperatorOptions) {
    this.#path = path;
    this.#options = options;
  }

  async run({ sql, params, maxBytes, limit, timeoutMs, signal }: SqlRequest): Promise<RawJson> {
    const bindings = params === null ? null : params.map(toBinding);
    const request: SqliteRequest = { sql, bindings, maxBytes, limit };
    return new RawJson(
      await this.#ask({ kind: frameKinds.execute, text: JSON.stringify(request), timeoutMs, signal }),
    );
  }

  /** A cursor has a child of its own, which is ended to close it. */
  async open({ sql, params, timeoutMs, signal }: CursorRequest): Promise<SqlCursor> {
    if (this.#isClosed) throw closed();
    const query: SqliteQuery = { sql, bindings: params === null ? null : params.map(toBinding) };
    const child = new SqliteChild({
      channel: channelKind,
      ...this.#options,
      path: this.#path,
      onIdle: () => {},
      onReturned(requests) {
        for (const request of requests) request.failed(closed());
      },
      onExit: (gone) => this.#cursors.delete(gone),
    });
    this.#cursors.add(child);
    const ask = (request: Omit<ChildRequest, "succeeded" | "failed">) =>
      new Promise<string>((succeeded, failed) =>
        child.run([{ ...request, succeeded, failed }], { areQuick: false }),
      );
    try {
      await child.start();
      const columns = await ask({ kind: frameKinds.open, text: JSON.stringify(query), timeoutMs, signal });
      return {
        columns: JSON.parse(columns) as readonly string[],
        async next({ maxBytes, limit, timeoutMs, signal }: PageRequest): Promise<CursorPage> {
          const text = JSON.stringify({ maxBytes, limit });
          const page = await ask({ kind: frameKinds.next, text, timeoutMs, signal });
          return { json: new RawJson(page), isLast: page.endsWith('"done":true}') };
        },
        close: () => child.end(),
      };
    } catch (error) {
      await child.end();
      throw error;
    }
  }

  async tableSizes(): Promise<ReadonlyMap<string, number>> {
    const sizes = await this.#ask({ kind: frameKinds.sizes, text: "", timeoutMs: 0 });
    return new Map(JSON.parse(sizes) as Array<[string, number]>);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idleTimer?.[Symbol.dispose]();
    for (const request of this.#waiting.splice(0)) request.failed(closed());
    await Promise.all([...this.#all, ...this.#cursors].map((child) => child.end()));
  }

  #ask(request: Omit<ChildRequest, "succeeded" | "failed">): Promise<string> {
    return new Promise((succeeded, failed) => {
      if (this.#isClosed) throw closed();
      const { kind, text, timeoutMs, signal } = request;
      this.#waiting.push({ kind, text, timeoutMs, signal, succeeded, failed });
      this.#dispatchSoon();
    });
  }

  /** Dispatches at the end of the tick, all requests of the tick together. */
  #dispatchSoon(): void {
    if (this.#isDispatchDue) return;
    this.#isDispatchDue = true;
    setImmediate(() => {
      this.#isDispatchDue = false;
      this.#dispatch();
    });
  }

  /** The number of requests that a child gets at once. */
  get #batchSize(): number {
    return this.#areQuick ? maxBatch : 1;
  }

  /** The number of children that can take requests within a moment. */
  get #soonIdle(): number {
    let count = this.#coming;
    for (const child of this.#all) if (child.isSoonIdle) count += 1;
    return count;
  }

  /** Gives requests to idle children, and lets another child come for each that is left, as long as there may be one. */
  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const child = this.#idle.at(-1);
      if (child?.isFresh) {
        this.#idle.pop();
        this.#give(child);
      } else if (this.#waiting.length <= this.#soonIdle * this.#batchSize) return;
      else if (child !== undefined) {
        this.#idle.pop();
        void this.#recheck(child);
      } else if (this.#all.size < maxStatements) void this.#start();
      else return;
    }
  }

  /** Gives the child the requests that wait longest; without any it is idle. */
  #give(child: SqliteChild): void {
    const requests: ChildRequest[] = [];
    while (requests.length < this.#batchSize) {
      const request = this.#waiting.shift();
      if (request === undefined) break;
      if (request.signal?.aborted) request.failed(abandonedFault(0));
      else requests.push(request);
    }
    if (requests.length > 0) {
      child.run(requests, { areQuick: this.#areQuick });
      return;
    }
    this.#idle.push(child);
    this.#endIdleLater();
  }

  #answered(child: SqliteChild): void {
    this.#areQuick = child.averageUs <= maxQuickUs;
    this.#give(child);
    this.#dispatch();
  }

  /** Takes requests that another child did not begin. They have waited longest. */
  #takeBack(requests: ChildRequest[]): void {
    if (this.#isClosed) for (const request of requests.splice(0)) request.failed(closed());
    this.#waiting.unshift(...requests);
    this.#areQuick = false;
    this.#dispatch();
  }

  async #recheck(child: SqliteChild): Promise<void> {
    this.#coming += 1;
    const isAlive = await child.answersPing();
    this.#coming -= 1;
    if (isAlive) this.#give(child);
    this.#dispatch();
  }

  async #start(): Promise<void> {
    const child = new SqliteChild({
      channel: channelKind,
      ...this.#options,
      path: this.#path,
      onIdle: (idle) => this.#answered(idle),
      onReturned: (requests) => this.#takeBack(requests),
      onExit: (gone) => this.#forget(gone),
    });
    this.#all.add(child);
    this.#coming += 1;
    try {
      await child.start();
      this.#coming -= 1;
      this.#give(child);
    } catch (error) {
      this.#coming -= 1;
      this.#waiting.shift()?.failed(error);
    }
    this.#dispatch();
  }

  #forget(child: SqliteChild): void {
    this.#all.delete(child);
    const at = this.#idle.indexOf(child);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#dispatch();
  }

  /** One timer for all, set again when it fires: most children are busy again long before. */
  #endIdleLater(afterMs = idleMs): void {
    if (this.#idleTimer !== undefined) return;
    this.#idleTimer = this.#options.clock.after(afterMs, () => {
      this.#idleTimer = undefined;
      const since = this.#options.clock.monotonic() - idleMs;
      const expired = this.#idle.filter(({ answeredAt }) => answeredAt <= since);
      for (const child of expired) {
        this.#idle.splice(this.#idle.indexOf(child), 1);
        void child.end();
      }
      const oldest = this.#idle[0];
      if (oldest !== undefined) this.#endIdleLater(Math.ceil(oldest.answeredAt - since));
    });
  }
}

function closed(): Fault {
  return new Fault("DatabaseError", "the database is being closed; try again");
}
