import type { ComponentChildren, HTMLAttributes, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualRowsProps {
  readonly count: number;
  /** Height of every row, in pixels. */
  readonly rowHeight: number;
  readonly row: (at: number) => ComponentChildren;
  /** Ref of the scrolling element, for a caller that scrolls it. */
  readonly scroller?: RefObject<HTMLElement | null>;
  readonly onScroll?: (event: Event) => void;
  readonly class?: string;
  readonly label: string;
  /** Role of the element around the rows. Default: `list`. */
  readonly role?: "list" | "rowgroup" | "table" | "presentation";
  /** Attributes of the scrolling element, such as role, state and key listeners. */
  readonly box?: HTMLAttributes<HTMLDivElement> & { readonly "data-initial-focus"?: boolean };
}

/** List of any length. Only the rows in view are in the DOM. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, row, label, role = "list", onScroll } = props;
  const own = useRef<HTMLElement>(null);
  const scroller = props.scroller ?? own;
  const { first, end, update } = useVirtualWindow(scroller, count, rowHeight);
  // A `<div>`, because a `<section>` cannot have another role such as `grid`.
  const box: HTMLAttributes<HTMLDivElement> = {
    role: "region",
    "aria-label": label,
    // A scrolling element must be focusable to be scrolled by keyboard.
    tabIndex: 0,
    ...props.box,
  };
  const rows = [];
  for (let at = first; at < end; at += 1) rows.push(row(at));
  return (
    <div
      ref={scroller as RefObject<HTMLDivElement>}
      class={`virtual-rows ${props.class ?? ""}`}
      {...box}
      onScroll={(event: Event) => {
        update();
        onScroll?.(event);
      }}
    >
      <div style={{ height: `${count * rowHeight}px`, position: "relative" }}>
        <div role={role} class="virtual-window" style={{ top: `${first * rowHeight}px` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

/** Rows rendered beyond the visible ones on each side, so that quick scrolling shows no gap: of high rows, as many as fill 480 px. */
function marginRows(rowHeight: number): number {
  return Math.min(12, Math.ceil(480 / rowHeight));
}

interface VirtualWindow {
  readonly first: number;
  /** First row after the window. */
  readonly end: number;
  /** Call this when the element scrolls. */
  readonly update: () => void;
}

/** Range of rows in view in a scrolling element. All rows have the same height. */
export function useVirtualWindow(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): VirtualWindow {
  const [view, setView] = useState({ top: 0, height: 600 });
  const update = () => {
    const box = scroller.current;
    if (box === null) return;
    setView((before) =>
      before.top === box.scrollTop && before.height === box.clientHeight
        ? before
        : { top: box.scrollTop, height: box.clientHeight },
    );
  };
  useLayoutEffect(update);
  useResize(scroller, update);
  return {
    first: Math.max(0, Math.floor(view.top / rowHeight) - marginRows(rowHeight)),
    end: Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + marginRows(rowHeight)),
    update,
  };
}

/** Calls `resized` when the size of the element becomes known or changes. The function of the first rendering is kept. */
export function useResize(element: RefObject<HTMLElement | null>, resized: () => void): void {
  useEffect(() => {
    const observer = new ResizeObserver(resized);
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
}
