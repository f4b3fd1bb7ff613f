import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Session } from "../../session/session.ts";
import { Feed } from "../../ui/feed.ts";
import { useResize } from "../../ui/list.tsx";
import { type FilterError, filterErrorOf, LogRows, maxRows, type Row } from "./model.ts";

/** Live log for one page: the rows to show, the rows held back while paused, and the state of the connection. */
export class LogFeed {
  readonly #feed: Feed;
  readonly status: Feed["status"];
  readonly shown = signal<readonly Row[]>([]);
  readonly waiting = signal(0);
  readonly paused = signal(false);
  /** Filter of the rows shown. */
  readonly filter = signal<string | undefined>(undefined);
  /** Error in the filter that was tried last. */
  readonly filterError = signal<FilterError | undefined>(undefined);

  /** Whether the person cleared the list. */
  readonly cleared = signal(false);

  /** Incremented whenever the list starts again from empty. */
  readonly generation = signal(0);

  readonly #rows: LogRows;
  #frame: number | undefined;
  #current: AbortController | undefined;
  #pending: AbortController | undefined;

  constructor(session: Session, capacity = maxRows) {
    this.#feed = new Feed(session);
    this.status = this.#feed.status;
    this.#rows = new LogRows(capacity);
  }

  /** Follows the log with a filter. The previous stream continues until the server has accepted the new filter. */
  async follow(filter: string): Promise<void> {
    this.#pending?.abort();
    const controller = new AbortController();
    this.#pending = controller;
    this.filterError.value = undefined;
    await this.#feed.follow({
      filter,
      signal: controller.signal,
      onEvent: (event) => {
        if (event.kind === "connected" && !event.again) this.#adopt(controller, filter);
        else if (event.kind !== "connected" && event.kind !== "broken") this.#rows.add(event);
        this.#scheduleRender();
      },
      takes: (error) => {
        this.filterError.value = filterErrorOf(error, filter);
        return this.filterError.value !== undefined;
      },
    });
  }

  pause(): void {
    this.paused.value = true;
  }

  resume(): void {
    this.paused.value = false;
    this.#scheduleRender();
  }

  /** Clears the page. The server keeps its entries. */
  clear(): void {
    this.cleared.value = true;
    this.#restart();
  }

  close(): void {
    this.#current?.abort();
    this.#pending?.abort();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #adopt(controller: AbortController, filter: string): void {
    if (this.#current !== controller) this.#current?.abort();
    this.#current = controller;
    this.#pending = undefined;
    this.filter.value = filter;
    this.cleared.value = false;
    this.#restart();
  }

  #restart(): void {
    this.#rows.clear();
    this.generation.value += 1;
    this.resume();
  }

  /** Publishes the rows once per animation frame, however many arrive. A hidden tab has no frames. */
  #scheduleRender(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      if (!this.paused.value) this.#rows.show();
      this.shown.value = this.#rows.shown;
      this.waiting.value = this.#rows.waiting;
    });
  }
}

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
