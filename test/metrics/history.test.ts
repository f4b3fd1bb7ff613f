import { expect, test } from "bun:test";
import { Histogram, quantileOf } from "../../src/metrics/family.ts";
import { HistoryRing, level, quantile, rate } from "../../src/metrics/history.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const noon = Date.UTC(2026, 10, 16, 12);
const after = (seconds: number) => noon + seconds * 1000;

test("a ring keeps the last steps: rates a second, levels, and quantiles of each step alone", () => {
  let [count, height] = [100, 7];
  const times = new Histogram([0.1, 1, 10]);
  times.observe(5);
  const ring = new HistoryRing(
    { stepSeconds: 10, steps: 3 },
    [rate("count", () => count), level("height", () => height), quantile("time", 0.5, () => [times])],
    noon,
  );
  expect(ring.read({})).toEqual({
    step_seconds: 10,
    start: null,
    series: { count: [], height: [], time: [] },
  });
  count += 50;
  times.observe(0.05);
  // A timer is never exact.
  ring.tick(after(9.98));
  height = 8;
  ring.tick(after(20));
  count += 20;
  ring.tick(after(30));
  count += 10;
  ring.tick(after(40));
  expect(ring.read({})).toEqual({
    step_seconds: 10,
    start: after(20),
    series: { count: [0, 2, 1], height: [8, 8, 8], time: [null, null, null] },
  });
  expect(ring.read({ since: after(25), series: ["count"] })).toEqual({
    step_seconds: 10,
    start: after(30),
    series: { count: [2, 1] },
  });
  expect(ring.read({ since: after(40) }).start).toBeNull();
  expect(ring.read({ series: [] }).series).toEqual({});
});

test("steps that were missed while the machine slept are unknown, and a clock that is set back loses nothing", () => {
  let count = 0;
  const ring = new HistoryRing({ stepSeconds: 60, steps: 5 }, [rate("count", () => count)], noon);
  ring.tick(after(60));
  count = 180;
  ring.tick(after(60 + 180));
  expect(ring.read({}).series.count).toEqual([0, null, null, 1]);
  ring.tick(after(30));
  ring.tick(after(90));
  expect(ring.read({}).series.count).toEqual([0, null, null, 1, 0]);
  ring.tick(after(90 + 86_400));
  expect(ring.read({}).series.count).toEqual([null, null, null, null, 0]);
});

test("a ring of minutes takes one value a minute, however often it is asked to", () => {
  let count = 0;
  const ring = new HistoryRing({ stepSeconds: 60, steps: 5 }, [rate("count", () => count)], noon);
  for (let seconds = 10; seconds <= 130; seconds += 10) {
    count += 10;
    // Late more and more, as on a busy machine.
    ring.tick(after(seconds + seconds / 100));
  }
  expect(ring.read({}).start).toBe(after(60));
  for (const value of ring.read({}).series.count ?? []) expect(value).toBeCloseTo(1, 1);
  expect(ring.read({}).series.count).toHaveLength(2);
});

test("a quantile is estimated inside its bucket", () => {
  const counts = Float64Array.from([0, 10, 10, 0]);
  expect(quantileOf(0.5, [1, 2, 4], counts)).toBe(2);
  expect(quantileOf(0.75, [1, 2, 4], counts)).toBe(3);
  expect(quantileOf(0.99, [1, 2, 4], Float64Array.from([0, 0, 0, 5]))).toBe(4);
  expect(quantileOf(0.5, [1], Float64Array.from([0, 0]))).toBeNaN();
});

test("node-server_metrics has a history of what was done, by series and since a time", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const begin = clock.now();
  for (let call = 0; call < 30; call += 1) await fetch(`${node.url}/node/health`);
  type Answer = {
    time: number;
    history: Array<{
      step_seconds: number;
      start: number | null;
      series: Record<string, Array<number | null>>;
    }>;
  };
  const ask = async (params: object) =>
    (await node.call("node-server_metrics", { token: node.superToken, ...params })) as Answer;
  const [minutely] = (await ask({ series: ["requests_health"] })).history.slice(1);
  expect(minutely).toEqual({ step_seconds: 60, start: null, series: { requests_health: [] } });
  await clock.advance(10_000);
  const answer = await until("the step was measured", async () => {
    const got = await ask({ since: begin });
    return got.history[0]?.start === null ? undefined : got;
  });
  expect(answer.time).toBe(begin + 10_000);
  const [first] = answer.history;
  expect(first?.step_seconds).toBe(10);
  // 30 in ten seconds.
  expect(first?.series.requests_health?.[0]).toBeCloseTo(3, 1);
  expect(first?.series.cpu_seconds?.[0]).toBeGreaterThan(0);
  expect(first?.series.resident_bytes?.[0]).toBeGreaterThan(1_000_000);
  expect(first?.series.request_seconds_p99?.[0]).toBeGreaterThan(0);
  expect((await ask({ since: clock.now() + 60_000 })).history[0]?.start).toBeNull();
  expect(await node.refused("node-server_metrics", { token: node.superToken, series: ["x"] })).toMatchObject({
    code: 108,
    message: expect.stringContaining("there are requests_jsonrpc, requests_static, "),
    data: { field: "series" },
  });
  expect(await node.refused("node-server_metrics", { token: node.superToken, series: "x" })).toMatchObject({
    code: -32602,
    data: { field: "series" },
  });
});
