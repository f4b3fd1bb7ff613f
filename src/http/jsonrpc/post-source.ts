import { networkOf } from "../../base/address.ts";
import type { MemoryAccount } from "../../base/memory-budget.ts";
import type { RequestSource } from "../../rpc/request-state.ts";
import { Slot } from "../request/connection-limiter.ts";
import type { JsonRpcDoor } from "./post.ts";

/** The client of one POST, its place among the connections, and what it holds of the memory budget. */
export class PostOrigin implements RequestSource {
  readonly session = undefined;
  readonly streams = true;
  readonly isProven = false;
  readonly #slot: Slot;
  /** Opened when there is something to count: most calls and answers are small. */
  #account: MemoryAccount | undefined;
  #isProven = false;
  #bodyBytes = 0;
  #answerBytes = 0;

  constructor(
    private readonly request: Request,
    readonly address: string,
    private readonly door: Pick<JsonRpcDoor, "slots" | "memory" | "delays">,
  ) {
    this.#slot = new Slot(door.slots);
  }

  get disconnected(): AbortSignal {
    return this.request.signal;
  }

  withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    return this.#slot.aside(wait);
  }

  proved(): void {
    this.#isProven = true;
    this.#account?.prove();
  }

  holdBody(bytes: number): boolean {
    if (bytes === 0 && this.#account === undefined) return true;
    if (!this.#hold(bytes + this.#answerBytes)) return false;
    this.#bodyBytes = bytes;
    return true;
  }

  reserve(bytes: number): boolean {
    if (!this.#hold(this.#bodyBytes + this.#answerBytes + bytes)) return false;
    this.#answerBytes += bytes;
    return true;
  }

  /** Keeps an answer back, outside the slot: a crowd of guesses must not fill the server while it waits. False: too many wait. */
  delay(ms: number): Promise<boolean> {
    return this.#slot.aside(() => this.door.delays.wait(ms));
  }

  /** The answer has been handed over, or nobody waits for it. */
  finish(): void {
    this.#slot.give();
    this.#account?.[Symbol.dispose]();
  }

  #hold(bytes: number): boolean {
    if (this.#account === undefined) {
      this.#account = this.door.memory.open(networkOf(this.address));
      if (this.#isProven) this.#account.prove();
    }
    return this.#account.hold(bytes);
  }
}
