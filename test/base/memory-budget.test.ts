import { expect, test } from "bun:test";
import { MemoryBudget, uncountedBytes } from "../../src/base/memory-budget.ts";

const limit = 8_000_000;
const budget = () => new MemoryBudget(() => limit);

test("an ordinary call and its answer are not counted, whatever is", () => {
  const memory = budget();
  const full = memory.open("known");
  full.prove();
  expect(full.hold(limit + uncountedBytes)).toBe(true);
  expect(memory.open("other").hold(uncountedBytes)).toBe(true);
  expect(memory.open("other").hold(uncountedBytes + 1)).toBe(false);
});

test("strangers of one address share a quarter, all strangers half, proven callers the whole", () => {
  const memory = budget();
  const take = (address: string, part: number) => memory.open(address).hold(part * limit + uncountedBytes);
  expect([take("a", 0.2), take("a", 0.1), take("b", 0.25), take("c", 0.1)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(take("c", 0.04)).toBe(true);
  const proven = memory.open("a");
  proven.prove();
  expect([proven.hold(0.6 * limit), proven.hold(0.5 * limit)]).toEqual([false, true]);
});

test("a stranger that proves a token keeps what it holds, and others get its share", () => {
  const memory = budget();
  const caller = memory.open("a");
  expect(caller.hold(limit / 4 + uncountedBytes)).toBe(true);
  expect(memory.open("a").hold(limit / 8 + uncountedBytes)).toBe(false);
  caller.prove();
  caller.prove();
  expect(memory.held).toBe(limit / 4);
  expect(memory.open("a").hold(limit / 8 + uncountedBytes)).toBe(true);
  expect(caller.hold(limit / 2 + uncountedBytes)).toBe(true);
});

test("whatever was held in whichever order, everything is given back at the end", () => {
  const memory = budget();
  const accounts = Array.from({ length: 40 }, (_, at) => memory.open(`address ${at % 7}`));
  for (let step = 0; step < 2000; step += 1) {
    const account = accounts[(step * 7919) % accounts.length];
    account?.hold((step * 104_729) % 900_000);
    if (step % 97 === 0) account?.prove();
  }
  expect(memory.held).toBeGreaterThan(0);
  for (const account of accounts) account[Symbol.dispose]();
  for (const account of accounts) account[Symbol.dispose]();
  expect(memory.held).toBe(0);
  expect(memory.open("address 0").hold(limit / 4)).toBe(true);
});

test("what is not a number of bytes is refused loudly, and changes nothing", () => {
  const budget = new MemoryBudget(() => limit);
  const account = budget.open("a");
  for (const bytes of [Number.NaN, Number.POSITIVE_INFINITY, 1.5, -1, 2 ** 60]) {
    expect(() => account.hold(bytes)).toThrow(RangeError);
    expect(budget.held).toBe(0);
  }
});
