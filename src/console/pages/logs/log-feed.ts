import { signal } from "@preact/signals";
import { untilReachable, whenReachable } from "../../connection.ts";
import type { Session } from "../../session.ts";
import { explain } from "../../ui/problem.tsx";
import { type FilterError, filterErrorOf } from "./filter-error.ts";
import { LogRows, maxRows, type Row } from "./rows.ts";

export type FeedStatus =
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
