import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { openTail, tailCapacity } from "../../src/log/tail.ts";

interface Tail {
  readonly stop: AbortController;
  next(): Promise<IteratorResult<LogEntry, void>>;
  /** The messages of the next `count` entries. */
  messages(count: number): Promise<string[]>;
}

function tail(hub: LogHub, filter: string): Tail {
  const stop = new AbortController();
  const reader = openTail(hub, parseFilter(filter), stop.signal)[Symbol.asyncIterator]();
  return {
    stop,
    next: () => reader.next(),
    async messages(count) {
      const messages: string[] = [];
      while (messages.length < count) {
        const { value } = await reader.next();
        messages.push(value?.message ?? "the end");
      }
      return messages;
    },
  };
}

test("a tail hears what its filter lets through, from now on", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  log.info("before");
  const { messages } = tail(hub, "info,token=off");
  log.info("first");
  log.debug("too small");
  hub.logger("token").error("silenced");
  log.warn("second");
  expect(await messages(2)).toEqual(["first", "second"]);
});

test("a waiting reader is woken by the next event", async () => {
  const hub = new LogHub();
  const reader = tail(hub, "info");
  const next = reader.next();
  await Bun.sleep(2);
  hub.logger("server").info("now");
  expect((await next).value?.message).toBe("now");
});

test("a slow reader keeps the first 512 events; of the rest the next event that gets through tells the count", async () => {
  expect(tailCapacity).toBe(512);
  const hub = new LogHub();
  const log = hub.logger("server");
  const reader = tail(hub, "info");
  for (let i = 1; i <= 520; i += 1) log.info(`event ${i}`);
  expect(await reader.messages(512)).toEqual(Array.from({ length: 512 }, (_, i) => `event ${i + 1}`));
  log.info("through");
  const told = (await reader.next()).value;
  expect(told).toMatchObject({ level: "WARN", target: "server", fields: { dropped: 8 }, spans: [] });
  expect(told?.message).toContain("8 log events were dropped");
  expect(Object.keys(told ?? {})).toEqual(["timestamp", "level", "target", "message", "fields", "spans"]);
  log.info("after");
  expect(await reader.messages(2)).toEqual(["through", "after"]);
});

test("each gap is counted for itself and told where it was", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  const reader = tail(hub, "info");
  for (let i = 0; i < 512 + 3; i += 1) log.info("x");
  await reader.next();
  log.info("fits again");
  for (let i = 0; i < 2; i += 1) log.info("x");
  await reader.messages(511);
  const counts = [];
  counts.push((await reader.next()).value?.fields.dropped);
  expect(await reader.messages(1)).toEqual(["fits again"]);
  log.info("end");
  counts.push((await reader.next()).value?.fields.dropped);
  expect(await reader.messages(1)).toEqual(["end"]);
  expect(counts).toEqual([3, 2]);
});

test("a slow reader takes nothing from another one, and nothing from the writer", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  const slow = tail(hub, "info");
  const quick = tail(hub, "info");
  for (let i = 1; i <= 1000; i += 1) {
    log.info(`event ${i}`);
    expect((await quick.next()).value?.message).toBe(`event ${i}`);
  }
  expect(await slow.messages(2)).toEqual(["event 1", "event 2"]);
});

test("stopping ends the reader, and the hub forgets it", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  const reader = tail(hub, "trace");
  log.info("heard");
  expect(await reader.messages(1)).toEqual(["heard"]);
  const end = reader.next();
  reader.stop.abort();
  expect(await end).toEqual({ done: true, value: undefined });
  expect(log.wants("ERROR")).toBe(false);
});
