import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { Clock } from "../../base/clock.ts";
import { isOutOfDescriptors } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import type { ListenerSlot } from "./listener-slot.ts";

/** Interval of the check, and so the longest time that a shortage goes unnoticed. */
const checkMs = 500;
/** Descriptors that must be free before the shortage is reported as over. */
const minFreeDescriptors = 8;
/** Time that the shortage must be over before it is reported, so that clients that reconnect at once cannot fill the log. */
const calmMs = 3000;

/**
 * DescriptorWatch reports when no file descriptor is left, and closes idle connections to free some. It never closes a listening
 * socket: any local user could then bind the address and collect the tokens that clients send. The price is a whole processor
 * while connections wait, because the runtime tries to accept them again and again.
 */
export class DescriptorWatch implements Disposable {
  readonly #timer: Disposable;
  #exhausted = false;
  /** When enough descriptors were first found free again; undefined while there are too few. */
  #freeSince: number | undefined;

  readonly #listeners: readonly ListenerSlot[];
  readonly #log: Logger;
  readonly #clock: Clock;

  constructor(listeners: readonly ListenerSlot[], log: Logger, clock: Clock) {
    this.#listeners = listeners;
    this.#log = log;
    this.#clock = clock;
    this.#timer = clock.every(checkMs, () => this.#check());
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #check(): void {
    if (!hasFree(1)) this.#relieve();
    else if (this.#exhausted) this.#reportFree();
  }

  #relieve(): void {
    this.#freeSince = undefined;
    const closed = this.#listeners.reduce((sum, listener) => sum + listener.closeIdleConnections(), 0);
    if (this.#exhausted) return;
    this.#exhausted = true;
    this.#log.event(
      "descriptors.exhausted",
      "no file descriptor is left: new connections wait until some are closed; raise the limit of open files (ulimit -n, LimitNOFILE)",
      { idle_connections_closed: closed },
    );
  }

  #reportFree(): void {
    this.#freeSince = hasFree(minFreeDescriptors) ? (this.#freeSince ?? this.#clock.monotonic()) : undefined;
    if (this.#freeSince === undefined || this.#clock.monotonic() - this.#freeSince < calmMs) return;
    this.#exhausted = false;
    this.#log.event(
      "descriptors.available",
      "file descriptors are free again: new connections are accepted",
      {},
    );
  }
}

function hasFree(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch (error) {
    // Another error of opening the null device says nothing about descriptors.
    return !isOutOfDescriptors(error);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
