import { expect, test } from "bun:test";
import fc from "fast-check";
import { afterLook, type Look, type Looks, parseLooks } from "../../src/console/pages/overview/last-look.ts";
import { growthText, tableSizes } from "../../src/console/pages/overview/storage.ts";

const minute = 60_000;
const look = (at: number, total = 0): Look => ({ at, total, tables: { token: total } });

test("growth is since the last look of the sitting before, however often one looks in this one", () => {
  let looks: Looks | undefined;
  const base = (at: number) => {
    looks = afterLook(looks, look(at));
    return looks.base?.at;
  };
  expect(base(0)).toBeUndefined();
  expect([base(1 * minute), base(20 * minute), base(45 * minute)]).toEqual([0, 0, 0]);
  expect([base(200 * minute), base(201 * minute)]).toEqual([45 * minute, 45 * minute]);
});

test("what was kept of the looks is read again, and anything else is nothing", () => {
  const looks = { base: look(1, 5), latest: look(2, 7) };
  expect(parseLooks(JSON.stringify(looks))).toEqual(looks);
  expect(parseLooks(JSON.stringify({ latest: look(2) }))).toEqual({ latest: look(2) });
  for (const text of [undefined, "", "{", "null", "{}", '{"latest":{"at":1,"total":2,"tables":{"a":"b"}}}'])
    expect(parseLooks(text)).toBeUndefined();
  // No date, so that the page could not show it.
  expect(parseLooks(JSON.stringify({ base: look(1e300), latest: look(2) }))).toBeUndefined();
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseLooks(text)).toBeUndefined();
    }),
  );
});

test("tables stand by size, with what each has grown", () => {
  const now: Look = { at: 2, total: 30, tables: { a: 0, b: 10, c: 10, d: 20 } };
  const before: Look = { at: 1, total: 25, tables: { b: 10, c: 15 } };
  expect(tableSizes(now, before)).toEqual([
    { name: "d", size: 20, growth: 20 },
    { name: "b", size: 10, growth: 0 },
    { name: "c", size: 10, growth: -5 },
    { name: "a", size: 0, growth: 0 },
  ]);
  expect(tableSizes(now, undefined)[0]).toEqual({ name: "d", size: 20, growth: undefined });
  expect([1_234_567, -4096, 0].map(growthText)).toEqual(["+1.23 MB", "−4.1 kB", "unchanged"]);
});
