import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";

/** Narrowest column in pixels: its edge can still be taken. */
const minWidth = 40;
const maxWidth = 2000;
/** Change of the width by one key. */
const keyStep = 16;

/** Widths of columns that were changed by hand. */
export interface ColumnWidths {
  /** Pixels of every column; undefined until one of them is changed. */
  readonly pixels: readonly number[] | undefined;
  /** Makes a column wider (1) or narrower (-1) by a step. */
  readonly step: (column: number, direction: 1 | -1) => void;
  /** Starts to drag the edge of a column. */
  readonly drag: (column: number, event: PointerEvent) => void;
  /** Gives all columns their first widths again. */
  readonly reset: () => void;
}

/** Column widths of a table. The first change measures all columns: the browser stretches them to the width of the table. */
export function useColumnWidths(table: RefObject<HTMLTableElement | null>): ColumnWidths {
  const [pixels, setPixels] = useState<readonly number[]>();
  const latest = useRef(pixels);
  latest.current = pixels;
  const set = (column: number, width: number) => {
    const next = [...(latest.current ?? measure(table.current))];
    next[column] = Math.min(maxWidth, Math.max(minWidth, Math.round(width)));
    latest.current = next;
    setPixels(next);
  };
  const widthOf = (column: number) => (latest.current ?? measure(table.current))[column] ?? minWidth;
  return {
    pixels,
    step: (column, direction) => set(column, widthOf(column) + direction * keyStep),
    drag: (column, event) => {
      const edge = event.target as HTMLElement;
      const [start, width] = [event.clientX, widthOf(column)];
      const dragging = new AbortController();
      const end = () => dragging.abort();
      // The edge gets all events of this pointer, also those outside of it.
      edge.setPointerCapture(event.pointerId);
      const move = ({ clientX }: PointerEvent) => set(column, width + clientX - start);
      edge.addEventListener("pointermove", move, dragging);
      edge.addEventListener("pointerup", end, dragging);
      edge.addEventListener("pointercancel", end, dragging);
    },
    reset: () => setPixels(undefined),
  };
}

function measure(table: HTMLTableElement | null): readonly number[] {
  return [...(table?.tHead?.rows[0]?.cells ?? [])].map(({ offsetWidth }) => offsetWidth);
}
