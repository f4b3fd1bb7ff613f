import type { LogEntry, MetricFamily, ResultOf } from "../../../client/index.ts";
import { type Samples, sumOf } from "./history.ts";
import { requestSeries } from "./measures.ts";
import type { MetricFacts, NodeFacts, Share } from "./status.ts";

const recentMs = 300_000;

/** Facts for the status, from the present values and the last hour. */
export function metricFacts(families: readonly MetricFamily[], hour: Samples): MetricFacts {
  const value = (name: string, label?: string) => gaugeOf(families, name, label);
  const isOn = (name: string, label?: string) => value(name, label) !== 0;
  const recent = (names: readonly string[]) => {
    const from = (hour.times.at(-1) ?? 0) - recentMs;
    return sumOf(hour, names).filter((_, at) => (hour.times[at] ?? 0) > from);
  };
  const total = (names: readonly string[]) =>
    recent(names).reduce<number>((sum, rate) => sum + ((rate ?? 0) * hour.stepMs) / 1000, 0);
  return {
    isDatabaseUp: isOn("node_server_component_up", "database"),
    isStoreUp: isOn("node_server_component_up", "store"),
    isDatabaseWritable: isOn("node_server_database_writable"),
    isDraining: value("node_server_draining") === 1,
    disks: samplesOf(families, "node_server_disk_free_bytes").map(({ labels, value: free }) => {
      const disk = labels.disk ?? "";
      return { disk, free, size: value("node_server_disk_size_bytes", disk) ?? 0 };
    }),
    descriptors: share(value("process_open_fds"), value("process_max_fds")),
    connections: share(value("node_server_rpc_connections"), value("node_server_rpc_connections_limit")),
    requests: total(requestSeries),
    failedRequests: total(["responses_5xx"]),
    delaySeconds: median(recent(["event_loop_delay_seconds_p99"])),
  };
}

/** One slow moment is not a slow server. */
function median(values: ReadonlyArray<number | null>): number {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? 0;
}

function share(used: number | undefined, limit: number | undefined): Share {
  return used === undefined || limit === undefined ? undefined : { used, limit };
}

function samplesOf(families: readonly MetricFamily[], name: string) {
  return families.find((family) => family.name === name)?.samples ?? [];
}

/** Value of a gauge, with `label` of the sample that has this label's value. */
function gaugeOf(families: readonly MetricFamily[], name: string, label?: string): number | undefined {
  const samples = samplesOf(families, name);
  return samples.find(({ labels }) => label === undefined || Object.values(labels).includes(label))?.value;
}

export interface BucketSize {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
}

/** Buckets that were counted, the largest first. */
export function bucketSizes(families: readonly MetricFamily[]): BucketSize[] {
  const files = new Map(
    samplesOf(families, "node_server_bucket_files").map(({ labels, value }) => [labels.bucket, value]),
  );
  return samplesOf(families, "node_server_bucket_bytes")
    .map(({ labels: { bucket: name = "" }, value: bytes }) => ({ name, bytes, files: files.get(name) ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

export function nodeFacts({ nodes, warnings }: ResultOf<"cluster_nodes">): NodeFacts {
  return {
    lost: nodes.filter(({ alive }) => !alive).map(({ name }) => name),
    notReady: nodes.filter(({ alive, ready }) => alive && !ready).map(({ name }) => name),
    hasWarnings: warnings.length > 0,
  };
}

const hourMs = 3_600_000;

/** Errors of the last hour among entries of the log, with the message of the newest. */
export function recentErrors(entries: readonly LogEntry[], now: number) {
  const errors = entries.filter(
    ({ level, timestamp }) => level === "ERROR" && now - Date.parse(timestamp) < hourMs,
  );
  return { count: errors.length, newest: errors.at(-1)?.message ?? "" };
}

const signInsMs = 600_000;

/** Failed sign-ins of the last ten minutes among audit entries. */
export function recentFailedSignIns(entries: readonly LogEntry[], now: number): number {
  return entries
    .filter(
      ({ fields, timestamp }) => fields.event === "sign_in.failed" && now - Date.parse(timestamp) < signInsMs,
    )
    .reduce((sum, { fields }) => sum + Number(fields.count ?? 1), 0);
}
