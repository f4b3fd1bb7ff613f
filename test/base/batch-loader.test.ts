import { expect, test } from "bun:test";
import { BatchLoader } from "../../src/base/concurrency.ts";

/** A loader whose loads end when the test says so. */
function heldLoader() {
  const loads: Array<{ readonly keys: string[] } & PromiseWithResolvers<ReadonlyMap<string, string>>> = [];
  const loader = new BatchLoader<string, string>((keys) => {
    const load = Promise.withResolvers<ReadonlyMap<string, string>>();
    loads.push({ keys: [...keys], ...load });
    return load.promise;
  });
  /** Ends the load with the value `<key><mark>` for each of its keys. */
  const finish = (at: number, mark: string) =>
    loads[at]?.resolve(new Map(loads[at].keys.map((key) => [key, key + mark])));
  return { loader, loads, finish, turn: () => new Promise((resolve) => setImmediate(resolve)) };
}

test("keys that are asked for while a load runs, its own among them, are loaded together by the next one", async () => {
  const { loader, loads, finish, turn } = heldLoader();
  const first = loader.load("a");
  await turn();
  const more = ["b", "c", "b", "a"].map((key) => loader.load(key));
  await turn();
  expect(loads.map(({ keys }) => keys)).toEqual([["a"]]);
  finish(0, "1");
  await turn();
  expect(loads.map(({ keys }) => keys)).toEqual([["a"], ["b", "c", "a"]]);
  finish(1, "2");
  expect(await Promise.all([first, ...more])).toEqual(["a1", "b2", "c2", "b2", "a2"]);
});

test("callers that wait behind a load that fails get its error, and the next one loads again", async () => {
  const { loader, loads, finish, turn } = heldLoader();
  const failing = [loader.load("a")];
  await turn();
  failing.push(loader.load("b"));
  loads[0]?.reject(new Error("away"));
  const results = await Promise.allSettled(failing);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const again = loader.load("b");
  await turn();
  finish(1, "2");
  expect(await again).toBe("b2");
  expect(loads).toHaveLength(2);
});

test("a key without a value is undefined", async () => {
  const loader = new BatchLoader<string, string>(async () => new Map());
  expect(await loader.load("a")).toBeUndefined();
});
