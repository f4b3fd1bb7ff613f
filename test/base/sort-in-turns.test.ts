import { expect, test } from "bun:test";
import { sortInTurns } from "../../src/base/sort-in-turns.ts";
import { randomFrom } from "../support/random.ts";

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

test("items of any number are sorted as Array.sort does it, equal ones in their order", async () => {
  const random = randomFrom("sort in turns");
  for (const count of [0, 1, 2, 2047, 2048, 2049, 4096, 10_000, 30_001]) {
    const items = Array.from({ length: count }, (_, at) => ({ key: Math.floor(random() * count * 0.7), at }));
    const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
    expect(await sortInTurns(items, byKey)).toEqual([...items].sort(byKey));
  }
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
