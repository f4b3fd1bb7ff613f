import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { formatTimestamp } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { inSpan } from "../../src/log/span.ts";

/** A sink that keeps what it is given. */
function collect(hub: LogHub, filter: string): { entries: LogEntry[]; detach: () => void } {
  const entries: LogEntry[] = [];
  const detach = hub.attach({ filter: parseFilter(filter), write: (entry) => void entries.push(entry) });
  return { entries, detach };
}

/** Fields that count how often they are looked at. */
function watched(): { fields: Record<string, unknown>; looks: () => number } {
  let looks = 0;
  const fields = {
    get value() {
      looks += 1;
      return "text";
    },
  };
  return { fields, looks: () => looks };
}

test("an entry always has all six members", () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "trace");
  const before = Date.now();
  hub.logger("server").info("ready");
  const [entry] = entries;
  expect(Object.keys(entry ?? {})).toEqual(["timestamp", "level", "target", "message", "fields", "spans"]);
  expect(entry).toMatchObject({ level: "INFO", target: "server", message: "ready", fields: {}, spans: [] });
  expect(entry?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
  const at = Date.parse(entry?.timestamp ?? "");
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
});

test("every level has its voice", () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "trace");
  const log = hub.logger("server");
  for (const level of ["error", "warn", "info", "debug", "trace"] as const) log[level](level, { n: 1 });
  expect(entries.map(({ level, message, fields }) => [level, message, fields])).toEqual([
    ["ERROR", "error", { n: 1 }],
    ["WARN", "warn", { n: 1 }],
    ["INFO", "info", { n: 1 }],
    ["DEBUG", "debug", { n: 1 }],
    ["TRACE", "trace", { n: 1 }],
  ]);
});

test("an event that nobody wants is not even looked at", () => {
  const hub = new LogHub();
  const { entries, detach } = collect(hub, "info,token=off");
  const { fields, looks } = watched();
  hub.logger("server").debug("detail", fields);
  hub.logger("token").error("silenced", fields);
  expect(hub.logger("server").wants("DEBUG")).toBe(false);
  expect({ entries, looks: looks() }).toEqual({ entries: [], looks: 0 });
  hub.logger("server").info("wanted", fields);
  expect(looks()).toBeGreaterThan(0);
  detach();
  const seen = looks();
  hub.logger("server").error("nobody is left", fields);
  expect(looks()).toBe(seen);
  expect(entries).toHaveLength(1);
});

test("an event that several want is built once, and each hears only what its filter lets through", () => {
  const hub = new LogHub();
  const all = collect(hub, "trace");
  const some = collect(hub, "warn");
  const log = hub.logger("rpc");
  log.debug("small");
  log.warn("big");
  expect(all.entries.map(({ message }) => message)).toEqual(["small", "big"]);
  expect(some.entries.map(({ message }) => message)).toEqual(["big"]);
  expect(some.entries[0]).toBe(all.entries[1] as LogEntry);
});

test("a sink that comes or goes changes what a logger of long ago tells", () => {
  const hub = new LogHub();
  const log = hub.logger("rpc");
  expect(log.wants("ERROR")).toBe(false);
  const { entries, detach } = collect(hub, "rpc=trace");
  expect(log.wants("TRACE")).toBe(true);
  log.trace("heard");
  detach();
  log.error("not heard");
  expect(log.wants("ERROR")).toBe(false);
  expect(entries.map(({ message }) => message)).toEqual(["heard"]);
});

test("one of two equal sinks leaves, the other goes on", () => {
  const hub = new LogHub();
  const one = collect(hub, "info");
  const two = collect(hub, "info");
  one.detach();
  hub.logger("server").info("still here");
  expect([one.entries.length, two.entries.length]).toEqual([0, 1]);
});

test("the database libraries' targets are shown as db", () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "db=trace");
  hub.logger("sqlx").trace("SELECT 1");
  hub.logger("sea_orm_migration").info("applied");
  hub.logger("server").error("other");
  expect(entries.map(({ target }) => target)).toEqual(["db", "db"]);
});

test("spans are listed outermost first, each with its key=value pairs", async () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "info");
  const about: Record<string, unknown> = {};
  await inSpan("outer", { token_key: "k", n: 1, none: undefined, list: [1, 2] }, async () => {
    await Bun.sleep(1);
    await inSpan("inner", about, async () => {
      about.username = "an na";
      about.path = 'a="b"';
      await Bun.sleep(1);
      hub.logger("server").info("deep");
    });
    hub.logger("server").info("shallow");
  });
  hub.logger("server").info("outside");
  const outer = { name: "outer", fields: "token_key=k n=1 list=[1,2]" };
  expect(entries.map(({ spans }) => spans)).toEqual([
    [outer, { name: "inner", fields: 'username="an na" path="a=\\"b\\""' }],
    [outer],
    [],
  ]);
});

test("spans of work that runs at the same time do not mix", async () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "info");
  const work = (name: string, ms: number) =>
    inSpan(name, {}, async () => {
      await Bun.sleep(ms);
      hub.logger("server").info(name);
    });
  await Promise.all([work("slow", 10), work("fast", 1), work("middle", 5)]);
  expect(entries).toHaveLength(3);
  for (const { message, spans } of entries) expect(spans).toEqual([{ name: message, fields: "" }]);
});

test("long texts are cut, and say how much is missing", () => {
  const hub = new LogHub();
  const { entries } = collect(hub, "info");
  const long = "x".repeat(100_000);
  inSpan("span", { long }, () => hub.logger("server").info(long, { long, short: "s", n: 5 }));
  const [entry] = entries;
  for (const text of [entry?.message, entry?.fields.long, entry?.spans[0]?.fields]) {
    expect(String(text).length).toBeLessThan(10_000);
    expect(String(text)).toMatch(/x… \(\d+ more\)$/);
  }
  expect(entry?.message).toEndWith("… (91808 more)");
  expect(entry?.fields).toMatchObject({ short: "s", n: 5 });
});

test("a timestamp is local time with milliseconds and a colon in the offset", () => {
  const at = new Date(2026, 0, 2, 3, 4, 5, 6);
  expect(formatTimestamp(at)).toStartWith("2026-01-02T03:04:05.006");
  expect(Date.parse(formatTimestamp(at))).toBe(at.getTime());
});

test.each([
  ["Asia/Kolkata", "2026-07-01T05:30:00.000+05:30"],
  ["America/St_Johns", "2026-06-30T21:30:00.000-02:30"],
  ["UTC", "2026-07-01T00:00:00.000+00:00"],
])("in %s midnight UTC reads %s", async (zone, text) => {
  const entry = new URL("../../src/log/entry.ts", import.meta.url).pathname;
  const script = `import { formatTimestamp } from ${JSON.stringify(entry)}; console.log(formatTimestamp(new Date(Date.UTC(2026, 6, 1))))`;
  const run = Bun.spawn([process.execPath, "-e", script], {
    env: { ...process.env, TZ: zone },
    stdout: "pipe",
  });
  expect((await new Response(run.stdout).text()).trim()).toBe(text);
});
