import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { untilReachable, whenReachable } from "../../connection.ts";
import type { Session } from "../../session/session.ts";
import { useResize } from "../../ui/list.tsx";
import { explain } from "../../ui/problem.tsx";
import { type FilterError, filterErrorOf, LogRows, maxRows, type Row } from "./model.ts";

type FeedStatus =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "broken"; readonly why: string }
  | { readonly state: "failed"; readonly error: unknown };

/** Live log for one page: the rows to show, the rows held back while paused, and the state of the connection. */
export class LogFeed {
  readonly #session: Session;
  readonly shown = signal<readonly Row[]>([]);
  readonly waiting = signal(0);
  readonly paused = signal(false);
  readonly status = signal<FeedStatus>({ state: "connecting" });
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
    this.#session = session;
    this.#rows = new LogRows(capacity);
  }

  /** Follows the log with a filter. The previous stream continues until the server has accepted the new filter. */
  async follow(filter: string): Promise<void> {
    this.#pending?.abort();
    const controller = new AbortController();
    this.#pending = controller;
    this.filterError.value = undefined;
    if (this.status.value.state === "failed") this.status.value = { state: "connecting" };
    try {
      await untilReachable(() => this.#read(controller, filter), controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) await this.#fail(error, filter, controller);
    }
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

  async #read(controller: AbortController, filter: string): Promise<void> {
    for await (const event of this.#session.client.followLog({
      log_filter: filter,
      signal: controller.signal,
    })) {
      if (controller.signal.aborted) return;
      if (event.kind === "broken") {
        this.status.value = { state: "broken", why: event.why.message };
        void whenReachable();
      } else if (event.kind === "connected") {
        if (!event.again) this.#adopt(controller, filter);
        this.status.value = { state: "live" };
      } else this.#rows.add(event);
      this.#scheduleRender();
    }
  }

  #adopt(controller: AbortController, filter: string): void {
    this.#current?.abort();
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

  async #fail(error: unknown, filter: string, controller: AbortController): Promise<void> {
    const filterError = filterErrorOf(error, filter);
    if (filterError !== undefined) {
      this.filterError.value = filterError;
      return;
    }
    // While the person signs in again the stream is interrupted, not failed.
    this.status.value = { state: "broken", why: explain(error) };
    // Rejects when the person signs out instead, which leaves this page.
    const again = await this.#session.recover(error).catch(() => false);
    if (controller.signal.aborted) return;
    if (again) await this.follow(filter);
    else this.status.value = { state: "failed", error };
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
