import { Fault } from "../base/fault.ts";
import { durationBounds, type Family, Histogram, histogram, labelled, type Sample } from "./family.ts";

/** CallMetrics counts JSON-RPC calls by method and outcome. */
export class CallMetrics {
  readonly durations = new Histogram(durationBounds);
  /** By method, then by outcome: `ok` or the kind of the error. Methods and kinds are few and known. */
  readonly #counts = new Map<string, Map<string, number>>();

  ended(method: string, outcome: string, startedAt: number): void {
    let outcomes = this.#counts.get(method);
    if (outcomes === undefined) {
      outcomes = new Map();
      this.#counts.set(method, outcomes);
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    this.durations.observe((performance.now() - startedAt) / 1000);
  }

  get failed(): number {
    let failed = 0;
    for (const outcomes of this.#counts.values())
      for (const [outcome, count] of outcomes) if (outcome !== "ok") failed += count;
    return failed;
  }

  get families(): readonly Family[] {
    return [
      {
        name: "node_server_rpc_calls_total",
        help: "JSON-RPC calls of known methods over every transport, by method and outcome: ok, or the kind of the error.",
        type: "counter",
        samples: () =>
          [...this.#counts].flatMap(([method, outcomes]) =>
            labelled("outcome", outcomes).map(({ labels, value }) => ({
              labels: { method, ...labels },
              value,
            })),
          ),
      },
      histogram("node_server_rpc_call_duration_seconds", "Time that JSON-RPC calls took.", this.durations),
    ];
  }
}

/** MeasuredRequest is what is measured of a request that has ended. */
interface MeasuredRequest {
  readonly handler: string;
  readonly method: string;
  readonly status: number;
  /** `performance.now()`. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Methods with a label of their own; a client can make up any number of others. */
const methods = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "OPTIONS",
  "PATCH",
  "PROPFIND",
  "PROPPATCH",
  "MKCOL",
  "COPY",
  "MOVE",
  "LOCK",
  "UNLOCK",
  "OTHER",
] as const;
const methodNumbers: ReadonlyMap<string, number> = new Map(methods.map((method, at) => [method, at]));
const otherMethod = methods.indexOf("OTHER");
const firstStatus = 100;
const statuses = 500;

/** HandlerMetrics are the counts of one handler, in typed arrays: a number in a field would be allocated anew with every change. */
class HandlerMetrics {
  readonly durations = new Histogram(durationBounds);
  readonly bytes = new Float64Array(2);
  /** By method and status; made when the method is first used. */
  readonly counts: Array<Float64Array | undefined> = methods.map(() => undefined);

  record({ method, status, startedAt, endedAt, receivedBytes, sentBytes }: MeasuredRequest): void {
    const number = methodNumbers.get(method) ?? otherMethod;
    let counts = this.counts[number];
    if (counts === undefined) {
      counts = new Float64Array(statuses);
      this.counts[number] = counts;
    }
    const at = status - firstStatus;
    counts[at] = (counts[at] as number) + 1;
    this.bytes[0] = (this.bytes[0] as number) + receivedBytes;
    this.bytes[1] = (this.bytes[1] as number) + sentBytes;
    this.durations.observe((endedAt - startedAt) / 1000);
  }

  *byMethodAndStatus(): Generator<readonly [method: string, status: number, count: number]> {
    for (const [at, method] of methods.entries())
      for (const [offset, count] of this.counts[at]?.entries() ?? [])
        if (count > 0) yield [method, offset + firstStatus, count];
  }
}

/** RequestMetrics counts HTTP requests. `ended` is called for each; it takes about 50 ns. */
export class RequestMetrics {
  readonly #handlers: ReadonlyMap<string, HandlerMetrics>;

  constructor(handlers: readonly string[]) {
    this.#handlers = new Map(handlers.map((handler) => [handler, new HandlerMetrics()]));
  }

  ended(request: MeasuredRequest): void {
    this.#handlers.get(request.handler)?.record(request);
  }

  /** The number of requests of a handler, all if undefined, with a status from `from` on and below `to`. */
  count({ handler, from = 100, to = 600 }: { handler?: string; from?: number; to?: number }): number {
    let total = 0;
    for (const [name, metrics] of this.#handlers)
      for (const [, status, count] of handler === undefined || handler === name
        ? metrics.byMethodAndStatus()
        : [])
        if (status >= from && status < to) total += count;
    return total;
  }

  get durations(): readonly Histogram[] {
    return [...this.#handlers.values()].map(({ durations }) => durations);
  }

  bytes(direction: "received" | "sent"): number {
    const at = direction === "received" ? 0 : 1;
    return [...this.#handlers.values()].reduce((total, { bytes }) => total + (bytes[at] ?? 0), 0);
  }

  get families(): readonly Family[] {
    const byHandler = <V>(pick: (metrics: HandlerMetrics) => V) =>
      labelled(
        "handler",
        [...this.#handlers].map(([name, metrics]) => [name, pick(metrics)] as const),
      );
    return [
      {
        name: "node_server_http_requests_total",
        help: "HTTP requests that have ended, by the part of the server that answered, method and status code.",
        type: "counter",
        samples: () => this.#requestSamples(),
      },
      {
        name: "node_server_http_request_duration_seconds",
        help: "Time from the arrival of a request until its response was handed over, or sent, if it is made while it is sent.",
        type: "histogram",
        samples: () => byHandler(({ durations }) => durations),
      },
      {
        name: "node_server_http_received_bytes_total",
        help: "Bytes of request bodies.",
        type: "counter",
        samples: () => byHandler(({ bytes }) => bytes[0] ?? 0),
      },
      {
        name: "node_server_http_sent_bytes_total",
        help: "Bytes of response bodies, without headers.",
        type: "counter",
        samples: () => byHandler(({ bytes }) => bytes[1] ?? 0),
      },
    ];
  }

  *#requestSamples(): Generator<Sample<number>> {
    for (const [handler, metrics] of this.#handlers)
      for (const [method, status, value] of metrics.byMethodAndStatus())
        yield { labels: { handler, method, code: String(status) }, value };
  }
}

/** SourceMetrics counts the statements of one source, with their time and their errors. */
class SourceMetrics {
  readonly durations = new Histogram(durationBounds);
  readonly errors = { unavailable: 0, other: 0 };

  /** `startedAt` is `performance.now()`. */
  ended(startedAt: number, error: unknown): void {
    this.durations.observe((performance.now() - startedAt) / 1000);
    if (error === undefined) return;
    const isAway = error instanceof Fault && error.data.reason === "unavailable";
    this.errors[isAway ? "unavailable" : "other"] += 1;
  }
}

/** StatementMetrics counts SQL statements: the server's own, and those of operators (`exec_sql`). They outlive a reload. */
export class StatementMetrics {
  readonly server = new SourceMetrics();
  readonly operator = new SourceMetrics();

  get families(): readonly Family[] {
    const sources = [["server", this.server] as const, ["operator", this.operator] as const];
    return [
      {
        name: "node_server_database_statement_duration_seconds",
        help: "Time that SQL statements took, waiting for a connection included: the server's own, and those of operators (exec_sql).",
        type: "histogram",
        samples: () =>
          labelled(
            "source",
            sources.map(([name, { durations }]) => [name, durations] as const),
          ),
      },
      {
        name: "node_server_database_errors_total",
        help: "SQL statements that failed: because the database was unavailable, or for another reason.",
        type: "counter",
        samples: () =>
          sources.flatMap(([source, { errors }]) =>
            Object.entries(errors).map(([reason, value]) => ({ labels: { source, reason }, value })),
          ),
      },
    ];
  }
}
