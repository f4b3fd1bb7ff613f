import { expect, test } from "bun:test";
import { Shared } from "../../src/base/shared.ts";

test("a thing nobody uses can be closed at once", async () => {
  const shared = new Shared("database");
  shared.enter();
  shared.leave();
  await shared.unused(60_000);
  expect(shared.value).toBe("database");
});

test("a thing in use is closed only after its last user left", async () => {
  const shared = new Shared("database");
  shared.enter();
  shared.enter();
  let closable = false;
  const waiting = shared.unused(60_000).then(() => {
    closable = true;
  });
  shared.leave();
  await Bun.sleep(5);
  expect(closable).toBe(false);
  shared.leave();
  await waiting;
  expect(closable).toBe(true);
});

test("several who wait for the last user are all told", async () => {
  const shared = new Shared(1);
  shared.enter();
  const waiting = Promise.all([shared.unused(60_000), shared.unused(60_000)]);
  shared.leave();
  await waiting;
});

test("patience with a user that never leaves ends", async () => {
  const shared = new Shared(1);
  shared.enter();
  await shared.unused(10);
});
