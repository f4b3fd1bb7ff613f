import { signal } from "@preact/signals";
import { untilReachable, whenReachable } from "../../connection.ts";
import type { Session } from "../../session.ts";
import { explain } from "../../ui/problem.tsx";
import { type Refusal, refusalOf } from "./refusal.ts";
import { LogRows, mostRows, type Row } from "./rows.ts";

export type Standing =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "broken"; readonly why: string }
  | { readonly state: "failed"; readonly error: unknown };

/** A person reads the log: what is shown, what waits, and how the server is reached. */
export class Reading {
  readonly shown = signal<readonly Row[]>([]);
  readonly waiting = signal(0);
  readonly paused = signal(false);
  readonly standing = signal<Standing>({ state: "connecting" });
  /** The filter that let through what is shown. */
  readonly filter = signal<string | undefined>(undefined);
  /** Of the filter that was tried last. */
  readonly refusal = signal<Refusal | undefined>(undefined);

  /** Whether the person emptied the list that is shown. */
  readonly cleared = signal(false);

  /** Grows whenever the list begins anew. */
  readonly begun = signal(0);

  readonly #rows: LogRows;
  #frame: number | undefined;
  #current: AbortController | undefined;
  #trying: AbortController | undefined;

  constructor(
    private readonly session: Session,
    capacity = mostRows,
  ) {
    this.#rows = new LogRows(capacity);
  }

  /** Until the server has taken the filter, what was read before goes on. */
  async follow(filter: string): Promise<void> {
    this.#trying?.abort();
    const own = new AbortController();
    this.#trying = own;
    this.refusal.value = undefined;
    if (this.standing.value.state === "failed") this.standing.value = { state: "connecting" };
    try {
      await untilReachable(() => this.#read(own, filter), own.signal);
    } catch (error) {
      if (!own.signal.aborted) await this.#fail(error, filter, own);
    }
  }

  pause(): void {
    this.paused.value = true;
  }

  resume(): void {
    this.paused.value = false;
    this.#draw();
  }

  /** Of the page alone; the server keeps what it keeps. */
  clear(): void {
    this.cleared.value = true;
    this.#beginAnew();
  }

  close(): void {
    this.#current?.abort();
    this.#trying?.abort();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  async #read(own: AbortController, filter: string): Promise<void> {
    for await (const event of this.session.client.followLog({ log_filter: filter, signal: own.signal })) {
      if (own.signal.aborted) return;
      if (event.kind === "broken") {
        this.standing.value = { state: "broken", why: event.why.message };
        void whenReachable();
      } else if (event.kind === "connected") {
        if (!event.again) this.#begin(own, filter);
        this.standing.value = { state: "live" };
      } else this.#rows.take(event);
      this.#draw();
    }
  }

  #begin(own: AbortController, filter: string): void {
    this.#current?.abort();
    this.#current = own;
    this.#trying = undefined;
    this.filter.value = filter;
    this.cleared.value = false;
    this.#beginAnew();
  }

  #beginAnew(): void {
    this.#rows.clear();
    this.begun.value += 1;
    this.resume();
  }

  async #fail(error: unknown, filter: string, own: AbortController): Promise<void> {
    const refusal = refusalOf(error, filter);
    if (refusal !== undefined) {
      this.refusal.value = refusal;
      return;
    }
    // While the person signs in again nothing comes, and nothing has failed yet.
    this.standing.value = { state: "broken", why: explain(error) };
    // Who signs out instead leaves this page.
    const again = await this.session.recover(error).catch(() => false);
    if (own.signal.aborted) return;
    if (again) await this.follow(filter);
    else this.standing.value = { state: "failed", error };
  }

  /** Once a frame, however much comes; a page that is not seen draws nothing. */
  #draw(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      if (!this.paused.value) this.#rows.show();
      this.shown.value = this.#rows.shown;
      this.waiting.value = this.#rows.waiting;
    });
  }
}
