import type { Server } from "bun";
import type { Caller } from "../../auth/caller.ts";
import { networkOf } from "../../base/address.ts";
import { Fault } from "../../base/fault.ts";
import type { MemoryAccount, MemoryBudget } from "../../base/memory-budget.ts";
import type { RequestSource } from "../../rpc/request-state.ts";
import { bearerToken } from "../request/authentication.ts";
import type { ClientAddresses } from "../request/client-address.ts";
import type { Delays, Permit } from "../request/connection-limiter.ts";
import { noteOn, type RequestNotes } from "../request/request-observer.ts";

export interface PostSourceOptions {
  readonly request: Request;
  readonly server: Server<unknown>;
  readonly addresses: ClientAddresses;
  readonly permit: Permit;
  readonly memory: MemoryBudget;
  readonly delays: Delays;
}

/** Methods of a batch, and characters of a method, that are kept for the access log. */
const maxNotedMethods = 20;
const maxNotedChars = 100;

/** PostSource is the client of one POST, its connection permit, and its share of the memory budget. */
export class PostSource implements RequestSource, RequestNotes {
  readonly session = undefined;
  readonly streams = true;
  readonly isProven = false;
  readonly #request: Request;
  readonly #server: Server<unknown>;
  readonly #addresses: ClientAddresses;
  #address: string | undefined;
  readonly #permit: Permit;
  readonly #memory: MemoryBudget;
  readonly #delays: Delays;
  /** Opened when there is something to count: most calls and answers are too small. */
  #account: MemoryAccount | undefined;
  #isProven = false;
  caller: Caller | undefined;
  rpcMethods: string[] | undefined;
  #bodyBytes = 0;
  #answerBytes = 0;

  constructor({ request, server, addresses, permit, memory, delays }: PostSourceOptions) {
    this.#request = request;
    this.#server = server;
    this.#addresses = addresses;
    this.#permit = permit;
    this.#memory = memory;
    this.#delays = delays;
    noteOn(request, this);
  }

  get bearer(): string | undefined {
    return bearerToken(this.#request);
  }

  /** Read when it is needed, because it takes a system call. */
  get address(): string {
    this.#address ??= this.#addresses.of(this.#request, this.#server);
    if (this.#address === undefined) throw new Fault("Other", "the client has disconnected");
    return this.#address;
  }

  noteAddress(): string {
    this.#address ??= this.#addresses.of(this.#request, this.#server);
    return this.#address ?? "unknown";
  }

  requireAddress(): void {
    if (this.#address === undefined) this.#address = this.address;
  }

  get disconnected(): AbortSignal {
    return this.#request.signal;
  }

  withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    return this.#permit.suspend(wait);
  }

  noteMethod(name: string): void {
    if (this.rpcMethods === undefined) this.rpcMethods = [name.slice(0, maxNotedChars)];
    else if (this.rpcMethods.length < maxNotedMethods) this.rpcMethods.push(name.slice(0, maxNotedChars));
    else if (this.rpcMethods.length === maxNotedMethods) this.rpcMethods.push("…");
  }

  proved(caller: Caller): void {
    this.caller = caller;
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

  /** Holds an answer back without its permit, so that many guesses do not use up the connections. False: too many wait. */
  delay(ms: number): Promise<boolean> {
    return this.#permit.suspend(() => this.#delays.wait(ms));
  }

  /** To be called when the answer has been handed over, or will not be sent. */
  finish(): void {
    this.#permit.release();
    this.#account?.[Symbol.dispose]();
  }

  #hold(bytes: number): boolean {
    if (this.#account === undefined) {
      this.#account = this.#memory.open(networkOf(this.address));
      if (this.#isProven) this.#account.prove();
    }
    return this.#account.hold(bytes);
  }
}
