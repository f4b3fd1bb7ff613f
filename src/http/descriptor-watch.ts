import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isOutOfDescriptors } from "../buckets/disk-faults.ts";
import type { Logger } from "../log/hub.ts";
import type { Listening } from "./listening.ts";

/** A process without descriptors is noticed within this time. */
const lookMs = 500;
/** So many must be free before new connections are accepted again. */
const spareDescriptors = 8;

/**
 * Keeps listeners from accepting while no file descriptor is left. The runtime would try to accept a connection that waits again
 * and again, with a whole processor, until one is free; a listener that is closed refuses it instead. Connections that exist
 * go on.
 */
export class DescriptorWatch implements Disposable {
  readonly #timer = setInterval(() => void this.#look(), lookMs);
  #paused = false;
  #looking = false;
  /** Why the last attempt to accept again failed, which is reported once. */
  #failure: string | undefined;

  constructor(
    private readonly listeners: readonly Listening[],
    private readonly log: Logger,
  ) {
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      if (!this.#paused && !hasFree(1)) this.#pause();
      else if (this.#paused && hasFree(spareDescriptors)) await this.#resume();
    } finally {
      this.#looking = false;
    }
  }

  #pause(): void {
    this.#paused = true;
    // Without a listener nothing else may keep the process alive.
    this.#timer.ref();
    for (const listener of this.listeners) listener.pause();
    this.log.error(
      "no file descriptor is left: new connections are refused until some are closed; raise the limit of open files (ulimit -n, LimitNOFILE)",
    );
  }

  async #resume(): Promise<void> {
    const failures = await Promise.all(this.listeners.map((listener) => listener.resume()));
    const failure = failures.find((found) => found !== undefined)?.detail;
    if (failure !== undefined && failure !== this.#failure)
      this.log.error(`new connections cannot be accepted again yet: ${failure}`);
    this.#failure = failure;
    if (failure !== undefined) return;
    this.#paused = false;
    this.#timer.unref();
    this.log.info("file descriptors are free again: new connections are accepted");
  }
}

function hasFree(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch (error) {
    // Whatever else keeps the null device from being opened says nothing about descriptors.
    return !isOutOfDescriptors(error);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
