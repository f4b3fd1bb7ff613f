import { expect, test } from "bun:test";
import { SharedSync } from "../../src/base/local-fs/sync.ts";

/** A sync that ends when the test says so. */
function controlled() {
  const started: Array<PromiseWithResolvers<void>> = [];
  const sync = () => {
    const one = Promise.withResolvers<void>();
    started.push(one);
    return one.promise;
  };
  return { started, sync };
}

test("those who ask while a sync runs share the next one", async () => {
  const shared = new SharedSync();
  const { started, sync } = controlled();
  const first = shared.run("a", sync);
  const later = [shared.run("a", sync), shared.run("a", sync), shared.run("a", sync)];
  expect(started).toHaveLength(1);
  started[0]?.resolve();
  await first;
  await Bun.sleep(0);
  expect(started).toHaveLength(2);
  // This one asked after the second began, so the second does not cover it.
  const last = shared.run("a", sync);
  started[1]?.resolve();
  await Promise.all(later);
  await Bun.sleep(0);
  expect(started).toHaveLength(3);
  started[2]?.resolve();
  await last;
});

test("keys do not wait for each other", async () => {
  const shared = new SharedSync();
  const { started, sync } = controlled();
  const both = [shared.run("a", sync), shared.run("b", sync)];
  expect(started).toHaveLength(2);
  for (const one of started) one.resolve();
  await Promise.all(both);
});

test("a failed sync fails everybody who shares it, and nobody else", async () => {
  const shared = new SharedSync();
  const { started, sync } = controlled();
  const first = shared.run("a", sync);
  const sharers = Promise.allSettled([shared.run("a", sync), shared.run("a", sync)]);
  started[0]?.reject(new Error("EIO"));
  await expect(first).rejects.toThrow("EIO");
  await Bun.sleep(0);
  started[1]?.resolve();
  expect((await sharers).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
});
