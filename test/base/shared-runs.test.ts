import { expect, test } from "bun:test";
import { SharedRuns } from "../../src/base/concurrency.ts";

/** A run that ends when the test says so. */
function controlled() {
  const started: Array<PromiseWithResolvers<void>> = [];
  const run = () => {
    const one = Promise.withResolvers<void>();
    started.push(one);
    return one.promise;
  };
  return { started, run };
}

test("those who ask while one runs share the next one", async () => {
  const shared = new SharedRuns();
  const { started, run } = controlled();
  const first = shared.next("a", run);
  await Bun.sleep(0);
  const later = [shared.next("a", run), shared.next("a", run), shared.next("a", run)];
  expect(started).toHaveLength(1);
  started[0]?.resolve();
  await first;
  await Bun.sleep(0);
  expect(started).toHaveLength(2);
  // This one asked after the second began, so the second does not cover it.
  const last = shared.next("a", run);
  started[1]?.resolve();
  await Promise.all(later);
  await Bun.sleep(0);
  expect(started).toHaveLength(3);
  started[2]?.resolve();
  await last;
});

test("keys do not wait for each other", async () => {
  const shared = new SharedRuns();
  const { started, run } = controlled();
  const both = [shared.next("a", run), shared.next("b", run)];
  await Bun.sleep(0);
  expect(started).toHaveLength(2);
  for (const one of started) one.resolve();
  await Promise.all(both);
});

test("those who ask in one turn of the event loop share one run", async () => {
  const shared = new SharedRuns();
  const { started, run } = controlled();
  const all = [shared.next("a", run), shared.next("a", run)];
  await Bun.sleep(0);
  expect(started).toHaveLength(1);
  started[0]?.resolve();
  await Promise.all(all);
});

test("those who join share the run under way", async () => {
  const shared = new SharedRuns();
  const { started, run } = controlled();
  const first = [shared.join("a", run), shared.join("a", run)];
  expect(started).toHaveLength(1);
  started[0]?.resolve();
  await Promise.all(first);
  const second = shared.join("a", run);
  expect(started).toHaveLength(2);
  started[1]?.resolve();
  await second;
});

test("a failed run fails everybody who shares it, and nobody else", async () => {
  const shared = new SharedRuns();
  const { started, run } = controlled();
  const first = shared.next("a", run);
  await Bun.sleep(0);
  const sharers = Promise.allSettled([shared.next("a", run), shared.next("a", run)]);
  started[0]?.reject(new Error("EIO"));
  await expect(first).rejects.toThrow("EIO");
  await Bun.sleep(0);
  started[1]?.resolve();
  expect((await sharers).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
});
