import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Reading } from "./reading.ts";
import { placeOf, type Row } from "./rows.ts";

export interface Cursor {
  readonly row: Row | undefined;
  /** Whether all of it is shown. */
  readonly open: boolean;
  setOpen(open: boolean): void;
  /** Brings a row into view, which pauses. */
  goTo(row: Row | undefined): void;
  /** To the row above or below; from nowhere, into what is in view. */
  move(by: -1 | 1): void;
  /** To the next or the previous of some of the rows; behind the last comes the first. */
  step(by: -1 | 1, among: readonly Row[]): void;
}

/** The row that one has come to. */
export function useCursor(
  reading: Reading,
  rows: readonly Row[],
  scroller: RefObject<HTMLElement | null>,
  rowHeight: number,
): Cursor {
  const [row, setRow] = useState<Row>();
  const [open, setOpen] = useState(false);
  useEffect(() => setRow(undefined), [reading.begun.value]);
  const inView = (side: "top" | "bottom") => {
    const { scrollTop, clientHeight } = scroller.current ?? { scrollTop: 0, clientHeight: 0 };
    const at = side === "top" ? Math.ceil(scrollTop / rowHeight) : (scrollTop + clientHeight) / rowHeight - 1;
    return rows[Math.max(0, Math.min(Math.floor(at), rows.length - 1))];
  };
  const goTo = (next: Row | undefined) => {
    if (next === undefined) return;
    reading.pause();
    setRow(next);
    if (scroller.current !== null) reveal(scroller.current, placeOf(rows, next.id) * rowHeight, rowHeight);
  };
  return {
    row,
    open: open && row !== undefined,
    setOpen,
    goTo,
    move: (by) => goTo(row === undefined ? inView(by < 0 ? "bottom" : "top") : rows[next(rows, row.id, by)]),
    step: (by, among) => {
      const from = row?.id ?? (inView("top")?.id ?? 0) - 0.5;
      goTo(among.at(next(among, from, by) % among.length));
    },
  };
}

/** Where the one after or before an id stands, whether or not that id is among them. */
export function next(rows: readonly Row[], id: number, by: -1 | 1): number {
  const at = placeOf(rows, id);
  return by < 0 ? at - 1 : rows[at]?.id === id ? at + 1 : at;
}

function reveal(box: HTMLElement, top: number, height: number): void {
  if (top < box.scrollTop) box.scrollTop = top;
  else box.scrollTop = Math.max(box.scrollTop, top + height - box.clientHeight);
}
