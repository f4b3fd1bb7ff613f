import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface VirtualRowsProps {
  readonly count: number;
  /** In pixels; every row is as high. */
  readonly rowHeight: number;
  readonly row: (at: number) => ComponentChildren;
  /** The element that scrolls, for who wants to steer it. */
  readonly scroller?: RefObject<HTMLElement>;
  readonly onScroll?: (event: Event) => void;
  readonly class?: string;
  readonly label: string;
  /** Of the box around the rows: `list` unless they are `row`s. */
  readonly role?: "list" | "rowgroup" | "table";
}

/** Rows that are drawn beyond what is seen, so that a quick scroll does not show a gap. */
const margin = 12;

/** A list of any length: only the rows in view are in the page. */
export function VirtualRows(props: VirtualRowsProps) {
  const { count, rowHeight, row, label, role = "list", onScroll } = props;
  const own = useRef<HTMLElement>(null);
  const scroller = props.scroller ?? own;
  const [view, setView] = useState({ top: 0, height: 600 });
  const look = () => {
    const box = scroller.current;
    if (box === null) return;
    setView((before) =>
      before.top === box.scrollTop && before.height === box.clientHeight
        ? before
        : { top: box.scrollTop, height: box.clientHeight },
    );
  };
  useLayoutEffect(look);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - margin);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + margin);
  const rows = [];
  for (let at = first; at < last; at += 1) rows.push(row(at));
  return (
    <section
      ref={scroller}
      class={`virtual-rows ${props.class ?? ""}`}
      aria-label={label}
      // A box that scrolls must be reached by keyboard to be scrolled by it.
      tabIndex={0}
      onScroll={(event: Event) => {
        look();
        onScroll?.(event);
      }}
    >
      <div role={role} style={{ height: `${count * rowHeight}px`, position: "relative" }}>
        <div role="presentation" class="virtual-window" style={{ top: `${first * rowHeight}px` }}>
          {rows}
        </div>
      </div>
    </section>
  );
}
