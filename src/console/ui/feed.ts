import { signal } from "@preact/signals";
import type { LogEvent } from "../../client/index.ts";
import { untilReachable, whenReachable } from "../connection.ts";
import type { Session } from "../session/session.ts";
import { explain } from "./problem.tsx";

type FeedStatus =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "broken"; readonly why: string }
  | { readonly state: "failed"; readonly error: unknown };

interface FeedOptions {
  readonly filter: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: LogEvent) => void;
  /** Whether an error is the caller's own matter. */
  readonly takes?: (error: unknown) => boolean;
}

/** Feed follows the server's log over outages and sign-ins, and has the state of its connection. */
export class Feed {
  readonly #session: Session;
  readonly status = signal<FeedStatus>({ state: "connecting" });

  constructor(session: Session) {
    this.#session = session;
  }

  /** To be called again after the status `failed`. */
  async follow(options: FeedOptions): Promise<void> {
    const { signal, takes } = options;
    if (this.status.value.state === "failed") this.status.value = { state: "connecting" };
    try {
      await untilReachable(() => this.#read(options), signal);
    } catch (error) {
      if (signal.aborted || takes?.(error)) return;
      // While the person signs in again the stream is interrupted, not failed.
      this.status.value = { state: "broken", why: explain(error) };
      // Rejects when the person signs out instead, which leaves this page.
      const again = await this.#session.recover(error).catch(() => false);
      if (signal.aborted) return;
      if (again) await this.follow(options);
      else this.status.value = { state: "failed", error };
    }
  }

  async #read({ filter, signal, onEvent }: FeedOptions): Promise<void> {
    for await (const event of this.#session.client.followLog({ log_filter: filter, signal })) {
      if (signal.aborted) return;
      onEvent(event);
      if (event.kind === "connected") this.status.value = { state: "live" };
      if (event.kind !== "broken") continue;
      this.status.value = { state: "broken", why: event.why.message };
      void whenReachable();
    }
  }
}
