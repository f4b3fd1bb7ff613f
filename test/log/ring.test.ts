import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogRing } from "../../src/log/ring.ts";
import { configText, testNode } from "../support/node.ts";

const info = parseFilter("info");

function entry(message: string): LogEntry {
  return { timestamp: "", level: "INFO", target: "server", message, fields: {}, spans: [] };
}

function fill(ring: LogRing, ...messages: string[]): void {
  for (const message of messages) ring.write(entry(message));
}

const messagesOf = (ring: LogRing) => ring.entries().map(({ message }) => message);

test("a ring shows its entries oldest first, and drops the oldest when it is full", () => {
  const ring = new LogRing(3, info);
  expect(messagesOf(ring)).toEqual([]);
  fill(ring, "1", "2");
  expect(messagesOf(ring)).toEqual(["1", "2"]);
  fill(ring, "3", "4", "5");
  expect(messagesOf(ring)).toEqual(["3", "4", "5"]);
});

test("a smaller ring keeps the newest entries, a larger one keeps all and makes room", () => {
  const ring = new LogRing(4, info);
  fill(ring, "1", "2", "3", "4", "5", "6");
  ring.resize(2, info);
  expect(messagesOf(ring)).toEqual(["5", "6"]);
  ring.resize(4, info);
  fill(ring, "7");
  expect(messagesOf(ring)).toEqual(["5", "6", "7"]);
  fill(ring, "8", "9");
  expect(messagesOf(ring)).toEqual(["6", "7", "8", "9"]);
});

test("a ring of capacity 0 keeps nothing", () => {
  const ring = new LogRing(0, info);
  fill(ring, "1");
  expect(messagesOf(ring)).toEqual([]);
  ring.resize(1, info);
  fill(ring, "2");
  ring.resize(0, info);
  fill(ring, "3");
  expect(messagesOf(ring)).toEqual([]);
});

test("what a reader was given does not change under it", () => {
  const ring = new LogRing(2, info);
  fill(ring, "1", "2");
  const seen = ring.entries();
  fill(ring, "3");
  expect(seen.map(({ message }) => message)).toEqual(["1", "2"]);
});

test("after any writes and resizes a ring holds the newest of what was kept before, in order", () => {
  const step = fc.oneof(fc.constant("write" as const), fc.integer({ min: 0, max: 6 }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 6 }), fc.array(step, { maxLength: 60 }), (start, steps) => {
      const ring = new LogRing(start, info);
      let capacity = start;
      let kept: string[] = [];
      steps.forEach((step, at) => {
        if (step === "write") {
          fill(ring, String(at));
          kept.push(String(at));
        } else {
          capacity = step;
          ring.resize(step, info);
        }
        kept = capacity === 0 ? [] : kept.slice(-capacity);
        expect(messagesOf(ring)).toEqual(kept);
      });
    }),
  );
});

test("memory_log_capacity and memory_log_filter rule the server's ring, and a reload keeps the newest entries", async () => {
  const logging = (capacity: number) => `memory_log_filter = "token"\nmemory_log_capacity = ${capacity}\n`;
  await using node = await testNode({ logging: logging(3) });
  for (const name of ["a", "b", "c", "d"]) await node.refused("token_get", { token: `${name}:wrong` });
  const keys = () => node.node.ring.entries().map(({ fields }) => fields.token_key);
  expect(keys()).toEqual(["b", "c", "d"]);
  await writeFile(node.configPath, configText(node.databaseUrl, { logging: logging(2) }));
  expect(await node.node.reload()).toBe("applied");
  expect(keys()).toEqual(["c", "d"]);
  await node.refused("token_get", { token: "e:wrong" });
  expect(keys()).toEqual(["d", "e"]);
});
