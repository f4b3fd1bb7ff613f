import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  addSample,
  growthText,
  parseHistory,
  type SizeHistory,
  type SizeSample,
  tableSizes,
} from "../../src/console/pages/overview/model.ts";
import "./texts.ts";

const minute = 60_000;
const sample = (at: number, total = 0): SizeSample => ({ at, total, tables: { token: total } });

test("growth is since the last sample of the visit before, however many samples this visit has", () => {
  let history: SizeHistory | undefined;
  const base = (at: number) => {
    history = addSample(history, sample(at));
    return history.base?.at;
  };
  expect(base(0)).toBeUndefined();
  expect([base(1 * minute), base(20 * minute), base(45 * minute)]).toEqual([0, 0, 0]);
  expect([base(200 * minute), base(201 * minute)]).toEqual([45 * minute, 45 * minute]);
});

test("a stored history is read back, and anything else is ignored", () => {
  const history = { base: sample(1, 5), latest: sample(2, 7) };
  expect(parseHistory(JSON.stringify(history))).toEqual(history);
  expect(parseHistory(JSON.stringify({ latest: sample(2) }))).toEqual({ latest: sample(2) });
  for (const text of [undefined, "", "{", "null", "{}", '{"latest":{"at":1,"total":2,"tables":{"a":"b"}}}'])
    expect(parseHistory(text)).toBeUndefined();
  // Not a valid date, so the page could not show it.
  expect(parseHistory(JSON.stringify({ base: sample(1e300), latest: sample(2) }))).toBeUndefined();
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseHistory(text)).toBeUndefined();
    }),
  );
});

test("tables are sorted by size, each with its growth", () => {
  const now: SizeSample = { at: 2, total: 30, tables: { a: 0, b: 10, c: 10, d: 20 } };
  const before: SizeSample = { at: 1, total: 25, tables: { b: 10, c: 15 } };
  expect(tableSizes(now, before)).toEqual([
    { name: "d", size: 20, growth: 20 },
    { name: "b", size: 10, growth: 0 },
    { name: "c", size: 10, growth: -5 },
    { name: "a", size: 0, growth: 0 },
  ]);
  expect(tableSizes(now, undefined)[0]).toEqual({ name: "d", size: 20, growth: undefined });
  expect([1_234_567, -4096, 0].map(growthText)).toEqual(["+1.23 MB", "−4.1 kB", "unchanged"]);
});
