// This folder connects the metrics with the parts of the node, which do not know that they are measured. sources.ts
// lists what is read: services, listeners and the recorders that are called while the server works. families.ts turns
// the sources into families. This file adds the space of the disks, chooses the series that charts of the last day
// need, and puts all together into one Metrics object.

import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { messageOf } from "../base/fault.ts";
import { handlerNames } from "../http/request/request-observer.ts";
import type { Family } from "../metrics/family.ts";
import { level, quantile, rate, type Series } from "../metrics/history.ts";
import { Metrics } from "../metrics/metrics.ts";
import { ProcessMetrics } from "../metrics/process-metrics.ts";
import { recentMs } from "../metrics/verdict.ts";
import type { Services } from "../services.ts";
import {
  backupFamilies,
  buildFamilies,
  certificateFamilies,
  componentFamilies,
  connectionFamilies,
  hookFamilies,
  logFamilies,
  statusFamily,
  storeFamilies,
} from "./families.ts";
import { loadOf, type MetricSources } from "./sources.ts";

type DiskName = "database" | "static";

interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** DiskSpace knows the space of the disks that hold the database (of SQLite) and the buckets. */
class DiskSpace {
  readonly #services: () => Services;
  #database: Space | undefined;

  constructor(services: () => Services) {
    this.#services = services;
  }

  async measure(): Promise<void> {
    const { file } = this.#services().database;
    if (file === undefined) {
      this.#database = undefined;
      return;
    }
    const { bavail, blocks, bsize } = await statfs(dirname(resolve(file)));
    this.#database = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  }

  space(disk: DiskName): Space | undefined {
    return disk === "database" ? this.#database : this.#services().buckets.storage.health.space;
  }

  get families(): Family[] {
    const byDisk = (field: keyof Space) => () =>
      (["database", "static"] as const).flatMap((disk) => {
        const space = this.space(disk);
        return space === undefined ? [] : [{ labels: { disk }, value: space[field] }];
      });
    return [
      {
        name: "node_server_disk_free_bytes",
        help: "Free space on the disk of the SQLite database and of static_path.",
        type: "gauge",
        samples: byDisk("freeBytes"),
      },
      {
        name: "node_server_disk_size_bytes",
        help: "Size of the disk of the SQLite database and of static_path.",
        type: "gauge",
        samples: byDisk("totalBytes"),
      },
    ];
  }
}

/** The database is asked this often for what is in the log at once. */
const askOrdersMs = 60_000;

/** FailedOrders knows the names for which the last order of a certificate failed. */
class FailedOrders {
  readonly #sources: Pick<MetricSources, "services" | "clock">;
  #askedAt = Number.NEGATIVE_INFINITY;
  names: readonly string[] = [];

  constructor(sources: Pick<MetricSources, "services" | "clock">) {
    this.#sources = sources;
  }

  async measure(): Promise<void> {
    const { services, clock } = this.#sources;
    const { certificates } = services();
    const now = clock.monotonic();
    if (certificates.set === undefined) this.names = [];
    else if (now - this.#askedAt >= askOrdersMs) {
      this.#askedAt = now;
      this.names = (await certificates.list()).flatMap(({ name, problem }) =>
        problem === null ? [] : [name],
      );
    }
  }
}

/** `openMetrics` connects the parts of the node with the metrics that describe them. The caller starts and closes them. */
export function openMetrics(sources: MetricSources): Metrics {
  const own = new ProcessMetrics();
  const disks = new DiskSpace(sources.services);
  const log = sources.hub.logger("server");
  const { requests, calls, statements } = sources.recorders;
  const measured: readonly Family[] = [
    ...buildFamilies(),
    ...requests.families,
    ...connectionFamilies(sources),
    ...calls.families,
    ...certificateFamilies(sources),
    ...backupFamilies(sources),
    ...hookFamilies(sources),
    ...logFamilies(sources),
    ...statements.families,
    ...componentFamilies(sources),
    ...storeFamilies(sources),
    ...disks.families,
    ...own.families,
  ];
  const orders = new FailedOrders(sources);
  const recent = () => metrics.history({ since: sources.clock.now() - recentMs })[0];
  const metrics = new Metrics({
    families: [
      ...measured,
      statusFamily({ ...sources, families: () => measured, recent, uncertified: () => orders.names }),
    ],
    series: historySeries(sources, own, disks),
    siblings: sources.siblings,
    clock: sources.clock,
    async measure() {
      try {
        await Promise.all([own.measure(), disks.measure(), orders.measure()]);
      } catch (error) {
        log.debug("some metrics cannot be measured", { reason: messageOf(error) });
      }
    },
    start: () => own.start(),
    close: () => own.close(),
  });
  return metrics;
}

/** `historySeries` are what charts of the last day need. Rates are per second. */
function historySeries(sources: MetricSources, own: ProcessMetrics, disks: DiskSpace): Series[] {
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
