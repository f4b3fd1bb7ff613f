import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { LogFeed } from "./log-feed.ts";

/** Differences of positions that mean nothing: at most zoom factors the browser rounds them. */
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
  /** Where the list was last seen or put. */
  const place = useRef(0);
  const paused = feed.paused.value;
  const follow = () => {
    const box = scroller.current;
    if (box === null || feed.paused.value) return;
    // A list that became shorter is moved by the browser. The event of somebody's scrolling may still be to come.
    if (box.scrollTop < Math.min(place.current, endOf(box)) - rounding) feed.pause();
    else box.scrollTop = box.scrollHeight;
    place.current = box.scrollTop;
  };
  useLayoutEffect(follow, [count, rowHeight, paused]);
  useEffect(() => {
    const observer = new ResizeObserver(follow);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  return () => {
    const box = scroller.current;
    if (box === null) return;
    const moved = box.scrollTop - place.current;
    const toEnd = endOf(box) - box.scrollTop;
    // Steps of a slow scroll add up.
    if (Math.abs(moved) <= rounding) return;
    place.current = box.scrollTop;
    if (moved < 0 && toEnd > rounding) feed.pause();
    else if (moved > 0 && toEnd < rowHeight / 2) feed.resume();
  };
}

function endOf(box: HTMLElement): number {
  return box.scrollHeight - box.clientHeight;
}
