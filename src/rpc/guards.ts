import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import { quietly } from "../log/span.ts";
import type { Session } from "./session.ts";

/** How often it is asked whether a subscriber may still listen: another server, or an operator's SQL, may have ended its token. */
const recheckMs = 1000;

/** A subscription that lives on after its call, and what it was admitted for. */
export interface Guarded {
  readonly id: string;
  readonly session: Session;
  readonly caller: Caller;
  readonly need: Need;
  readonly farewell: ((why: string) => unknown) | undefined;
}

/** Ends subscriptions whose token would not be admitted any more. */
export class Guards {
  readonly #guarded = new Map<string, Guarded>();
  #timer: Timer | undefined;

  constructor(
    private readonly admits: (caller: Caller, need: Need) => Promise<boolean>,
    private readonly failed: (error: unknown) => void,
  ) {}

  watch(guarded: Guarded, stop: AbortSignal): void {
    this.#guarded.set(guarded.id, guarded);
    this.#timer ??= setInterval(() => void this.recheck(), recheckMs);
    stop.addEventListener("abort", () => {
      this.#guarded.delete(guarded.id);
      if (this.#guarded.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  }

  /** Asks for all of them now. Quietly: a subscriber to the log must not hear of its own upkeep. */
  async recheck(): Promise<void> {
    for (const guarded of [...this.#guarded.values()]) {
      try {
        await quietly(() => this.#recheckOne(guarded));
      } catch (error) {
        // A database that cannot be asked just now ends nothing.
        this.failed(error);
      }
    }
  }

  async #recheckOne({ id, session, caller, need, farewell }: Guarded): Promise<void> {
    if (await this.admits(caller, need)) return;
    session.end(id, farewell?.("its token was revoked or has expired"));
  }
}
