import type { LogEntry, LogEvent } from "../../../client/index.ts";

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
