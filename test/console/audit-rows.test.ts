import { expect, test } from "bun:test";
import type { LogEntry, Token } from "../../src/client/index.ts";
import { auditKinds } from "../../src/console/pages/activity/audit-events.ts";
import {
  Actors,
  type AuditFilter,
  auditRows,
  kindOf,
  passesFilter,
} from "../../src/console/pages/activity/model.ts";
import { auditEvents } from "../../src/log/events.ts";

const startedAt = Date.UTC(2026, 10, 15);

function entry(second: number, fields: Record<string, unknown>): LogEntry {
  return {
    timestamp: new Date(startedAt + second * 1000).toISOString(),
    level: "INFO",
    target: "audit",
    message: "something happened",
    fields: { token_key: "k1", address: "127.0.0.1", ...fields },
    spans: [],
  };
}

const written = (second: number, path: string, more: Record<string, unknown> = {}) =>
  entry(second, { event: "file.written", bucket: "site", path, bytes: 5, ...more });

test("changes of many files by one client in a row are one row, and other changes have their own", () => {
  const rows = auditRows([
    written(0, "a"),
    written(1, "b"),
    entry(2, { event: "bucket.created", bucket: "media", settings: { cors: true } }),
    // The server's memory counts the rest of a run in one entry.
    written(3, "c", { count: 280 }),
    written(4, "other client", { address: "127.0.0.2" }),
    written(61, "a minute later"),
  ]);
  expect(rows.map((row) => [row.event?.event, row.count])).toEqual([
    ["file.written", 1],
    ["file.written", 1],
    ["bucket.created", 1],
    ["file.written", 282],
  ]);
});

test("a row of many changes has the deepest folder of all of them, if the server tells it", () => {
  const folderOf = (...entries: LogEntry[]) => auditRows(entries)[0]?.folder;
  expect(folderOf(written(0, "a/b/1"), written(1, "a/b/c/2"))).toBe("a/b");
  expect(folderOf(written(0, "a/b/1"), written(1, "a/x/2", { count: 9, folder: "a" }))).toBe("a");
  expect(folderOf(written(0, "a/b/1"), written(1, "top"))).toBe("");
  expect(folderOf(written(0, "a/b/1"), written(1, "a/b/2", { count: 9 }))).toBeUndefined();
});

test("a row keeps its key while its run grows, and no two rows have the same one", () => {
  const entries = [written(0, "a"), written(0, "b"), entry(0, { event: "config.edited" })];
  const keys = auditRows(entries).map(({ key }) => key);
  expect(new Set(keys).size).toBe(2);
  expect(auditRows([...entries, written(5, "c")]).map(({ key }) => key)).toEqual(keys);
});

test("every event of the audit has a kind, and one of a newer server has no words of the console", () => {
  for (const event of Object.keys(auditEvents)) {
    const [row] = auditRows([entry(0, { event })]);
    expect([event, row?.event?.event, row && auditKinds.includes(kindOf(row))]).toEqual([
      event,
      event as never,
      true,
    ]);
  }
  const [row] = auditRows([entry(0, { event: "moon.landed" })]);
  expect(row && [row.event, kindOf(row)]).toEqual([undefined, "server"]);
});

test("filters are combined, and words of the search may stand in any order", () => {
  const [row] = auditRows([written(0, "img/Logo.svg")]);
  if (row === undefined) throw new Error("no row");
  const passes = (filter: Partial<AuditFilter>) =>
    passesFilter(
      row,
      { kind: "", actor: "", bucket: "", text: "", ...filter },
      { actor: "k1", text: "File written img/Logo.svg" },
    );
  expect(passes({})).toBe(true);
  expect(passes({ kind: "file", actor: "k1", bucket: "site", text: "logo WRITTEN" })).toBe(true);
  for (const other of [{ kind: "token" }, { actor: "k2" }, { bucket: "media" }, { text: "logo deleted" }])
    expect([other, passes(other)]).toEqual([other, false]);
});

test("a token is the same one whether it acted by its key or by its user name", () => {
  const token = (token_key: string, username: string | null, name: string | null) =>
    ({ token_key, username, name }) as Token;
  const superToken = { ...token("super", "root", null), super: true as const };
  const actors = new Actors([superToken, token("k1", "alice", "Alice's laptop")]);
  const byName = { ...written(0, "a").fields, token_key: undefined, username: "alice" };
  const [first, second] = auditRows([written(0, "a"), { ...written(1, "b"), fields: byName }]);
  if (first === undefined || second === undefined) throw new Error("no rows");
  expect(actors.of(first)).toEqual(actors.of(second));
  expect(actors.of(first)).toMatchObject({ id: "k1", label: "Alice's laptop", exists: true, isSuper: false });
  expect(actors.byKey("super").isSuper).toBe(true);
  expect(actors.byKey("gone")).toMatchObject({ label: "gone", exists: false });
});
