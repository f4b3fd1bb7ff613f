import type { ComponentChildren, HTMLAttributes, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useVirtualWindow } from "./virtual-window.ts";

export interface VirtualRowsProps {
  readonly count: number;
  /** In pixels; every row is as high. */
  readonly rowHeight: number;
  readonly row: (at: number) => ComponentChildren;
  /** The element that scrolls, for who wants to steer it. */
  readonly scroller?: RefObject<HTMLElement | null>;
  readonly onScroll?: (event: Event) => void;
  /** Goes along with rows that are added at the end. */
  readonly stayAtEnd?: boolean;
  readonly class?: string;
  readonly label: string;
  /** Of the box around the rows: `list` unless they are `row`s. */
  readonly role?: "list" | "rowgroup" | "table";
  /** Of the box that scrolls, for who steers it by keys: its role and state, and what it listens to. */
  readonly box?: HTMLAttributes<HTMLDivElement>;
}

/** A list of any length: only the rows in view are in the page. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, row, label, role = "list", onScroll } = props;
  const own = useRef<HTMLElement>(null);
  const scroller = props.scroller ?? own;
  const { first, end, look } = useVirtualWindow(scroller, count, rowHeight, props.stayAtEnd);
  // A section is a region of the page and can have no other role, such as that of a grid.
  const box: HTMLAttributes<HTMLDivElement> = {
    role: "region",
    "aria-label": label,
    // A box that scrolls must be reached by keyboard to be scrolled by it.
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
        look();
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
