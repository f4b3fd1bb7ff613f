import { expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { RefCounted } from "../../src/base/concurrency.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("a value that nobody uses is idle at once", async () => {
  const counted = new RefCounted("database");
  counted.retain();
  counted.release();
  expect(await counted.idle(60_000, systemClock)).toBe(true);
  expect(counted.value).toBe("database");
});

test("a value in use is idle only after its last user released it", async () => {
  const counted = new RefCounted("database");
  counted.retain();
  counted.retain();
  const clock = new ManualClock();
  const idleFor = (ms: number) => clock.settle(counted.idle(ms, clock), ms);
  expect(await idleFor(1000)).toBe(false);
  counted.release();
  expect(await idleFor(1000)).toBe(false);
  counted.release();
  expect(await counted.idle(1000, clock)).toBe(true);
});

test("everyone who waits for the last user is woken", async () => {
  const counted = new RefCounted(1);
  counted.retain();
  const waiting = Promise.all([counted.idle(60_000, systemClock), counted.idle(60_000, systemClock)]);
  counted.release();
  expect(await waiting).toEqual([true, true]);
});
