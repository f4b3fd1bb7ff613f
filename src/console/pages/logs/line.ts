import { time } from "../../format.ts";
import type { Row } from "./rows.ts";

/** A part of a line, which is drawn in its own way. */
export interface Piece {
  readonly kind: "time" | "level" | "target" | "span" | "message" | "fields" | "drop";
  readonly text: string;
}

/** What a row says, in the order in which it is drawn. */
export function piecesOf(row: Row): readonly Piece[] {
  if (row.kind !== "entry") return [{ kind: "drop", text: dropInWords(row) }];
  const { timestamp, level, target, spans, message, fields } = row.entry;
  const pieces: Piece[] = [
    { kind: "time", text: shortClock(timestamp) },
    { kind: "level", text: level },
    { kind: "target", text: target },
    ...spans.map((span): Piece => ({ kind: "span", text: spanText(span) })),
    { kind: "message", text: message },
    { kind: "fields", text: pairs(fields) },
  ];
  return pieces.filter(({ text }) => text !== "");
}

/** What a search looks through: the pieces with a space between. */
export function lineOf(row: Row): string {
  let line = lines.get(row);
  if (line === undefined) {
    line = piecesOf(row)
      .map(({ text }) => text)
      .join(" ");
    lines.set(row, line);
  }
  return line;
}

/** A search asks for the same lines again with every letter. */
const lines = new WeakMap<Row, string>();

/** `1 entry`, `50,000 entries`. */
export function entries(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}`;
}

/** To the millisecond, in the time zone of the reader. */
export function clock(timestamp: string): string {
  const at = new Date(timestamp);
  return `${time(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function spanText({ name, fields }: { readonly name: string; readonly fields: string }): string {
  return fields === "" ? name : `${name}{${fields}}`;
}

export function fieldText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function pairs(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${fieldText(value)}`)
    .join(" ");
}

function dropInWords(row: Exclude<Row, { kind: "entry" }>): string {
  if (row.kind === "missed") return `${entries(row.count)} missing here: ${reasons[row.by]}`;
  const { after, before } = row;
  const since = after === undefined ? "" : ` after ${shortClock(after)}`;
  const until = before === undefined ? "" : `${since === "" ? "" : " and"} before ${shortClock(before)}`;
  return `Entries may be missing${since}${until}: the connection broke`;
}

const reasons = {
  server: "dropped by the server, because this page reads too slowly",
  client: "they came faster than this page could show them",
};

/** Without the year. */
function shortClock(timestamp: string): string {
  return clock(timestamp).slice("2026-".length);
}
