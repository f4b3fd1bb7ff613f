import type { Family } from "./family.ts";
import type { HistoryPart } from "./history.ts";

// Whether the server is well, and why not. The console, the command line, the health check and the alerts all show this verdict.
// Nothing else has a limit of its own.

export const levels = ["attention", "trouble"] as const;
type Level = (typeof levels)[number];

/** Reason is why the server is not well, with the facts that a sentence about it needs. */
type Reason = { readonly level: Level } & (
  | {
      readonly code:
        | "database"
        | "schema"
        | "store"
        | "readOnly"
        | "draining"
        | "descriptors"
        | "connections"
        | "nodes";
    }
  | { readonly code: "disk"; readonly disk: string; readonly free_bytes: number }
  | { readonly code: "failing"; readonly share: number }
  | { readonly code: "slow"; readonly seconds: number }
  | { readonly code: "nodeLost" | "nodeNotReady" | "uncertified"; readonly names: readonly string[] }
  | { readonly code: "certificate"; readonly expires: string }
  | { readonly code: "backup"; readonly last: string | null }
  | { readonly code: "errors"; readonly count: number; readonly newest: string }
  | { readonly code: "signIns"; readonly count: number }
);

/** The codes of the reasons that a node knows about itself, in the order of `statusFamily`. */
export const measuredCodes = [
  "database",
  "readOnly",
  "store",
  "draining",
  "disk",
  "failing",
  "slow",
  "descriptors",
  "connections",
  "certificate",
  "uncertified",
  "backup",
  "errors",
  "signIns",
] as const satisfies readonly Reason["code"][];

export interface Verdict {
  readonly verdict: "well" | Level;
  /** The gravest first; empty if all is well. */
  readonly reasons: readonly Reason[];
}

/** Facts about the server; those that the caller may not know are undefined. */
export interface Facts {
  /** The parts that the server needs and does not have, as readiness names them. */
  readonly missing: readonly string[];
  readonly measured: MeasuredFacts;
  readonly nodes?: NodeFacts | undefined;
  /** A certificate that ends soon, or has ended. */
  readonly certificate?: { readonly hasExpired: boolean; readonly expires: string } | undefined;
  /** Host names for which the last order of a certificate failed. */
  readonly uncertified?: readonly string[] | undefined;
  /** When the newest backup was made, if it is late or the last attempt failed. */
  readonly backup?: { readonly last: string | null } | undefined;
  /** Errors in the log of the last hour. */
  readonly errors?: { readonly count: number; readonly newest: string } | undefined;
  /** Failed sign-ins of the last ten minutes. */
  readonly failedSignIns?: number | undefined;
}

export interface MeasuredFacts {
  readonly isDatabaseUp: boolean;
  readonly isDatabaseWritable: boolean;
  readonly isStoreUp: boolean;
  readonly isDraining: boolean;
  readonly disks: ReadonlyArray<{ readonly disk: string; readonly free: number; readonly size: number }>;
  readonly descriptors: Share;
  readonly connections: Share;
  /** Sums of the last five minutes. */
  readonly requests: number;
  readonly failedRequests: number;
  /** The median of the 99th percentiles of the delay of the event loop in the last five minutes. */
  readonly delaySeconds: number;
}

export interface NodeFacts {
  readonly lost: readonly string[];
  readonly notReady: readonly string[];
  readonly hasWarnings: boolean;
}

/** A count and its limit; without a limit undefined. */
type Share = { readonly used: number; readonly limit: number } | undefined;

const gigabyte = 1e9;
/** A disk is low below both of these: a tenth of a large disk is plenty. */
const lowDisk = { share: 0.1, bytes: 20 * gigabyte };
const fullDisk = { share: 0.03, bytes: 2 * gigabyte };
/** Fewer failed answers than this are ignored. */
const minFailed = 5;
const attentionShare = 0.01;
const troubleShare = 0.2;
/** Everybody waits that long. */
const slowSeconds = 0.25;
const nearLimit = 0.9;
const manySignIns = 20;

/** Judges whether the server is well. Facts that are not known are no reason to worry. */
export function judge(facts: Facts): Verdict {
  const { missing, measured, nodes } = facts;
  // Readiness and measurements report the same parts.
  const absent = [
    ...missing,
    ...(measured.isDatabaseUp ? [] : ["database"]),
    ...(measured.isStoreUp ? [] : ["store"]),
    ...(measured.isDraining ? ["draining"] : []),
  ];
  return verdictOf([
    ...partReasons(absent, measured.isDatabaseWritable),
    ...measuredReasons(measured),
    ...(nodes === undefined ? [] : nodeReasons(nodes)),
    ...careReasons(facts),
    ...logReasons(facts),
  ]);
}

/** Judges what all nodes of a database share: the list of nodes, and the certificates that they order. */
export function judgeShared({ nodes, uncertified }: Pick<Facts, "nodes" | "uncertified">): Verdict {
  return verdictOf([...(nodes === undefined ? [] : nodeReasons(nodes)), ...careReasons({ uncertified })]);
}

interface ListedNodes {
  readonly nodes: ReadonlyArray<{ readonly name: string; readonly alive: boolean; readonly ready: boolean }>;
  readonly warnings: readonly unknown[];
}

/** `nodeFacts` reads what decides the verdict from the list of nodes. */
export function nodeFacts({ nodes, warnings }: ListedNodes): NodeFacts {
  return {
    lost: nodes.filter(({ alive }) => !alive).map(({ name }) => name),
    notReady: nodes.filter(({ alive, ready }) => alive && !ready).map(({ name }) => name),
    hasWarnings: warnings.length > 0,
  };
}

/** Judges the parts of the server alone, which anybody may know. */
export function judgeParts(missing: readonly string[], isDatabaseWritable: boolean): Verdict {
  return verdictOf(partReasons(missing, isDatabaseWritable));
}

function verdictOf(unsorted: readonly Reason[]): Verdict {
  const reasons = unsorted.toSorted((a, b) => levels.indexOf(b.level) - levels.indexOf(a.level));
  return { verdict: reasons[0]?.level ?? "well", reasons };
}

function partReasons(missing: readonly string[], isDatabaseWritable: boolean): Reason[] {
  const lacks = (part: string) => missing.includes(part);
  const reasons: Reason[] = [];
  if (lacks("database")) reasons.push({ code: "database", level: "trouble" });
  else if (!isDatabaseWritable) reasons.push({ code: "readOnly", level: "trouble" });
  if (lacks("schema")) reasons.push({ code: "schema", level: "trouble" });
  if (lacks("store")) reasons.push({ code: "store", level: "trouble" });
  if (lacks("draining")) reasons.push({ code: "draining", level: "attention" });
  return reasons;
}

function measuredReasons(measured: MeasuredFacts): Reason[] {
  const { disks, descriptors, connections, requests, failedRequests, delaySeconds } = measured;
  const reasons: Reason[] = [];
  for (const { disk, free, size } of disks) {
    const isBelow = (bound: typeof lowDisk) => free < bound.bytes && free < size * bound.share;
    const level = isBelow(fullDisk) ? "trouble" : "attention";
    if (isBelow(lowDisk)) reasons.push({ code: "disk", level, disk, free_bytes: free });
  }
  const share = requests === 0 ? 0 : failedRequests / requests;
  if (failedRequests >= minFailed && share > attentionShare)
    reasons.push({ code: "failing", level: share > troubleShare ? "trouble" : "attention", share });
  if (delaySeconds > slowSeconds) reasons.push({ code: "slow", level: "attention", seconds: delaySeconds });
  if (isNear(descriptors)) reasons.push({ code: "descriptors", level: "attention" });
  if (isNear(connections)) reasons.push({ code: "connections", level: "attention" });
  return reasons;
}

function isNear(share: Share): boolean {
  return share !== undefined && share.limit > 0 && share.used > share.limit * nearLimit;
}

function nodeReasons({ lost, notReady, hasWarnings }: NodeFacts): Reason[] {
  const reasons: Reason[] = [];
  if (lost.length > 0) reasons.push({ code: "nodeLost", level: "attention", names: lost });
  if (notReady.length > 0) reasons.push({ code: "nodeNotReady", level: "attention", names: notReady });
  if (hasWarnings) reasons.push({ code: "nodes", level: "attention" });
  return reasons;
}

function careReasons({
  certificate,
  uncertified = [],
  backup,
}: Pick<Facts, "certificate" | "uncertified" | "backup">): Reason[] {
  const reasons: Reason[] = [];
  if (certificate !== undefined) {
    const level = certificate.hasExpired ? "trouble" : "attention";
    reasons.push({ code: "certificate", level, expires: certificate.expires });
  }
  if (backup !== undefined) reasons.push({ code: "backup", level: "attention", ...backup });
  if (uncertified.length > 0) reasons.push({ code: "uncertified", level: "attention", names: uncertified });
  return reasons;
}

function logReasons({ errors, failedSignIns = 0 }: Facts): Reason[] {
  const reasons: Reason[] = [];
  if (errors !== undefined && errors.count > 0)
    reasons.push({ code: "errors", level: "attention", ...errors });
  if (failedSignIns >= manySignIns)
    reasons.push({ code: "signIns", level: "attention", count: failedSignIns });
  return reasons;
}

/** `measuredFacts` reads what decides the verdict from the present values and the history of the last five minutes. */
export function measuredFacts(families: readonly Family[], hour: HistoryPart | undefined): MeasuredFacts {
  const value = (name: string, label?: string) =>
    samplesOf(families, name).find(
      ({ labels }) => label === undefined || Object.values(labels).includes(label),
    )?.value;
  const isOn = (name: string, label?: string) => value(name, label) !== 0;
  const recent = (isWanted: (series: string) => boolean) =>
    Object.entries(hour?.series ?? {}).flatMap(([series, values]) =>
      isWanted(series) ? values.filter((rate) => rate !== null) : [],
    );
  const total = (isWanted: (series: string) => boolean) =>
    recent(isWanted).reduce((sum, rate) => sum + rate * (hour?.step_seconds ?? 0), 0);
  return {
    isDatabaseUp: isOn("node_server_component_up", "database"),
    isStoreUp: isOn("node_server_component_up", "store"),
    isDatabaseWritable: isOn("node_server_database_writable"),
    isDraining: value("node_server_draining") === 1,
    disks: samplesOf(families, "node_server_disk_free_bytes").map(({ labels, value: free }) => {
      const { disk = "" } = labels;
      return { disk, free, size: value("node_server_disk_size_bytes", disk) ?? 0 };
    }),
    descriptors: share(value("process_open_fds"), value("process_max_fds")),
    connections: share(value("node_server_rpc_connections"), value("node_server_rpc_connections_limit")),
    requests: total((series) => series.startsWith("requests_") && series !== "requests_in_flight"),
    failedRequests: total((series) => series === "responses_5xx"),
    delaySeconds: median(recent((series) => series === "event_loop_delay_seconds_p99")),
  };
}

/** What the verdict takes from the history. */
export const recentMs = 300_000;

/** Entry is what the verdict reads of an entry of the log. */
interface Entry {
  readonly level: string;
  readonly timestamp: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** `loggedFacts` counts the errors of the last hour in the log in memory, and the failed sign-ins of the last ten minutes in the audit. */
export function loggedFacts(
  entries: readonly Entry[],
  audited: readonly Entry[],
  now: number,
): Required<Pick<Facts, "errors" | "failedSignIns">> {
  const isWithin = (ms: number) => (entry: Entry) => now - Date.parse(entry.timestamp) < ms;
  const errors = entries.filter(({ level }) => level === "ERROR").filter(isWithin(3_600_000));
  const failed = audited.filter(({ fields }) => fields.event === "sign_in.failed").filter(isWithin(600_000));
  return {
    errors: { count: errors.length, newest: errors.at(-1)?.message ?? "" },
    failedSignIns: failed.reduce((sum, { fields }) => sum + Number(fields.count ?? 1), 0),
  };
}

interface BackupState {
  readonly everyMs: number;
  readonly newestAtMs: number | undefined;
  readonly isFailing: boolean;
}

/** `backupFact` returns the fact about backups that are late; undefined if they are not, or none are made. */
export function backupFact(state: BackupState | undefined, now: number): Facts["backup"] {
  if (state === undefined) return undefined;
  const { everyMs, newestAtMs, isFailing } = state;
  const isLate = newestAtMs !== undefined && now - newestAtMs > 2 * everyMs;
  if (!isFailing && !isLate) return undefined;
  return { last: newestAtMs === undefined ? null : new Date(newestAtMs).toISOString() };
}

/** One slow moment is not a slow server. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function share(used: number | undefined, limit: number | undefined): Share {
  return used === undefined || limit === undefined ? undefined : { used, limit };
}

function samplesOf(families: readonly Family[], name: string) {
  const family = families.find((one) => one.name === name);
  return family === undefined || family.type === "histogram" ? [] : [...family.samples()];
}
