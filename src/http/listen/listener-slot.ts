import { codeOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import type { Goodbye } from "../jsonrpc/rpc-socket.ts";
import type { SharedDoors } from "../routes.ts";
import { Listener, type Place, type SizeLimits } from "./listener.ts";

/** How long a listener that is left waits for its running calls, a drain before it included. */
const graceMs = 10_000;
/** What remains at the least for calls that began at the end of a drain. */
const minGraceMs = 1000;

/** One place to listen at, which can be moved while the server runs: the new one is bound before the old one is left. */
export class Listening {
  #current: Listener | undefined;
  /** Listeners that were left and still finish their calls. */
  readonly #leaving = new Set<Promise<void>>();
  /** Listeners that accept no more because another one took over their address; their connections live on. */
  readonly #lingering = new Set<Listener>();

  /** No new connections and no new address from here on. */
  #closed = false;
  #graceMs = graceMs;

  /** What open sockets are told when they are left. */
  #farewell: Goodbye = "stop";

  constructor(
    private readonly doors: SharedDoors,
    private readonly limits: () => SizeLimits,
    private readonly log: Logger,
  ) {}

  /** Binds `place` (undefined: nowhere) beside the current one. Exactly one of the two functions is to be called. */
  async prepare(place: Place | undefined): Promise<{ commit(): void; discard(): Promise<void> }> {
    const old = this.#current;
    const { next, tookOver } = await this.#bind(place, old);
    return {
      commit: () => {
        this.#current = next;
        // Other parts of the same reload may have changed them since the new one was bound.
        next?.limit(this.limits(), this.log);
        if (old !== undefined && tookOver) this.#linger(old);
        else if (old !== undefined) this.#leave(old);
        if (next !== undefined)
          this.log.event("listener.bound", `listening on ${next.url}`, {
            url: next.url,
            transport: next.place.at,
          });
      },
      discard: async () => {
        await next?.close(0, this.#farewell);
        if (tookOver && old !== undefined) await this.#resume(old);
      },
    };
  }

  get url(): string | undefined {
    return this.#current?.url;
  }

  limit(): void {
    this.#current?.limit(this.limits(), this.log);
  }

  /** For the way out, which open sockets are told: all places stop accepting before any waits for its calls. */
  stopAccepting(why: Goodbye): void {
    this.#closed = true;
    this.#farewell = why;
    void this.#current?.stopAccepting();
  }

  /** Closes connections between two requests. Running requests, WebSockets and the bound address stay. Returns how many it closed. */
  closeIdleConnections(): number {
    const listeners = [...this.#lingering, ...(this.#current === undefined ? [] : [this.#current])];
    return listeners.reduce((closed, listener) => closed + listener.closeIdleConnections(), 0);
  }

  /**
   * Waits, while new connections are still accepted, for a moment in which no call runs; for the grace period at most. `close`
   * then waits for the rest of it only, so a slow upload does not keep a restart from accepting.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    const spentMs = () => performance.now() - begin;
    while (this.#isBusy() && spentMs() < graceMs && !signal.aborted) await Bun.sleep(10);
    this.#graceMs = Math.max(minGraceMs, graceMs - spentMs());
  }

  #isBusy(): boolean {
    return [this.#current, ...this.#lingering].some((listener) => listener?.isBusy);
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#current !== undefined) this.#leave(this.#current);
    for (const listener of this.#lingering) this.#leave(listener);
    this.#current = undefined;
    this.#lingering.clear();
    await Promise.all(this.#leaving);
  }

  /**
   * Where the new place cannot be bound while the old one is (same port on another interface, or with another
   * certificate), the old one stops accepting first, and accepts again if the new one then fails.
   */
  async #bind(
    place: Place | undefined,
    old: Listener | undefined,
  ): Promise<{ next: Listener | undefined; tookOver: boolean }> {
    if (place === undefined) return { next: undefined, tookOver: false };
    try {
      return { next: await this.#open(place), tookOver: false };
    } catch (error) {
      const inTheWay =
        codeOf((error as Error).cause) === "EADDRINUSE" && old !== undefined && samePort(place, old);
      if (!inTheWay) throw error;
    }
    void old.stopAccepting();
    try {
      return { next: await this.#open(place), tookOver: true };
    } catch (error) {
      await this.#resume(old);
      throw error;
    }
  }

  #open(place: Place): Promise<Listener> {
    return Listener.open(place, this.doors, this.limits(), this.log);
  }

  /** Does nothing after `close`, which a reload that was not waited for may outlive. */
  async #resume(old: Listener): Promise<void> {
    if (this.#closed) return;
    this.#current = await this.#open(old.place);
    this.#linger(old);
  }

  #linger(listener: Listener): void {
    this.#lingering.add(listener);
    void listener.stopAccepting().then(() => this.#lingering.delete(listener));
  }

  #leave(listener: Listener): void {
    const left = listener.close(this.#graceMs, this.#farewell).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }
}

function samePort(place: Place, { place: old, port }: Listener): boolean {
  return place.at === "tcp" && old.at === "tcp" && place.address.port === port;
}
