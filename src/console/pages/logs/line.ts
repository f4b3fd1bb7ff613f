import { time } from "../../format.ts";
import { t } from "../../text/text.ts";
import type { Row } from "./rows.ts";

/** Part of a line with its own style. */
export interface Segment {
  readonly kind: "time" | "level" | "target" | "span" | "message" | "fields" | "drop";
  readonly text: string;
}

/** Segments of a row in display order. */
export function segmentsOf(row: Row): readonly Segment[] {
  if (row.kind !== "entry") return [{ kind: "drop", text: gapText(row) }];
  const { timestamp, level, target, spans, message, fields } = row.entry;
  const segments: Segment[] = [
    { kind: "time", text: shortTimestamp(timestamp) },
    { kind: "level", text: level },
    { kind: "target", text: target },
    ...spans.map((span): Segment => ({ kind: "span", text: spanText(span) })),
    { kind: "message", text: message },
    { kind: "fields", text: fieldPairs(fields) },
  ];
  return segments.filter(({ text }) => text !== "");
}

/** Text of a row, as the search sees it: the segments separated by spaces. */
export function lineText(row: Row): string {
  // Not cached: it follows the language.
  if (row.kind !== "entry") return gapText(row);
  let line = lines.get(row);
  if (line === undefined) {
    line = segmentsOf(row)
      .map(({ text }) => text)
      .join(" ");
    lines.set(row, line);
  }
  return line;
}

/** Cache: the search needs the same lines again with every typed character. */
const lines = new WeakMap<Row, string>();

/** `1 entry`, `50,000 entries`. */
export function entryCount(count: number): string {
  return t.frame.countEntries(count);
}

/** Time with milliseconds, in the browser's time zone. */
export function preciseTime(timestamp: string): string {
  const at = new Date(timestamp);
  return `${time(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function spanText({ name, fields }: { readonly name: string; readonly fields: string }): string {
  return fields === "" ? name : `${name}{${fields}}`;
}

export function fieldText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `name=value` of every field. */
export function fieldPairs(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${fieldText(value)}`)
    .join(" ");
}

function gapText(row: Exclude<Row, { kind: "entry" }>): string {
  if (row.kind === "missed") return t.logs.missing(entryCount(row.count), reasons[row.by]);
  const { after, before } = row;
  return t.logs.gap({
    after: after && shortTimestamp(after),
    before: before && shortTimestamp(before),
  });
}

const reasons = {
  get server() {
    return t.logs.byServer;
  },
  get client() {
    return t.logs.byClient;
  },
};

/** `11-15 08:41:12.345`: the time without the year. */
function shortTimestamp(timestamp: string): string {
  return preciseTime(timestamp).slice("2026-".length);
}
