import type { LogEntry, LogEvent } from "../../../client/index.ts";

interface EntryRow {
  readonly id: number;
  readonly kind: "entry";
  readonly entry: LogEntry;
}

/** Entries that nobody will see here. */
interface MissedRow {
  readonly id: number;
  readonly kind: "missed";
  readonly count: number;
  readonly by: "server" | "client";
  /** By which the server said so. */
  readonly entry?: LogEntry;
}

interface GapRow {
  readonly id: number;
  readonly kind: "gap";
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/** One line of the list. Ids grow from row to row. */
export type Row = EntryRow | MissedRow | GapRow;

export const mostRows = 50_000;

/** The newest rows, and those that arrived but are not shown yet. */
export class LogRows {
  shown: readonly Row[] = [];
  #arrived: Row[] = [];
  #nextId = 1;
  #letGo = 0;
  /** Of a drop that the server will tell about with its next entry. */
  #dropped = 0;

  constructor(private readonly capacity = mostRows) {}

  /** How many arrived that are not shown. Of very many the newest are kept. */
  get waiting(): number {
    return this.#arrived.length + this.#letGo;
  }

  take(event: LogEvent): void {
    if (event.kind === "entries") for (const entry of event.entries) this.#takeEntry(entry);
    else if (event.kind === "gap") this.#push({ kind: "gap", after: event.after, before: event.before });
    else if (event.kind !== "missed") return;
    else if (event.by === "server") this.#dropped = event.count;
    else this.#push({ kind: "missed", count: event.count, by: "client" });
    // Not with every entry, because the rest is moved each time.
    if (this.#arrived.length > this.capacity * 1.1)
      this.#letGo += this.#arrived.splice(0, this.#arrived.length - this.capacity).length;
  }

  /** What has arrived joins what is shown. */
  show(): void {
    if (this.#arrived.length === 0) return;
    this.shown = this.shown.concat(this.#arrived).slice(-this.capacity);
    this.#arrived = [];
    this.#letGo = 0;
  }

  clear(): void {
    this.shown = [];
    this.#arrived = [];
    this.#letGo = 0;
    this.#dropped = 0;
  }

  #takeEntry(entry: LogEntry): void {
    if (this.#dropped === 0) this.#push({ kind: "entry", entry });
    else this.#push({ kind: "missed", count: this.#dropped, by: "server", entry });
    this.#dropped = 0;
  }

  #push(row: Unnumbered<Row>): void {
    this.#arrived.push({ ...row, id: this.#nextId++ });
  }
}

type Unnumbered<R> = R extends Row ? Omit<R, "id"> : never;

/** Where the row with this id stands, or would stand. */
export function placeOf(rows: readonly { readonly id: number }[], id: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What the server sent, one JSON object a line. */
export function toJsonLines(rows: readonly Row[]): string {
  return rows
    .flatMap((row) => (row.kind === "gap" || row.entry === undefined ? [] : `${JSON.stringify(row.entry)}\n`))
    .join("");
}
