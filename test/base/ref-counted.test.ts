import { expect, test } from "bun:test";
import { RefCounted } from "../../src/base/ref-counted.ts";

test("a value that nobody uses is idle at once", async () => {
  const counted = new RefCounted("database");
  counted.retain();
  counted.release();
  expect(await counted.idle(60_000)).toBe(true);
  expect(counted.value).toBe("database");
});

test("a value in use is idle only after its last user released it", async () => {
  const counted = new RefCounted("database");
  counted.retain();
  counted.retain();
  expect(await counted.idle(1)).toBe(false);
  counted.release();
  expect(await counted.idle(1)).toBe(false);
  counted.release();
  expect(await counted.idle(1)).toBe(true);
});

test("everyone who waits for the last user is woken", async () => {
  const counted = new RefCounted(1);
  counted.retain();
  const waiting = Promise.all([counted.idle(60_000), counted.idle(60_000)]);
  counted.release();
  expect(await waiting).toEqual([true, true]);
});
