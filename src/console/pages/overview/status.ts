/** Facts about the server; those that the token may not read are undefined. */
export interface ServerFacts {
  readonly isOffline: boolean;
  /** What `GET /node/ready` finds missing. */
  readonly missing?: readonly string[] | undefined;
  readonly metrics?: MetricFacts | undefined;
  readonly nodes?: NodeFacts | undefined;
  /** Errors in the log of the last hour. */
  readonly errors?: { readonly count: number; readonly newest: string } | undefined;
  /** Failed sign-ins of the last ten minutes. */
  readonly failedSignIns?: number | undefined;
}

export interface MetricFacts {
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
  /** 99th percentile of the delay of the event loop in the last five minutes, in seconds. */
  readonly delaySeconds: number;
}

export interface NodeFacts {
  readonly lost: readonly string[];
  readonly notReady: readonly string[];
  readonly hasWarnings: boolean;
}

/** A count and its limit; without a limit undefined. */
export type Share = { readonly used: number; readonly limit: number } | undefined;

export type Verdict = "well" | "attention" | "trouble" | "unknown";

/** Why the server is not well. `where` is the page of the console on which to mend or to examine it. */
export type Reason =
  | { readonly code: SimpleCode; readonly level: Verdict; readonly where: Where }
  | {
      readonly code: "disk";
      readonly level: Verdict;
      readonly where: Where;
      readonly disk: string;
      readonly free: number;
    }
  | { readonly code: "failing"; readonly level: Verdict; readonly where: Where; readonly share: number }
  | { readonly code: "slow"; readonly level: Verdict; readonly where: Where; readonly seconds: number }
  | {
      readonly code: "nodeLost" | "nodeNotReady";
      readonly level: Verdict;
      readonly where: Where;
      readonly names: readonly string[];
    }
  | {
      readonly code: "errors";
      readonly level: Verdict;
      readonly where: Where;
      readonly count: number;
      readonly newest: string;
    }
  | { readonly code: "signIns"; readonly level: Verdict; readonly where: Where; readonly count: number };

type SimpleCode =
  | "offline"
  | "database"
  | "schema"
  | "store"
  | "readOnly"
  | "draining"
  | "descriptors"
  | "connections"
  | "nodes";

export type Where = "errors" | "buckets" | "config" | "update" | "signIns" | "nodes" | "none";

export interface ServerStatus {
  readonly verdict: Verdict;
  /** The gravest first; empty if all is well. */
  readonly reasons: readonly Reason[];
}

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

/** Judges whether the server is well. Facts that are not known are no reason to worry; only measurements prove that it is well. */
export function judge(facts: ServerFacts): ServerStatus {
  const reasons = [
    ...(facts.isOffline ? [simple("offline", "trouble", "none")] : []),
    ...missingReasons(facts),
    ...(facts.metrics === undefined ? [] : metricReasons(facts.metrics)),
    ...(facts.nodes === undefined ? [] : nodeReasons(facts.nodes)),
    ...logReasons(facts),
  ].sort((a, b) => rank[b.level] - rank[a.level]);
  const calm = facts.metrics === undefined ? "unknown" : "well";
  return { verdict: reasons[0]?.level ?? calm, reasons };
}

const rank: Readonly<Record<Verdict, number>> = { unknown: 0, well: 0, attention: 1, trouble: 2 };

function simple(code: SimpleCode, level: Verdict, where: Where): Reason {
  return { code, level, where };
}

/** missingReasons lists each missing part once: readiness and metrics report the same parts. */
function missingReasons({ missing = [], metrics }: ServerFacts): Reason[] {
  const lacks = (part: string) => missing.includes(part);
  const reasons: Reason[] = [];
  if (lacks("database") || metrics?.isDatabaseUp === false)
    reasons.push(simple("database", "trouble", "errors"));
  else if (metrics?.isDatabaseWritable === false) reasons.push(simple("readOnly", "trouble", "errors"));
  if (lacks("schema")) reasons.push(simple("schema", "trouble", "update"));
  if (lacks("store") || metrics?.isStoreUp === false) reasons.push(simple("store", "trouble", "errors"));
  if (lacks("draining") || metrics?.isDraining) reasons.push(simple("draining", "attention", "none"));
  return reasons;
}

function metricReasons(metrics: MetricFacts): Reason[] {
  const { disks, descriptors, connections, requests, failedRequests, delaySeconds } = metrics;
  const reasons: Reason[] = [];
  for (const { disk, free, size } of disks) {
    const isBelow = (bound: typeof lowDisk) => free < bound.bytes && free < size * bound.share;
    if (isBelow(lowDisk))
      reasons.push({
        code: "disk",
        level: isBelow(fullDisk) ? "trouble" : "attention",
        where: "buckets",
        disk,
        free,
      });
  }
  const share = requests === 0 ? 0 : failedRequests / requests;
  if (failedRequests >= minFailed && share > attentionShare)
    reasons.push({
      code: "failing",
      level: share > troubleShare ? "trouble" : "attention",
      where: "errors",
      share,
    });
  if (delaySeconds > slowSeconds)
    reasons.push({ code: "slow", level: "attention", where: "none", seconds: delaySeconds });
  if (isNear(descriptors)) reasons.push(simple("descriptors", "attention", "none"));
  if (isNear(connections)) reasons.push(simple("connections", "attention", "config"));
  return reasons;
}

function isNear(share: Share): boolean {
  return share !== undefined && share.limit > 0 && share.used > share.limit * nearLimit;
}

function nodeReasons({ lost, notReady, hasWarnings }: NodeFacts): Reason[] {
  const reasons: Reason[] = [];
  if (lost.length > 0) reasons.push({ code: "nodeLost", level: "attention", where: "nodes", names: lost });
  if (notReady.length > 0)
    reasons.push({ code: "nodeNotReady", level: "attention", where: "nodes", names: notReady });
  if (hasWarnings) reasons.push(simple("nodes", "attention", "nodes"));
  return reasons;
}

function logReasons({ errors, failedSignIns = 0 }: ServerFacts): Reason[] {
  const reasons: Reason[] = [];
  if (errors !== undefined && errors.count > 0)
    reasons.push({ code: "errors", level: "attention", where: "errors", ...errors });
  if (failedSignIns >= manySignIns)
    reasons.push({ code: "signIns", level: "attention", where: "signIns", count: failedSignIns });
  return reasons;
}
