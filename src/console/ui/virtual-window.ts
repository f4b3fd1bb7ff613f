import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows that are drawn beyond what is seen, so that a quick scroll does not show a gap. */
const margin = 12;

export interface VirtualWindow {
  readonly first: number;
  /** Not drawn any more. */
  readonly end: number;
  /** To be called when the box scrolls. */
  readonly look: () => void;
}

/** Which of many rows of one height are in view in a box that scrolls. */
export function useVirtualWindow(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  /** Goes along with rows that are added at the end. */
  stayAtEnd = false,
): VirtualWindow {
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
  const staying = useRef(stayAtEnd);
  staying.current = stayAtEnd;
  const settle = () => {
    const box = scroller.current;
    if (box !== null && staying.current) box.scrollTop = box.scrollHeight;
    look();
  };
  useLayoutEffect(settle);
  useEffect(() => {
    const observer = new ResizeObserver(settle);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  return {
    first: Math.max(0, Math.floor(view.top / rowHeight) - margin),
    end: Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + margin),
    look,
  };
}
