import { expect, test } from "bun:test";
import { MergedLog, type NodeEntry } from "../../src/cli/logs/merged-log.ts";
import type { LogEntry } from "../../src/client/index.ts";
import { until } from "../support/until.ts";

const entryAt = (ms: number, message = ""): LogEntry => ({
  timestamp: new Date(1_794_000_000_000 + ms).toISOString(),
  level: "INFO",
  target: "server",
  message,
  fields: {},
  spans: [],
});

test("nodes are not read while their entries wait for an output that is not read", async () => {
  const merged = new MergedLog();
  const stop = new AbortController();
  const written: NodeEntry[] = [];
  const unblock = Promise.withResolvers<void>();
  const running = merged.run(
    async (entries) => {
      await unblock.promise;
      written.push(...entries);
    },
    { begin: Promise.resolve(), signal: stop.signal },
  );
  let added = 0;
  const add = async () => {
    for (; added < 40; added += 1)
      await merged.add(
        "a",
        [...Array(1000).keys()].map((at) => entryAt(added * 1000 + at)),
      );
  };
  const adding = add();
  await until("the first are being written", () => added > 4);
  const before = added;
  // Were it not bounded, all of them would have been taken by now.
  await Bun.sleep(300);
  expect(added).toBeLessThanOrEqual(before + 5);
  expect(added).toBeLessThan(40);
  unblock.resolve();
  await adding;
  await until("all are written", () => written.length === 40_000);
  expect(written.map(({ entry }) => entry.timestamp)).toEqual(
    [...written].map(({ entry }) => entry.timestamp).sort(),
  );
  stop.abort();
  await running;
});

test("entries of one moment are put in the order of their times, and nothing comes before the beginning", async () => {
  const merged = new MergedLog();
  const stop = new AbortController();
  const begin = Promise.withResolvers<void>();
  const written: string[] = [];
  const running = merged.run(
    async (entries) =>
      void written.push(...entries.map(({ node, entry: { message } }) => `${node} ${message}`)),
    { begin: begin.promise, signal: stop.signal },
  );
  await merged.add("b", [entryAt(2, "two"), entryAt(4, "four")]);
  await merged.add("a", [entryAt(1, "one"), entryAt(3, "three"), entryAt(4, "four as well")]);
  expect(written).toEqual([]);
  begin.resolve();
  await until("all are written", () => written.length === 5);
  expect(written).toEqual(["a one", "b two", "a three", "b four", "a four as well"]);
  await merged.add("a", [entryAt(5, "last")]);
  stop.abort();
  await running;
  expect(written.at(-1)).toBe("a last");
});
