import { expect, test } from "bun:test";
import { DropNotice } from "../../src/base/mailbox.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { openTail, tailCapacity } from "../../src/log/tail.ts";

interface Tail {
  readonly stop: AbortController;
  next(): Promise<IteratorResult<LogEntry | DropNotice, void>>;
  /** The next one, which must be an entry. */
  entry(): Promise<LogEntry>;
  /** The messages of the next `count` entries. */
  messages(count: number): Promise<string[]>;
}

function tail(hub: LogHub, filter: string): Tail {
  const stop = new AbortController();
  const reader = openTail(hub, parseFilter(filter), stop.signal)[Symbol.asyncIterator]();
  const entry = async () => {
    const { value } = await reader.next();
    if (value === undefined || value instanceof DropNotice) throw new Error("an entry should come here");
    return value;
  };
  return {
    stop,
    next: () => reader.next(),
    entry,
    async messages(count) {
      const messages: string[] = [];
      while (messages.length < count) messages.push((await entry()).message);
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
  const next = reader.entry();
  await Bun.sleep(2);
  hub.logger("server").info("now");
  expect((await next).message).toBe("now");
});

test("a slow reader keeps the first 512 events; of the rest the next event that gets through tells the count", async () => {
  expect(tailCapacity).toBe(512);
  const hub = new LogHub();
  const log = hub.logger("server");
  const reader = tail(hub, "info");
  for (let i = 1; i <= 520; i += 1) log.info(`event ${i}`);
  expect(await reader.messages(512)).toEqual(Array.from({ length: 512 }, (_, i) => `event ${i + 1}`));
  log.info("through");
  expect((await reader.next()).value).toEqual(new DropNotice(8));
  const told = await reader.entry();
  const fields = { event: "log.dropped", dropped: 8 };
  expect(told).toMatchObject({ level: "WARN", target: "server", fields, spans: [] });
  expect(Object.keys(told)).toEqual(["timestamp", "level", "target", "message", "fields", "spans"]);
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
  counts.push((await reader.next()).value, (await reader.entry()).fields.dropped);
  expect(await reader.messages(1)).toEqual(["fits again"]);
  log.info("end");
  counts.push((await reader.next()).value, (await reader.entry()).fields.dropped);
  expect(await reader.messages(1)).toEqual(["end"]);
  expect(counts).toEqual([new DropNotice(3), 3, new DropNotice(2), 2]);
});

test("a slow reader takes nothing from another one, and nothing from the writer", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  const slow = tail(hub, "info");
  const quick = tail(hub, "info");
  for (let i = 1; i <= 1000; i += 1) {
    log.info(`event ${i}`);
    expect((await quick.entry()).message).toBe(`event ${i}`);
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

test("what a reader takes without waiting is the same, gaps included, and nothing after the end", async () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  const stop = new AbortController();
  const queue = openTail(hub, parseFilter("info"), stop.signal);
  const takeAll = () => {
    const taken: unknown[] = [];
    for (let item = queue.take(); item !== undefined; item = queue.take())
      taken.push(item instanceof DropNotice ? item.count : (item.fields.dropped ?? item.message));
    return taken;
  };
  expect(takeAll()).toEqual([]);
  for (let i = 1; i <= 515; i += 1) log.info(`event ${i}`);
  await queue.arrival();
  // What was dropped last is reported although no event follows.
  const first = Array.from({ length: 512 }, (_, i) => `event ${i + 1}`);
  expect(takeAll()).toEqual([...first, 3, 3]);
  const arrival = queue.arrival();
  log.info("through");
  await arrival;
  expect(takeAll()).toEqual(["through"]);
  log.info("not taken");
  stop.abort();
  await queue.arrival();
  expect(queue.isClosed).toBe(true);
  expect(takeAll()).toEqual([]);
});
