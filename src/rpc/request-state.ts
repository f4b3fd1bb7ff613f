import type { Caller, Peer } from "../auth/caller.ts";
import { FailedPasswords } from "../auth/failure-limiter.ts";
import { Fault } from "../base/fault.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import type { Session } from "./session.ts";

/** `maxOpenResponseBytes` limits the answer to a request in which no call proved a token. */
const maxOpenResponseBytes = 256 * 1024;

/** `maxBytesPerChar`: a UTF-16 code unit takes at most three bytes of UTF-8. */
export const maxBytesPerChar = 3;

/** RequestSource is the connection that a request came over. */
export interface RequestSource extends Peer {
  /**
   * Throws if the address of the client is not known, because it has disconnected. Called before credentials are checked, which
   * takes a while: a failed check must be counted for an address.
   */
  requireAddress(): void;
  /** Returns the client's address for the log, and keeps it; `unknown` if the client disconnected before it was asked for. */
  noteAddress(): string;
  /** Holds the subscriptions of a WebSocket; undefined for plain HTTP. */
  readonly session: Session | undefined;
  /** The token of the request itself, for calls that have none in their params; of a WebSocket there is none. */
  readonly bearer?: string | undefined;
  /** Whether an answer can be sent in pieces. */
  readonly streams: boolean;
  /** Whether an earlier call over this connection proved a token. */
  readonly isProven: boolean;
  /** Called when a call has proven its token. */
  proved(caller: Caller): void;
  /** Called with the method of every call, known or not. */
  noteMethod(name: string): void;
  /** Counts further bytes of answers in the memory budget; false if it has too little left. */
  reserve(bytes: number): boolean;
}

interface RequestLimits {
  readonly maxResponseBytes: number;
  /** The memory of the parsed request, which the memory budget already counts. */
  readonly parsedBytes: number;
}

/** RequestState is a request or a batch while it is answered. */
export class RequestState {
  readonly #limits: RequestLimits;
  /** Work to do when the answer was sent. */
  readonly after: Array<() => void | Promise<void>> = [];
  delayMs = 0;
  /** At most this many bytes of the answer are the id of the present call. */
  maxIdBytes = 0;
  /** The subscription that the present call began. */
  opened: string | undefined;
  /** Set when a call of a method with `secretResult` was begun. */
  hasSecret = false;
  /** Set when an answer was refused because the memory budget is spent. */
  refusal: Fault | undefined;
  /** The client, for the check of its tokens. */
  readonly peer: Peer;
  readonly #isBatch: boolean;
  #bytes = 0;
  #heldBytes: number;
  #reservedBytes: number;
  #maxBytes: number;

  constructor(
    readonly source: RequestSource,
    limits: RequestLimits,
    { isBatch }: { readonly isBatch: boolean },
  ) {
    this.#limits = limits;
    this.#isBatch = isBatch;
    this.#heldBytes = limits.parsedBytes;
    this.#reservedBytes = limits.parsedBytes;
    this.peer = isBatch ? new BatchPeer(source) : source;
    this.#maxBytes = Math.min(limits.maxResponseBytes, maxOpenResponseBytes);
  }

  /** How many bytes the answer may still take. */
  get leftBytes(): number {
    return this.#maxBytes - this.#bytes;
  }

  /** How many bytes of answer are counted in the memory budget. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** A call of this request has proven its token: the answer may be as large as the configuration says. */
  proved(caller: Caller): void {
    this.#maxBytes = this.#limits.maxResponseBytes;
    this.source.proved(caller);
  }

  /** Whether a text is the only one of the answer and surely so short that its bytes need not be counted. */
  isShort(text: string): boolean {
    const maxBytes = text.length * maxBytesPerChar;
    return !this.#isBatch && maxBytes <= this.leftBytes && this.#heldBytes + maxBytes <= uncountedBytes;
  }

  /** countBytes counts bytes of the answer, of which `heldBytes` stay in memory until they are sent. Throws if they are too many. */
  countBytes(bytes: number, heldBytes = bytes): void {
    if (bytes > this.leftBytes) throw this.#tooBig();
    this.hold(heldBytes);
    this.#bytes += bytes;
  }

  /** Counts bytes of the answer in the memory budget. Throws if it has too little left. */
  hold(bytes: number): void {
    const held = this.#heldBytes + bytes;
    if (held > uncountedBytes) {
      if (!this.source.reserve(held - this.#reservedBytes)) {
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
      limit === this.#limits.maxResponseBytes ? "max_response_body_size" : "the limit without a token";
    return new Fault("ResponseTooBig", `the answer exceeds ${limit} bytes (${why})`, { limit });
  }
}

/** `memoryIsFull` returns the refusal of a request that the memory budget has no bytes left for. */
export function memoryIsFull(): Fault {
  return new Fault(
    "Busy",
    "clients hold as much memory as the server may give them (client_memory_bytes); try again shortly",
    { retry_after_seconds: 1 },
  );
}

/** BatchPeer is the client of a batch, which gets few password checks. */
class BatchPeer implements Peer {
  readonly #source: Peer;
  readonly failed = new FailedPasswords();

  constructor(source: Peer) {
    this.#source = source;
  }

  get address(): string {
    return this.#source.address;
  }

  get disconnected(): AbortSignal {
    return this.#source.disconnected;
  }

  withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    return this.#source.withoutSlot(wait);
  }
}
