import { expect, test } from "bun:test";
import { backupFact, type Facts, judge, type MeasuredFacts } from "../../src/metrics/verdict.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { metricsText } from "../support/metrics.ts";
import { eachDatabase, testNode } from "../support/node.ts";

const calm: MeasuredFacts = {
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
const facts = (measured: Partial<MeasuredFacts> = {}, others: Partial<Facts> = {}): Facts => ({
  missing: [],
  measured: { ...calm, ...measured },
  nodes: { lost: [], notReady: [], hasWarnings: false },
  errors: { count: 0, newest: "" },
  failedSignIns: 3,
  ...others,
});

const said = (known: Facts) => {
  const { verdict, reasons } = judge(known);
  return [verdict, ...reasons.map(({ code }) => code)].join(" ");
};

test("a server without a reason to worry is well", () => {
  expect(said(facts())).toBe("well");
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
  const certificate = (hasExpired: boolean) =>
    facts({}, { certificate: { expires: "2026-12-24T12:00:00.000Z", hasExpired } });
  expect(said(certificate(false))).toBe("attention certificate");
  expect(said(certificate(true))).toBe("trouble certificate");
  expect(said(facts({ isDatabaseWritable: false }))).toBe("trouble readOnly");
  expect(said(facts({ isDraining: true }, { missing: ["draining"] }))).toBe("attention draining");
  expect(said(facts({}, { missing: ["schema"] }))).toBe("trouble schema");
  expect(said(facts({ isStoreUp: false }, { missing: ["store"] }))).toBe("trouble store");
  expect(said(facts({}, { missing: ["database"] }))).toBe("trouble database");
  expect(said(facts({}, { errors: { count: 2, newest: "the disk is on fire" } }))).toBe("attention errors");
  expect(said(facts({}, { failedSignIns: 25 }))).toBe("attention signIns");
  expect(said(facts({}, { uncertified: ["docs.example.com"] }))).toBe("attention uncertified");
  expect(said(facts({}, { backup: { last: null } }))).toBe("attention backup");
  const nodes = { lost: ["b"], notReady: ["c"], hasWarnings: true };
  expect(said(facts({ isStoreUp: false }, { nodes }))).toBe("trouble store nodeLost nodeNotReady nodes");
});

test("a backup is late after two intervals, or when the last attempt failed", () => {
  const [now, everyMs] = [Date.parse("2026-11-19T12:00:00Z"), 3_600_000];
  const late = (ageMs: number | undefined, isFailing = false) =>
    backupFact({ everyMs, newestAtMs: ageMs === undefined ? undefined : now - ageMs, isFailing }, now);
  expect(backupFact(undefined, now)).toBeUndefined();
  // The first one is made at once.
  expect(late(undefined)).toBeUndefined();
  expect(late(2 * everyMs)).toBeUndefined();
  expect(late(2 * everyMs + 1)).toEqual({ last: "2026-11-19T09:59:59.999Z" });
  expect(late(1, true)).toEqual({ last: "2026-11-19T11:59:59.999Z" });
  expect(late(undefined, true)).toEqual({ last: null });
});

type Answer = {
  readonly verdict: string;
  readonly reasons: readonly unknown[];
  readonly orders_certificates: boolean;
};

eachDatabase("a real server is well, and says what is wrong to those who may know it", async (database) => {
  await using node = await testNode({ database, logging: 'memory_log_filter = "info"' });
  const ask = (token: string) => node.call("node-server_status", { token }) as Promise<Answer>;
  const tokenFor = (...names: string[]) =>
    node.newToken([{ scopes: ["global"], permissions: names.map((name) => ({ node: name })) }]);
  const [measuring, reading] = [await tokenFor("metrics"), await tokenFor("metrics", "read_logs")];
  expect(await ask(node.superToken)).toMatchObject({
    verdict: "well",
    reasons: [],
    orders_certificates: false,
  });
  node.node.hub.logger("task").error("the nightly backup failed");
  expect(await ask(reading)).toMatchObject({
    verdict: "attention",
    reasons: [{ code: "errors", level: "attention", count: 1, newest: "the nightly backup failed" }],
  });
  expect(await ask(measuring)).toMatchObject({ verdict: "well", reasons: [] });
  const text = await metricsText(node);
  expect(text).toContain('\nnode_server_status_reason{code="errors"} 1\n');
  expect(text).toContain('\nnode_server_status_reason{code="disk"} 0\n');
  const without = await tokenFor("read_logs", "read_nodes");
  expect((await node.refused("node-server_status", { token: without })).data).toMatchObject({
    reason: "missing_permission",
  });
});

eachDatabase(
  "a webhook is told once when the verdict turns, and again when it turns back",
  async (database) => {
    const told: Array<{
      type: string;
      data: Record<string, unknown> & { reasons: Array<{ code: string }> };
    }> = [];
    await using server = Bun.serve({
      port: 0,
      async fetch(request) {
        told.push((await request.json()) as (typeof told)[number]);
        return new Response();
      },
    });
    const clock = new ManualClock();
    await using node = await testNode({
      database,
      clock,
      top: 'node_name = "one"\n',
      logging: `memory_log_filter = "info"\n[[hooks]]\nurl = "http://127.0.0.1:${server.port}/"\nsecret = "${"s".repeat(32)}"\nevents = ["verdict.*"]\n`,
    });
    node.node.hub
      .logger("server")
      .event("files.care_failed", "the care failed", { reason: "a story", retry_ms: 1 });
    const hasErrors = ({ data }: (typeof told)[number]) => data.reasons.some(({ code }) => code === "errors");
    await clock.until("the errors are told", 30_000, () => told.some(hasErrors));
    const first = told.find(hasErrors);
    expect(first).toMatchObject({ type: "verdict.changed", data: { node: "one", verdict: "attention" } });
    await clock.advance(180_000);
    expect(told.filter(hasErrors)).toHaveLength(1);
    await clock.jump(3_600_000);
    await clock.until("it is told that all is well", 30_000, () =>
      told.some(({ data }) => data.verdict === "well"),
    );
  },
);
