import type { Segment } from "./line.ts";
import { indexOfId, type Row } from "./rows.ts";

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
