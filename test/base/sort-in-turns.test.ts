import { expect, test } from "bun:test";
import { sortInTurns } from "../../src/base/turns.ts";
import { randomFrom } from "../support/random.ts";

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

test("items of any number are sorted as Array.sort does it, equal ones in their order", async () => {
  const random = randomFrom("sort in turns");
  for (const count of [0, 1, 2, 255, 256, 257, 512, 10_000, 30_001]) {
    const items = Array.from({ length: count }, (_, at) => ({ key: Math.floor(random() * count * 0.7), at }));
    const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
    expect(await sortInTurns(items, byKey)).toEqual([...items].sort(byKey));
  }
});

test("items that are sorted already, or in parts, stay sorted", async () => {
  const ascending = Array.from({ length: 5000 }, (_, at) => at);
  const byNumber = (a: number, b: number) => a - b;
  const parts = [...ascending.slice(3000), ...ascending.slice(1000, 3000), ...ascending.slice(0, 1000)];
  for (const items of [ascending, parts, [...ascending, ...ascending], ascending.toReversed()])
    expect(await sortInTurns(items, byNumber)).toEqual(items.toSorted(byNumber));
  let comparisons = 0;
  await sortInTurns(ascending, (a, b) => {
    comparisons += 1;
    return a - b;
  });
  expect(comparisons).toBeLessThan(2 * ascending.length);
});

test("other work gets the event loop while many items are sorted", async () => {
  const items = Array.from({ length: 300_000 }, (_, at) => `file-${(at * 7919) % 300_000}`);
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 0);
  await sortInTurns(items, byText);
  clearInterval(counting);
  expect(turns).toBeGreaterThan(3);
});
