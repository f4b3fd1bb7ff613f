import { build } from "../build.ts";
import { counter, type Family, gauge, labelled, type Sample } from "../metrics/family.ts";
import type { HistoryPart } from "../metrics/history.ts";
import { backupFact, judge, levels, loggedFacts, measuredCodes, measuredFacts } from "../metrics/verdict.ts";
import type { Services } from "../services.ts";
import { loadOf, type MetricSources } from "./sources.ts";

export function buildFamilies(): Family[] {
  const { cargo_version: version, git_commit_sha: commit, rustc_version: runtime } = build;
  const samples = [{ labels: { version, commit, runtime }, value: 1 }];
  return [
    {
      name: "node_server_build_info",
      help: "The running version; the value is always 1.",
      type: "gauge",
      samples: () => samples,
    },
  ];
}

export function connectionFamilies(sources: MetricSources): Family[] {
  const { recorders, connections, maxConnections, memory, maxClientBytes } = sources;
  const { traffic } = recorders;
  return [
    gauge(
      "node_server_http_requests_in_flight",
      "HTTP requests that are being answered.",
      () => loadOf(sources).requests,
    ),
    gauge("node_server_websockets_open", "Open WebSockets.", () => loadOf(sources).sockets),
    counter(
      "node_server_websocket_received_messages_total",
      "Messages received over WebSockets.",
      () => traffic.receivedMessages,
    ),
    counter(
      "node_server_websocket_received_bytes_total",
      "Bytes of messages received over WebSockets.",
      () => traffic.receivedBytes,
    ),
    counter(
      "node_server_websocket_sent_messages_total",
      "Messages sent over WebSockets.",
      () => traffic.sentMessages,
    ),
    counter(
      "node_server_websocket_sent_bytes_total",
      "Bytes of messages sent over WebSockets.",
      () => traffic.sentBytes,
    ),
    gauge(
      "node_server_rpc_connections",
      "JSON-RPC requests in flight and open WebSockets, as jsonrpc_max_connections counts them.",
      () => connections.used,
    ),
    gauge("node_server_rpc_connections_limit", "jsonrpc_max_connections.", maxConnections),
    gauge(
      "node_server_client_memory_bytes",
      "Memory that requests and answers of clients occupy, without small ones.",
      () => memory.held,
    ),
    gauge("node_server_client_memory_limit_bytes", "client_memory_bytes.", maxClientBytes),
  ];
}

export function certificateFamilies({ listeners }: MetricSources): Family[] {
  return [
    gauge(
      "node_server_tls_certificate_expiry_seconds",
      "Unix time at which the first certificate of the listener expires; missing without one.",
      () => {
        const ends = listeners.flatMap(({ certificateEnd }) => certificateEnd?.expiresAtMs ?? []);
        return ends.length === 0 ? undefined : Math.min(...ends) / 1000;
      },
    ),
  ];
}

export function backupFamilies({ services }: MetricSources): Family[] {
  const state = () => services().backupState();
  return [
    gauge(
      "node_server_backup_last_success_seconds",
      "Unix time at which the newest backup was made that the server has made by itself; missing without one.",
      () => {
        const at = state()?.newestAtMs;
        return at === undefined ? undefined : at / 1000;
      },
    ),
    gauge("node_server_backup_interval_seconds", "backup_every; missing if no backups are made.", () => {
      const everyMs = state()?.everyMs;
      return everyMs === undefined ? undefined : everyMs / 1000;
    }),
    counter(
      "node_server_backup_failures_total",
      "Backups of the server that failed.",
      () => state()?.failures ?? 0,
    ),
  ];
}

type HookCounts = Services["hooks"]["counts"][number][1];

export function hookFamilies({ services }: MetricSources): Family[] {
  const byHook = (field: keyof HookCounts) => () =>
    labelled(
      "hook",
      services().hooks.counts.map(([hook, counts]) => [hook, counts[field]] as const),
    );
  return [
    {
      name: "node_server_webhook_waiting_events",
      help: "Events that wait to be sent to a webhook, by any node.",
      type: "gauge",
      samples: byHook("waiting"),
    },
    {
      name: "node_server_webhook_failures",
      help: "Attempts to send to a webhook that have failed since one succeeded, on any node.",
      type: "gauge",
      samples: byHook("failures"),
    },
    {
      name: "node_server_webhook_delivered_events_total",
      help: "Events that this process has sent to a webhook.",
      type: "counter",
      samples: byHook("delivered"),
    },
    {
      name: "node_server_webhook_lost_events_total",
      help: "Events for a webhook that this process has given up, or that found its queue full.",
      type: "counter",
      samples: byHook("lost"),
    },
  ];
}

export function logFamilies({ hub: { counts }, failedSignIns }: MetricSources): Family[] {
  return [
    {
      name: "node_server_log_entries_total",
      help: "Log entries that passed a filter, by level.",
      type: "counter",
      samples: () => labelled("level", Object.entries(counts.entries)),
    },
    gauge("node_server_subscriptions", "Open subscriptions to the log.", () => counts.tails),
    counter(
      "node_server_subscription_dropped_events_total",
      "Log entries that subscribers lost because they read too slowly.",
      () => counts.droppedByTails,
    ),
    counter(
      "node_server_authentication_failures_total",
      "Rejected credentials, over every transport.",
      failedSignIns,
    ),
  ];
}

export function componentFamilies({ readiness, services }: MetricSources): Family[] {
  return [
    {
      name: "node_server_component_up",
      help: "1 while the database, or the file store, can be used, 0 while it is lost.",
      type: "gauge",
      samples: () =>
        labelled("component", [
          ["database", Number(services().database.isReachable)],
          ["store", Number(!services().buckets.storage.health.isLost)],
        ]),
    },
    {
      name: "node_server_component_losses_total",
      help: "How often the database or the store was lost. No scrape succeeds while the database is lost, so this counter shows it afterwards.",
      type: "counter",
      samples: () =>
        labelled("component", [
          ["database", services().database.losses],
          ["store", services().buckets.storage.health.losses],
        ]),
    },
    gauge(
      "node_server_database_writable",
      "0 after a write that the database refused, until one succeeds.",
      () => Number(services().database.acceptsWrites),
    ),
    gauge("node_server_crashed", "1 if the last run of the server did not end by a stop.", () =>
      Number(services().roster.crashed),
    ),
    gauge("node_server_draining", "1 while the server stops or restarts shortly.", () =>
      Number(readiness.isDraining),
    ),
  ];
}

interface StatusSources extends Pick<MetricSources, "services" | "clock"> {
  /** The families that the verdict is judged from. */
  readonly families: () => readonly Family[];
  /** The history of the last minutes that the verdict looks at. */
  readonly recent: () => HistoryPart | undefined;
  /** The names for which the last order of a certificate failed. */
  readonly uncertified: () => readonly string[];
}

/** `statusFamily` has a sample for each reason not to be well, as `node-server_status` judges them. */
export function statusFamily({ services, clock, families, recent, uncertified }: StatusSources): Family {
  return {
    name: "node_server_status_reason",
    help: "0 while all is well, 1 for attention, 2 for trouble, by the code of the reason as in node-server_status.",
    type: "gauge",
    samples() {
      const { ring, auditRing } = services();
      const now = clock.now();
      const { reasons } = judge({
        missing: [],
        measured: measuredFacts(families(), recent()),
        certificate: services().certificateState(),
        uncertified: uncertified(),
        backup: backupFact(services().backupState(), now),
        ...loggedFacts(ring.entries(), auditRing.entries(), now),
      });
      const gravity = (code: string) =>
        Math.max(
          0,
          ...reasons.filter((one) => one.code === code).map(({ level }) => levels.indexOf(level) + 1),
        );
      return labelled(
        "code",
        measuredCodes.map((code) => [code, gravity(code)]),
      );
    },
  };
}

export function storeFamilies({ services, cache }: MetricSources): Family[] {
  const byBucket = (field: "files" | "bytes") => (): Iterable<Sample<number>> =>
    labelled(
      "bucket",
      [...services().buckets.usage.usage].map(([name, usage]) => [name, usage[field]] as const),
    );
  return [
    gauge(
      "node_server_uploads_in_progress",
      "Files that are being uploaded.",
      () => services().buckets.activity.uploads,
    ),
    {
      name: "node_server_bucket_files",
      help: "Files in a bucket, counted in the background.",
      type: "gauge",
      samples: byBucket("files"),
    },
    {
      name: "node_server_bucket_bytes",
      help: "Bytes of the files in a bucket, counted in the background.",
      type: "gauge",
      samples: byBucket("bytes"),
    },
    counter(
      "node_server_static_cache_hits_total",
      "Requests for files that were answered from memory.",
      () => cache.stats.hits,
    ),
    counter(
      "node_server_static_cache_misses_total",
      "Requests for files that were looked up on the disk.",
      () => cache.stats.misses,
    ),
    gauge("node_server_static_cache_files", "Files in memory.", () => cache.stats.files),
    gauge("node_server_static_cache_bytes", "Bytes of files in memory.", () => cache.stats.bytes),
    gauge("node_server_static_cache_limit_bytes", "static_cache_bytes.", () => cache.stats.maxBytes),
  ];
}
