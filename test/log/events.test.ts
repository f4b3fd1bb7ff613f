import { expect, test } from "bun:test";
import { eventOf, type LogEntry as ReadEntry, serverEvents } from "../../src/client/index.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { events, hiddenOnTerminal } from "../../src/log/events.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { formatLine } from "../../src/log/terminal.ts";
import { pageText } from "../support/documented.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

function collect(hub: LogHub, filter: string): LogEntry[] {
  const entries: LogEntry[] = [];
  hub.attach({ filter: parseFilter(filter), write: (entry) => void entries.push(entry) });
  return entries;
}

test("an event has the level of the table and its code among the fields, and a filter decides about it", () => {
  const hub = new LogHub();
  const [all, errors] = [collect(hub, "info"), collect(hub, "error")];
  const log = hub.logger("server");
  log.event("config.unchanged", "nothing changed", { path: "config.toml" });
  log.event("database.write_failed", "no writes", { reason: "full" });
  expect(all).toMatchObject([
    { level: "INFO", message: "nothing changed", fields: { event: "config.unchanged", path: "config.toml" } },
    { level: "ERROR", message: "no writes", fields: { event: "database.write_failed", reason: "full" } },
  ]);
  expect(errors).toEqual(all.slice(1));
});

test("only codes of the table with their own fields can be logged", () => {
  const hub = new LogHub();
  const log = hub.logger("server");
  // @ts-expect-error: no such code; `npm run check` fails if this compiles.
  expect(() => log.event("config.eaten", "by the dog", {})).toThrow();
  // @ts-expect-error: a field is missing.
  log.event("listener.bound", "listening", { url: "http://127.0.0.1:1" });
  // @ts-expect-error: a code goes through `event`, which knows its fields.
  log.info("listening", { event: "listener.bound" });
});

test("a terminal leaves out what the message says, and the code with it, unless operators search for it", () => {
  const hub = new LogHub();
  const entries = collect(hub, "info");
  const log = hub.logger("server");
  log.event("listener.bound", "listening on http://127.0.0.1:1", {
    url: "http://127.0.0.1:1",
    transport: "tcp",
  });
  log.event("database.restored", "it is back", { database: "node.db", lost_ms: 5 });
  const [bound = "", restored = ""] = entries.map((entry) => formatLine(entry, false));
  expect(bound).toEndWith("INFO server: listening on http://127.0.0.1:1");
  expect(restored).toEndWith("it is back event=database.restored database=node.db lost_ms=5");
});

test("a terminal shows the code of every event that the operators' pages tell them to look for", () => {
  const guide = ["operate.md", "monitor.md", "storage.md", "cluster.md"].map(pageText).join("\n");
  const named = new Set([...guide.matchAll(/event=([a-z_.]+[a-z])/g)].map(([, code = ""]) => code));
  expect([...named]).toEqual(expect.arrayContaining(["backup.made", "backup.failed", "access_log.failed"]));
  for (const event of named) expect(hiddenOnTerminal({ event })).not.toContain("event");
});

test("the client knows the same codes, and reads them whatever the message is", () => {
  expect(Object.keys(serverEvents)).toEqual(Object.keys(events));
  const fields = { event: "listener.bound", url: "http://127.0.0.1:1", transport: "tcp" };
  const event = eventOf({ fields });
  expect(event?.event === "listener.bound" && event.url).toBe("http://127.0.0.1:1");
  expect(eventOf({ fields: { event: "of.tomorrow" } })).toBeUndefined();
  expect(eventOf({ fields: { event: "toString" } })).toBeUndefined();
  expect(eventOf({ fields: {} })).toBeUndefined();
});

test("a start, a reload and a refused reload are events in the log of a server", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"' });
  const heard = () => node.node.ring.entries().flatMap((entry) => eventOf(entry as ReadEntry) ?? []);
  expect(heard()).toContainEqual({ event: "listener.bound", url: node.node.url, transport: "tcp" });
  expect(heard().some(({ event }) => event === "database.opened")).toBe(true);
  const { configPath } = node;
  await node.node.reload();
  expect(heard().at(-1)).toEqual({ event: "config.unchanged", path: configPath });
  const text = await Bun.file(configPath).text();
  await Bun.write(configPath, `jsonrpc_max_connections = 7\n${text}`);
  await node.node.reload();
  expect(heard().at(-1)).toEqual({
    event: "config.applied",
    path: configPath,
    parts: ["limits"],
    keys: ["jsonrpc_max_connections"],
  });
  await Bun.write(configPath, `jsonrpc_max_connections = "many"\ncolour = 1\n${text}`);
  await node.node.reload();
  const refused = await until("the refusal is told", () =>
    heard().find((event) => event.event === "config.refused"),
  );
  expect(refused.problems).toEqual([
    { file: configPath, line: 1, column: 27, field: "jsonrpc_max_connections", why: expect.any(String) },
    { file: configPath, line: 2, column: 1, field: "colour", why: expect.any(String) },
  ]);
});
