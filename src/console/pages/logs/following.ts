import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useResize } from "../../ui/use-resize.ts";
import type { LogFeed } from "./log-feed.ts";

/** Pixels by which positions may differ without a scroll: the browser rounds them, depending on the zoom. */
const rounding = 1;

/**
 * Keeps the end of a list in view while the feed is live. Scrolling up, by however little, pauses the feed; scrolling to the end
 * resumes it. Returns the listener for the list's `scroll` event.
 */
export function useFollowing(
  feed: LogFeed,
  scroller: RefObject<HTMLElement | null>,
  { count, rowHeight }: { readonly count: number; readonly rowHeight: number },
): () => void {
  /** Position of the list when it was last read or set. */
  const lastTop = useRef(0);
  const paused = feed.paused.value;
  const follow = () => {
    const box = scroller.current;
    if (box === null || feed.paused.value) return;
    // Above its place: somebody has scrolled, and the event is still to come. A list that became shorter is moved by the browser.
    if (box.scrollTop < Math.min(lastTop.current, endOf(box)) - rounding) feed.pause();
    else box.scrollTop = box.scrollHeight;
    lastTop.current = box.scrollTop;
  };
  useLayoutEffect(follow, [count, rowHeight, paused]);
  useResize(scroller, follow);
  return () => {
    const box = scroller.current;
    if (box === null) return;
    const moved = box.scrollTop - lastTop.current;
    const toEnd = endOf(box) - box.scrollTop;
    // Steps of a slow scroll add up.
    if (Math.abs(moved) <= rounding) return;
    lastTop.current = box.scrollTop;
    if (moved < 0 && toEnd > rounding) feed.pause();
    else if (moved > 0 && toEnd < rowHeight / 2) feed.resume();
  };
}

function endOf(box: HTMLElement): number {
  return box.scrollHeight - box.clientHeight;
}
