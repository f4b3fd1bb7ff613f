import { expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEntry, LogEvent } from "../../src/client/index.ts";
import { indexOfId, LogRows, lineText, type Row } from "../../src/console/pages/logs/model.ts";
import "./texts.ts";

const entry = (message: string, more: Partial<LogEntry> = {}): LogEntry => ({
  timestamp: "2026-11-15T08:41:12.034+00:00",
  level: "INFO",
  target: "task",
  message,
  fields: {},
  spans: [],
  ...more,
});
const entries = (...messages: string[]): LogEvent => ({
  kind: "entries",
  entries: messages.map((message) => entry(message)),
});
const said = (row: Row) => (row.kind === "entry" ? row.entry.message : lineText(row));

test("of the log the newest rows are kept, and ids grow", () => {
  const rows = new LogRows(3);
  rows.add(entries("a", "b"));
  expect([rows.waiting, rows.shown]).toEqual([2, []]);
  rows.show();
  rows.add(entries("c", "d"));
  rows.show();
  expect(rows.shown.map(said)).toEqual(["b", "c", "d"]);
  expect([rows.waiting, rows.shown.map(({ id }) => id)]).toEqual([0, [2, 3, 4]]);
});

test("what waits for long is counted, and the newest of it are kept", () => {
  const rows = new LogRows(10);
  rows.add(entries("seen"));
  rows.show();
  for (let n = 1; n <= 30; n += 1) rows.add(entries(`n ${n}`));
  expect(rows.waiting).toBe(30);
  rows.show();
  expect(rows.shown.map(said)).toEqual(Array.from({ length: 10 }, (_, at) => `n ${at + 21}`));
  expect(rows.waiting).toBe(0);
});

test("a drop by the server is one row with the server's word about it", () => {
  const rows = new LogRows();
  rows.add({ kind: "missed", count: 7, by: "server" });
  rows.add(entries("7 log events were dropped", "next"));
  rows.add({ kind: "missed", count: 1, by: "client" });
  rows.add({ kind: "gap", after: undefined, before: undefined });
  rows.show();
  expect(rows.shown.map(({ kind }) => kind)).toEqual(["missed", "entry", "missed", "gap"]);
  expect(rows.shown.map(said)).toEqual([
    "7 entries missing here: dropped by the server, because this page reads too slowly",
    "next",
    "1 entry missing here: they arrived faster than this page could show them",
    "Entries may be missing: the connection was lost",
  ]);
});

test("however entries come and are shown, the newest are shown in a row", () => {
  const step = fc.option(fc.nat({ max: 30 }), { nil: "show" as const });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const rows = new LogRows(20);
      let written = 0;
      for (const next of [...steps, "show" as const]) {
        if (next === "show") rows.show();
        else for (let count = 0; count < next; count += 1) rows.add(entries(String(++written)));
      }
      const length = Math.min(written, 20);
      const newest = Array.from({ length }, (_, at) => String(written - length + 1 + at));
      expect(rows.shown.map(said)).toEqual(newest);
      expect(rows.shown.map(({ id }) => indexOfId(rows.shown, id))).toEqual(newest.map((_, at) => at));
    }),
  );
});

test("a line of the log says when, how bad, whence, within what, what, and with which fields", () => {
  const full = entry("done", {
    spans: [
      { name: "token::get", fields: "key=a" },
      { name: "inner", fields: "" },
    ],
    fields: { n: 1, text: "two words", deep: { a: [null] } },
  });
  const line = lineText({ id: 1, kind: "entry", entry: full });
  expect(line).toMatch(
    /^\d\d-\d\d \d\d:\d\d:\d\d\.034 INFO task token::get\{key=a\} inner done n=1 text=two words deep=\{"a":\[null\]\}$/,
  );
});
