import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LogFeed } from "./log-feed.ts";
import { indexOfId, type Row } from "./rows.ts";

export interface Cursor {
  readonly row: Row | undefined;
  /** Whether its details are open. */
  readonly open: boolean;
  setOpen(open: boolean): void;
  /** Scrolls a row into view and pauses the feed. */
  goTo(row: Row | undefined): void;
  /** Moves to the row above or below; without a current row, to the first or last visible one. */
  move(by: -1 | 1): void;
  /** Moves to the next or previous row of `among`, and wraps around. */
  step(by: -1 | 1, among: readonly Row[]): void;
}

/** Current row of the list. */
export function useCursor(
  feed: LogFeed,
  rows: readonly Row[],
  scroller: RefObject<HTMLElement | null>,
  rowHeight: number,
): Cursor {
  const [row, setRow] = useState<Row>();
  const [open, setOpen] = useState(false);
  useEffect(() => setRow(undefined), [feed.generation.value]);
  const inView = (side: "top" | "bottom") => {
    const { scrollTop, clientHeight } = scroller.current ?? { scrollTop: 0, clientHeight: 0 };
    const at = side === "top" ? Math.ceil(scrollTop / rowHeight) : (scrollTop + clientHeight) / rowHeight - 1;
    return rows[Math.max(0, Math.min(Math.floor(at), rows.length - 1))];
  };
  const goTo = (next: Row | undefined) => {
    if (next === undefined) return;
    feed.pause();
    setRow(next);
    if (scroller.current !== null) reveal(scroller.current, indexOfId(rows, next.id) * rowHeight, rowHeight);
  };
  return {
    row,
    open: open && row !== undefined,
    setOpen,
    goTo,
    move: (by) =>
      goTo(row === undefined ? inView(by < 0 ? "bottom" : "top") : rows[nextIndex(rows, row.id, by)]),
    step: (by, among) => {
      const from = row?.id ?? (inView("top")?.id ?? 0) - 0.5;
      goTo(among.at(nextIndex(among, from, by) % among.length));
    },
  };
}

/** Index of the row after or before an id, whether or not a row has that id. */
export function nextIndex(rows: readonly Row[], id: number, by: -1 | 1): number {
  const at = indexOfId(rows, id);
  return by < 0 ? at - 1 : rows[at]?.id === id ? at + 1 : at;
}

function reveal(box: HTMLElement, top: number, height: number): void {
  if (top < box.scrollTop) box.scrollTop = top;
  else box.scrollTop = Math.max(box.scrollTop, top + height - box.clientHeight);
}

export interface Keys {
  readonly toggle: () => void;
  readonly toStart: () => void;
  readonly toEnd: () => void;
  readonly move: (by: -1 | 1) => void;
  readonly open: () => void;
  readonly close: () => void;
}

/** Elements that handle these keys themselves. */
const handlesKeys = "input, textarea, select, button, a, dialog, .logs-details";

/** Handles the keys of the list on the whole page, except where the focused element needs them. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, altKey, metaKey } = event;
      if (ctrlKey || altKey || metaKey || !(target instanceof Element)) return;
      if (key === "Escape" && target.closest("dialog, input") === null) return latest.current.close();
      const act = target.closest(handlesKeys) === null ? actionOf(key, latest.current) : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function actionOf(key: string, keys: Keys): (() => void) | undefined {
  switch (key) {
    case " ":
      return keys.toggle;
    case "Home":
      return keys.toStart;
    case "End":
      return keys.toEnd;
    case "ArrowUp":
      return () => keys.move(-1);
    case "ArrowDown":
      return () => keys.move(1);
    case "Enter":
      return keys.open;
    default:
      return undefined;
  }
}
