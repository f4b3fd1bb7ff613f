import { signal } from "@preact/signals";
import type { LogEntry } from "../../../client/index.ts";
import { untilReachable, whenReachable } from "../../connection.ts";
import type { Session } from "../../session.ts";

/** Pause between two readings of the trail, however many changes happen. */
const pauseMs = 2000;
const logFilter = "audit=info";

export type AuditStatus =
  | { readonly state: "connecting" | "live" | "broken" }
  | { readonly state: "failed"; readonly error: unknown };

/**
 * Live audit trail. The log stream only tells that something was changed; the entries are those of the server's own memory, which counts
 * changes of many files in a row. A hidden tab reads nothing.
 */
export class AuditFeed {
  /** Entries in the order of time; undefined until the first reading. */
  readonly entries = signal<readonly LogEntry[] | undefined>(undefined);
  readonly status = signal<AuditStatus>({ state: "connecting" });
  readonly #session: Session;
  readonly #abort = new AbortController();
  #isStale = false;
  #reading: Promise<void> | undefined;

  constructor(session: Session) {
    this.#session = session;
    document.addEventListener("visibilitychange", this.#readIfStale, { signal: this.#abort.signal });
  }

  /** Follows the trail until `close`. To be called again after the status `failed`. */
  async follow(): Promise<void> {
    const { signal } = this.#abort;
    this.status.value = { state: "connecting" };
    try {
      await untilReachable(() => this.#listen(), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.status.value = { state: "broken" };
      // Rejects when the person signs out instead, which leaves this page.
      const again = await this.#session.recover(error).catch(() => false);
      if (signal.aborted) return;
      if (again) await this.follow();
      else this.status.value = { state: "failed", error };
    }
  }

  close(): void {
    this.#abort.abort();
  }

  async #listen(): Promise<void> {
    const { signal } = this.#abort;
    for await (const event of this.#session.client.followLog({ log_filter: logFilter, signal })) {
      if (event.kind === "broken") {
        this.status.value = { state: "broken" };
        void whenReachable();
        continue;
      }
      if (event.kind === "connected") this.status.value = { state: "live" };
      this.#isStale = true;
      this.#readIfStale();
    }
  }

  readonly #readIfStale = () => {
    if (!this.#isStale || document.hidden || this.#abort.signal.aborted) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
      this.#readIfStale();
    });
  };

  async #read(): Promise<void> {
    const { signal } = this.#abort;
    this.#isStale = false;
    try {
      this.entries.value = await untilReachable(
        () => this.#session.client.call("audit_list", {}, { signal }),
        signal,
      );
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } catch (error) {
      if (!signal.aborted) this.status.value = { state: "failed", error };
    }
  }
}
