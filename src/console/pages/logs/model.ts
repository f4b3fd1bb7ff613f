import {
  credentialParams,
  type LogEntry,
  type LogEvent,
  libraryTargets,
  logTargets,
  RpcError,
} from "../../../client/index.ts";
import { listed, time } from "../../format.ts";
import { t } from "../../text/text.ts";

interface EntryRow {
  readonly id: number;
  readonly kind: "entry";
  readonly entry: LogEntry;
}

/** Entries that were lost. */
interface MissedRow {
  readonly id: number;
  readonly kind: "missed";
  readonly count: number;
  readonly by: "server" | "client";
  /** Entry with which the server reported the loss. */
  readonly entry?: LogEntry;
}

interface GapRow {
  readonly id: number;
  readonly kind: "gap";
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/** One line of the list. Ids increase from row to row. */
export type Row = EntryRow | MissedRow | GapRow;

export const maxRows = 50_000;

/** The newest rows, and those that arrived but are not shown yet. */
export class LogRows {
  readonly #capacity: number;
  shown: readonly Row[] = [];
  #arrived: Row[] = [];
  #nextId = 1;
  #discarded = 0;
  /** Count of lost entries that the server reports with its next entry. */
  #serverDropped = 0;

  constructor(capacity = maxRows) {
    this.#capacity = capacity;
  }

  /** Count of rows that arrived and are not shown, including those already discarded. */
  get waiting(): number {
    return this.#arrived.length + this.#discarded;
  }

  add(event: LogEvent): void {
    if (event.kind === "entries") for (const entry of event.entries) this.#addEntry(entry);
    else if (event.kind === "gap") this.#push({ kind: "gap", after: event.after, before: event.before });
    else if (event.kind !== "missed") return;
    else if (event.by === "server") this.#serverDropped = event.count;
    else this.#push({ kind: "missed", count: event.count, by: "client" });
    // Not for every entry, because `splice` moves the rest each time.
    if (this.#arrived.length > this.#capacity * 1.1)
      this.#discarded += this.#arrived.splice(0, this.#arrived.length - this.#capacity).length;
  }

  /** Appends the arrived rows to the shown ones. */
  show(): void {
    if (this.#arrived.length === 0) return;
    this.shown = this.shown.concat(this.#arrived).slice(-this.#capacity);
    this.#arrived = [];
    this.#discarded = 0;
  }

  clear(): void {
    this.shown = [];
    this.#arrived = [];
    this.#discarded = 0;
    this.#serverDropped = 0;
  }

  #addEntry(entry: LogEntry): void {
    if (this.#serverDropped === 0) this.#push({ kind: "entry", entry });
    else this.#push({ kind: "missed", count: this.#serverDropped, by: "server", entry });
    this.#serverDropped = 0;
  }

  #push(row: RowWithoutId<Row>): void {
    this.#arrived.push({ ...row, id: this.#nextId++ });
  }
}

type RowWithoutId<R> = R extends Row ? Omit<R, "id"> : never;

/** Index of the row with this id, or where it would be inserted. */
export function indexOfId(rows: readonly { readonly id: number }[], id: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Entries as the server sent them, one JSON object per line. */
export function toJsonLines(rows: readonly Row[]): string {
  return rows
    .flatMap((row) => (row.kind === "gap" || row.entry === undefined ? [] : `${JSON.stringify(row.entry)}\n`))
    .join("");
}

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

function spanText({ name, fields }: { readonly name: string; readonly fields: string }): string {
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
  if (row.kind === "missed")
    return t.logs.missing(entryCount(row.count), row.by === "server" ? t.logs.byServer : t.logs.byClient);
  const { after, before } = row;
  return t.logs.gap({
    after: after && shortTimestamp(after),
    before: before && shortTimestamp(before),
  });
}

/** `11-15 08:41:12.345`: the time without the year. */
function shortTimestamp(timestamp: string): string {
  return preciseTime(timestamp).slice("2026-".length);
}

/** Levels that the buttons offer, the most severe first. */
export const levels = ["error", "warn", "info", "debug", "trace"] as const;
type Level = (typeof levels)[number];

/** The level of a filter for targets that it does not name; undefined when that is `off`. The last one counts, as on the server. */
export function levelOf(filter: string): Level | undefined {
  const last = partsOf(filter).findLast(isLevel)?.toLowerCase();
  const byNumber = last !== undefined && /^[0-5]$/.test(last) ? levels[Number(last) - 1] : undefined;
  return byNumber ?? levels.find((level) => level === last);
}

/** The filter with another level for targets that it does not name. */
export function withLevel(filter: string, level: Level): string {
  return [level, ...partsOf(filter).filter((part) => !isLevel(part))].join(",");
}

function partsOf(filter: string): string[] {
  return filter
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function isLevel(part: string): boolean {
  return /^([0-5]|off|error|warn|info|debug|trace)$/i.test(part);
}

/** FilterError says why the server rejects a filter, and which part of it is wrong. */
export interface FilterError {
  readonly why: string;
  readonly before: string;
  /** Empty if the server names no position. */
  readonly wrong: string;
  readonly after: string;
}

/** `filterErrorOf` is undefined for an error about something else. */
export function filterErrorOf(error: unknown, filter: string): FilterError | undefined {
  if (!(error instanceof RpcError) || error.data.field !== "log_filter") return undefined;
  const { column, why } = error.data;
  const from = typeof column === "number" ? column - 1 : filter.length;
  const comma = filter.indexOf(",", from);
  const to = from + filter.slice(from, comma === -1 ? undefined : comma).trimEnd().length;
  return {
    // Not the message, which repeats the filter: it is shown above.
    why: typeof why === "string" ? why : error.detail,
    before: filter.slice(0, from),
    wrong: filter.slice(from, to),
    after: filter.slice(to),
  };
}

/** Ranges that reach from some time ago until now, in milliseconds. */
const agoMs = { "5m": 300_000, "15m": 900_000, "1h": 3_600_000, "24h": 86_400_000 } as const;

export const ranges = ["all", "5m", "15m", "1h", "24h", "custom"] as const;
export type RangeName = (typeof ranges)[number];

/** Times in Unix milliseconds between which entries are listed. Undefined: no bound. */
interface TimeRange {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export function parseRange(query: URLSearchParams): RangeName {
  return ranges.find((one) => one === query.get("range")) ?? "all";
}

/** The range that is chosen at the time `now`; `from` and `to` are values of `datetime-local` inputs. */
export function rangeAt(name: RangeName, from: string, to: string, now: number): TimeRange {
  if (name === "all") return { from: undefined, to: undefined };
  if (name === "custom") return { from: parseTime(from), to: parseTime(to) };
  return { from: now - agoMs[name], to: undefined };
}

/** Whether a row is in the range. Rows for missing entries always are: what is missing may be in it. */
export function isInRange(row: Row, { from, to }: TimeRange): boolean {
  if (row.kind !== "entry") return true;
  const at = Date.parse(row.entry.timestamp);
  return (from === undefined || at >= from) && (to === undefined || at <= to);
}

function parseTime(text: string): number | undefined {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? undefined : at;
}

export interface MarkedPart {
  readonly text: string;
  readonly marked: boolean;
}

/** Case-insensitive search for a plain text. */
export class Search {
  readonly #pattern: RegExp | undefined;

  constructor(readonly text: string) {
    this.#pattern = text === "" ? undefined : new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  }

  get isEmpty(): boolean {
    return this.#pattern === undefined;
  }

  finds(text: string): boolean {
    return this.#matches(text).next().done !== true;
  }

  /** Splits each segment into marked and unmarked parts. A match may span segments. */
  mark(segments: readonly Segment[]): readonly (readonly MarkedPart[])[] {
    const matches = [...this.#matches(segments.map(({ text }) => text).join(" "))];
    let start = 0;
    return segments.map(({ text }) => {
      const here = matches.map(([from, to]) => [from - start, to - start] as const);
      start += text.length + 1;
      return cut(text, here);
    });
  }

  *#matches(text: string): Generator<readonly [from: number, to: number]> {
    if (this.#pattern === undefined) return;
    for (const { index, 0: found } of text.matchAll(this.#pattern)) yield [index, index + found.length];
  }
}

/** Rows that pass a filter, updated as rows come and go, so that only new rows are tested. */
export class IncrementalFilter {
  readonly #passes: (row: Row) => boolean;
  rows: readonly Row[] = [];
  #seen = 0;

  constructor(passes: (row: Row) => boolean) {
    this.#passes = passes;
  }

  update(shown: readonly Row[]): readonly Row[] {
    const oldest = shown[0]?.id ?? Number.POSITIVE_INFINITY;
    const fresh: Row[] = [];
    for (let at = shown.length - 1; at >= 0; at -= 1) {
      const row = shown[at];
      if (row === undefined || row.id <= this.#seen) break;
      if (this.#passes(row)) fresh.push(row);
    }
    this.#seen = shown.at(-1)?.id ?? this.#seen;
    const [first] = this.rows;
    const remaining =
      first !== undefined && first.id < oldest ? this.rows.slice(indexOfId(this.rows, oldest)) : this.rows;
    this.rows = fresh.length === 0 ? remaining : remaining.concat(fresh.reverse());
    return this.rows;
  }
}

/** Ordinal of a row, from 1; 0 when it is not in the list. */
export function ordinalOf(rows: readonly Row[], { id }: Row): number {
  const at = indexOfId(rows, id);
  return rows[at]?.id === id ? at + 1 : 0;
}

function cut(
  text: string,
  matches: ReadonlyArray<readonly [from: number, to: number]>,
): readonly MarkedPart[] {
  const parts: MarkedPart[] = [];
  let done = 0;
  for (const [from, to] of matches) {
    const [begin, end] = [Math.max(from, done), Math.min(to, text.length)];
    if (begin >= end) continue;
    if (begin > done) parts.push({ text: text.slice(done, begin), marked: false });
    parts.push({ text: text.slice(begin, end), marked: true });
    done = end;
  }
  if (done < text.length) parts.push({ text: text.slice(done), marked: false });
  return parts;
}

const levelNames = ["off", "error", "warn", "info", "debug", "trace"];
/** All levels and targets that a filter can name. */
const knownNames: readonly string[] = [...levelNames, ...logTargets, ...libraryTargets];

/**
 * Sentence about names in a filter that are neither levels nor known targets, or undefined. The server accepts such a filter, because
 * a program may log under any target; a misspelt level is more likely.
 */
export function unknownNames(filter: string): string | undefined {
  const unknown = filter
    .split(",")
    .map((part) => part.split("=", 1)[0]?.trim() ?? "")
    .filter((name) => name !== "" && !isKnown(name));
  if (unknown.length === 0) return undefined;
  return t.logs.unknownNames(listed(unknown), {
    levels: listed(levelNames),
    targets: listed(logTargets),
  });
}

function isKnown(name: string): boolean {
  const [crate = ""] = name.toLowerCase().split("::", 1);
  // Levels can be given as numbers.
  return knownNames.includes(crate) || /^[0-5]$/.test(name);
}

/** Method of the call that an entry belongs to: the server logs a call in the span `token::create` of the method `token_create`. */
export function methodOf({ spans }: Pick<LogEntry, "spans">): string | undefined {
  return spans
    .map(({ name }) => name.replace("::", "_"))
    .find((method) => Object.hasOwn(credentialParams, method));
}
