import { handlerNames } from "../http/request/request-observer.ts";
import { level, quantile, rate, type Series } from "../metrics/history.ts";
import type { ProcessMetrics } from "../metrics/process-metrics.ts";
import type { DiskSpace } from "./disk-space.ts";
import { loadOf, type MetricSources } from "./sources.ts";

/** `historySeries` are what charts of the last day need. Rates are per second. */
export function historySeries(sources: MetricSources, own: ProcessMetrics, disks: DiskSpace): Series[] {
  const { requests, calls, statements, traffic } = sources.recorders;
  const { hub, cache, services } = sources;
  return [
    ...handlerNames.map((handler) => rate(`requests_${handler}`, () => requests.count({ handler }))),
    rate("responses_4xx", () => requests.count({ from: 400, to: 500 })),
    rate("responses_5xx", () => requests.count({ from: 500 })),
    quantile("request_seconds_p50", 0.5, () => requests.durations),
    quantile("request_seconds_p99", 0.99, () => requests.durations),
    rate("received_bytes", () => requests.bytes("received") + traffic.receivedBytes),
    rate("sent_bytes", () => requests.bytes("sent") + traffic.sentBytes),
    rate("rpc_calls", () => calls.durations.count),
    rate("rpc_errors", () => calls.failed),
    quantile("rpc_seconds_p99", 0.99, () => [calls.durations]),
    rate("database_statements", () => statements.server.durations.count),
    rate("database_errors", () => statements.server.errors.unavailable + statements.server.errors.other),
    quantile("database_seconds_p99", 0.99, () => [statements.server.durations]),
    rate("cache_hits", () => cache.stats.hits),
    rate("log_errors", () => hub.counts.entries.ERROR),
    level("requests_in_flight", () => loadOf(sources).requests),
    level("websockets", () => loadOf(sources).sockets),
    level("open_sockets", () => own.openSockets),
    level("subscriptions", () => hub.counts.tails),
    level("uploads", () => services().buckets.activity.uploads),
    rate("cpu_seconds", () => own.cpuSeconds()),
    level("resident_bytes", () => own.residentBytes()),
    quantile("event_loop_delay_seconds_p99", 0.99, () => [own.eventLoopDelay]),
    level("disk_free_database_bytes", () => disks.space("database")?.freeBytes),
    level("disk_free_static_bytes", () => disks.space("static")?.freeBytes),
  ];
}
