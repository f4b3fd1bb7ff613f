import { FailedPasswords } from "../auth/passwords.ts";
import type { Peer } from "../auth/peer.ts";
import { Fault } from "../base/fault.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import type { Session } from "./session.ts";

/** The most that is answered to a request in which no call proved a token. */
export const maxOpenResponseBytes = 256 * 1024;

/** The connection that a request came over. */
export interface Origin extends Peer {
  /** Where subscriptions live; plain HTTP has none. */
  readonly session: Session | undefined;
  /** Whether an answer can be sent in pieces. */
  readonly streams: boolean;
  /** Whether an earlier call over this connection proved a token. */
  readonly isProven: boolean;
  /** Called when a call has proven its token. */
  proved(): void;
  /** Counts so many more bytes of answers in the memory budget; false when it has no room for them. */
  reserve(bytes: number): boolean;
}

/** A request or a batch while it is answered. */
export class RequestState {
  readonly after: Array<() => void | Promise<void>> = [];
  delayMs = 0;
  /** The present call's id takes so much of the answer at the most. */
  idBytes = 0;
  /** The subscription that the present call began. */
  opened: string | undefined;
  /** Set when an answer was refused for want of memory. */
  refusal: Fault | undefined;
  /** Who calls, for the check of its token. */
  readonly peer: Peer;
  #bytes = 0;
  #heldBytes: number;
  #reservedBytes: number;
  #maxBytes: number;

  constructor(
    readonly origin: Origin,
    private readonly limits: {
      readonly maxResponseBytes: number;
      /** What the parsed request takes; counted in the budget already. */
      readonly parsedBytes: number;
    },
    isBatch: boolean,
  ) {
    this.#heldBytes = limits.parsedBytes;
    this.#reservedBytes = limits.parsedBytes;
    this.peer = isBatch ? new BatchPeer(origin) : origin;
    this.#maxBytes = Math.min(limits.maxResponseBytes, maxOpenResponseBytes);
  }

  /** How many bytes of answer are left. */
  get room(): number {
    return this.#maxBytes - this.#bytes;
  }

  /** How many bytes of answer are counted in the memory budget. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** A call of this request has proven its token: the answer may be as large as the configuration says. */
  proved(): void {
    this.#maxBytes = this.limits.maxResponseBytes;
    this.origin.proved();
  }

  /** Makes room for so many bytes of answer, of which `heldBytes` stay in memory until they are sent; or says why there is none. */
  take(bytes: number, heldBytes = bytes): void {
    if (bytes > this.room) throw this.#tooBig();
    this.hold(heldBytes);
    this.#bytes += bytes;
  }

  /** Counts so many bytes of answer in the memory budget, or says that it has no room for them. */
  hold(bytes: number): void {
    const held = this.#heldBytes + bytes;
    if (held > uncountedBytes) {
      if (!this.origin.reserve(held - this.#reservedBytes)) {
        this.refusal = memoryIsFull();
        throw this.refusal;
      }
      this.#reservedBytes = held;
    }
    this.#heldBytes = held;
  }

  #tooBig(): Fault {
    const limit = this.#maxBytes;
    const why =
      limit === this.limits.maxResponseBytes ? "max_response_body_size" : "the limit without a token";
    return new Fault("ResponseTooBig", `the answer is above ${limit} bytes (${why})`, { limit });
  }
}

/** For a client that would have to be given memory that is not there. */
export function memoryIsFull(): Fault {
  return new Fault(
    "Busy",
    "clients hold as much memory as the server may give them (client_memory_bytes); try again shortly",
    { retry_after_seconds: 1 },
  );
}

/** The client of a batch, which gets few password checks. */
class BatchPeer implements Peer {
  readonly failed = new FailedPasswords();

  constructor(private readonly origin: Peer) {}

  get address(): string {
    return this.origin.address;
  }

  get disconnected(): AbortSignal {
    return this.origin.disconnected;
  }

  withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    return this.origin.withoutSlot(wait);
  }
}
