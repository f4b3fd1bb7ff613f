import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/client/index.ts";
import {
  addAnswer,
  type History,
  mean,
  sinceFor,
  sumOf,
  thinned,
} from "../../src/console/pages/overview/history.ts";
import { measures, wantedSeries } from "../../src/console/pages/overview/measures.ts";
import {
  bucketSizes,
  metricFacts,
  nodeFacts,
  recentErrors,
  recentFailedSignIns,
} from "../../src/console/pages/overview/metric-facts.ts";
import { judge, type MetricFacts, type ServerFacts } from "../../src/console/pages/overview/status.ts";
import { testNode } from "../support/node.ts";

const calm: MetricFacts = {
  isDatabaseUp: true,
  isDatabaseWritable: true,
  isStoreUp: true,
  isDraining: false,
  disks: [{ disk: "static", free: 5e11, size: 1e12 }],
  descriptors: { used: 100, limit: 1024 },
  connections: { used: 3, limit: 100 },
  requests: 1000,
  failedRequests: 2,
  delaySeconds: 0.01,
};

/** Facts of a healthy server, with changes. */
const facts = (metrics: Partial<MetricFacts> = {}, others: Partial<ServerFacts> = {}): ServerFacts => ({
  isOffline: false,
  missing: [],
  metrics: { ...calm, ...metrics },
  nodes: { lost: [], notReady: [], hasWarnings: false },
  errors: { count: 0, newest: "" },
  failedSignIns: 3,
  ...others,
});

const said = (known: ServerFacts) => {
  const { verdict, reasons } = judge(known);
  return [verdict, ...reasons.map(({ code }) => code)].join(" ");
};

test("a server without a reason to worry is well if it was measured, and is not judged otherwise", () => {
  expect(said(facts())).toBe("well");
  expect(said({ isOffline: false, missing: [], failedSignIns: 0 })).toBe("unknown");
  expect(said({ isOffline: false, missing: ["database"] })).toBe("trouble database");
  // A tenth of a large disk is plenty, and five failures of a thousand requests are none of the server's troubles.
  expect(said(facts({ disks: [{ disk: "static", free: 9e11, size: 1e13 }] }))).toBe("well");
  expect(said(facts({ requests: 1000, failedRequests: 5 }))).toBe("well");
  expect(said(facts({ requests: 2, failedRequests: 2 }))).toBe("well");
});

test("each thing that is wrong is named, the gravest first", () => {
  const disk = (free: number) => facts({ disks: [{ disk: "static", free, size: 1e11 }] });
  expect(said(disk(9e9))).toBe("attention disk");
  expect(said(disk(1e9))).toBe("trouble disk");
  expect(said(facts({ failedRequests: 20 }))).toBe("attention failing");
  expect(said(facts({ failedRequests: 300 }))).toBe("trouble failing");
  expect(said(facts({ delaySeconds: 0.5 }))).toBe("attention slow");
  expect(said(facts({ descriptors: { used: 1000, limit: 1024 } }))).toBe("attention descriptors");
  expect(said(facts({ connections: { used: 95, limit: 100 } }))).toBe("attention connections");
  expect(said(facts({ isDatabaseWritable: false }))).toBe("trouble readOnly");
  expect(said(facts({ isDraining: true }, { missing: ["draining"] }))).toBe("attention draining");
  expect(said(facts({}, { missing: ["schema"] }))).toBe("trouble schema");
  expect(said(facts({ isStoreUp: false }, { missing: ["store"] }))).toBe("trouble store");
  expect(said({ isOffline: false, missing: ["database"] })).toBe("trouble database");
  expect(said(facts({}, { isOffline: true }))).toBe("trouble offline");
  expect(said(facts({}, { errors: { count: 2, newest: "the disk is on fire" } }))).toBe("attention errors");
  expect(said(facts({}, { failedSignIns: 25 }))).toBe("attention signIns");
  const nodes = { lost: ["b"], notReady: ["c"], hasWarnings: true };
  expect(said(facts({ isStoreUp: false }, { nodes }))).toBe("trouble store nodeLost nodeNotReady nodes");
});

const part = (step_seconds: number, start: number | null, values: ReadonlyArray<number | null>) => ({
  step_seconds,
  start,
  series: { cpu_seconds: [...values] },
});
const at = 1_800_000_000_000;
const answer = (time: number, hour: ReturnType<typeof part>, day = part(60, null, [])) => ({
  time,
  history: [hour, day],
});

test("only new values are asked for, and added to those that are held", () => {
  expect(sinceFor(undefined, "hour", at)).toBe(at - 3_600_000);
  let held: History = addAnswer(undefined, answer(at, part(10, at - 10_000, [1, 2])), at - 3_600_000);
  expect(sinceFor(held, "hour", 0)).toBe(at);
  // The day is asked for as a whole, once.
  expect(sinceFor(held, "day", 0)).toBeNull();
  held = addAnswer(held, answer(at + 10_000, part(10, at, [2, 3])), at);
  expect([held.hour.times, held.hour.values.cpu_seconds]).toEqual([
    [at - 10_000, at, at + 10_000],
    [1, 2, 3],
  ]);
  expect(held.day).toBeUndefined();
  const day = part(60, at - 60_000, [7, 8]);
  held = addAnswer(held, answer(at + 10_000, part(10, at, [2, 3]), day), null);
  expect([held.day?.values.cpu_seconds, held.hour.values.cpu_seconds]).toEqual([
    [7, 8],
    [2, 3],
  ]);
  expect(sinceFor(held, "day", 0)).toBe(at + 10_000);
  held = addAnswer(held, answer(at + 60_000, part(10, null, []), part(60, at + 60_000, [9])), at + 10_000);
  expect(held.day?.values.cpu_seconds).toEqual([7, 8, 9]);
});

test("a restart leaves a gap in the line, and what is older than the range is dropped", () => {
  let held = addAnswer(undefined, answer(at, part(10, at, [1])), 0);
  held = addAnswer(held, answer(at + 120_000, part(10, at + 100_000, [5, 6])), at);
  expect(held.hour.values.cpu_seconds).toEqual([1, null, 5, 6]);
  const later = at + 3_600_000 + 105_000;
  held = addAnswer(held, answer(later, part(10, later, [9])), at + 110_000);
  expect(held.hour.values.cpu_seconds).toEqual([6, null, 9]);
});

test("series are summed and thinned without making up values", () => {
  const samples = { stepMs: 10_000, times: [1, 2, 3], values: { a: [1, null, null], b: [2, 5, null] } };
  expect(sumOf(samples, ["a", "b", "c"])).toEqual([3, 5, null]);
  expect(thinned([1, 3, null, 5, null, null, 7], 4)).toEqual([2, 5, undefined, 7]);
  expect(mean([null])).toBeUndefined();
});

test("errors and failed sign-ins count while they are recent", () => {
  const entry = (minutes: number, level: "ERROR" | "WARN", fields = {}): LogEntry => ({
    timestamp: new Date(at - minutes * 60_000).toISOString(),
    level,
    target: "task",
    message: `${minutes} minutes ago`,
    fields,
    spans: [],
  });
  const entries = [entry(90, "ERROR"), entry(50, "ERROR"), entry(10, "ERROR"), entry(5, "WARN")];
  expect(recentErrors(entries, at)).toEqual({ count: 2, newest: "10 minutes ago" });
  const failed = (minutes: number, count: number) =>
    entry(minutes, "WARN", { event: "sign_in.failed", count });
  expect(recentFailedSignIns([failed(20, 100), failed(9, 7), failed(1, 2), ...entries], at)).toBe(9);
});

test("a real server has every series and fact that the overview asks for", async () => {
  await using node = await testNode();
  const call = (method: string, params = {}) => node.call(method, { token: node.superToken, ...params });
  // The server refuses unknown series.
  const { metrics, history } = (await call("node-server_metrics", { series: wantedSeries })) as never;
  const held = addAnswer(undefined, { time: Date.now(), history }, null);
  const found = metricFacts(metrics, held.hour);
  expect(found).toMatchObject({
    isDatabaseUp: true,
    isDatabaseWritable: true,
    isStoreUp: true,
    isDraining: false,
    connections: { limit: expect.any(Number) },
  });
  expect(measures.map(({ id }) => id)).toHaveLength(8);
  expect(nodeFacts((await call("cluster_nodes")) as never)).toEqual({
    lost: [],
    notReady: [],
    hasWarnings: false,
  });
  expect(bucketSizes(metrics)).toEqual([]);
});

test("buckets are sorted by size", () => {
  const family = (name: string, values: Record<string, number>) => ({
    name,
    type: "gauge" as const,
    help: "",
    samples: Object.entries(values).map(([bucket, value]) => ({ labels: { bucket }, value })),
  });
  expect(
    bucketSizes([
      family("node_server_bucket_files", { a: 1, b: 2, c: 3 }),
      family("node_server_bucket_bytes", { a: 10, b: 30, c: 10 }),
    ]),
  ).toEqual([
    { name: "b", files: 2, bytes: 30 },
    { name: "a", files: 1, bytes: 10 },
    { name: "c", files: 3, bytes: 10 },
  ]);
});
