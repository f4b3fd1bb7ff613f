import { expect, test } from "bun:test";
import {
  addAnswer,
  bucketSizes,
  type History,
  mean,
  measures,
  sinceFor,
  sumOf,
  thinned,
  wantedSeries,
} from "../../src/console/pages/overview/model.ts";
import { testNode } from "../support/node.ts";

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

test("a real server has every series that the overview asks for", async () => {
  await using node = await testNode();
  // The server refuses unknown series.
  const params = { token: node.superToken, series: wantedSeries };
  const { metrics } = (await node.call("node-server_metrics", params)) as never;
  expect(measures.map(({ id }) => id)).toHaveLength(8);
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
