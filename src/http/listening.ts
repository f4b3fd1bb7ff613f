import { codeOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import { Listener, type Place, type SizeLimits } from "./listener.ts";
import type { SharedDoors } from "./routes.ts";

/** How long a listener that is left waits for its running calls. */
const graceMs = 10_000;

/** One place to listen at, which can be moved while the server runs: the new one is bound before the old one is left. */
export class Listening {
  #current: Listener | undefined;
  /** Listeners that were left and still finish their calls. */
  readonly #leaving = new Set<Promise<void>>();

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
        if (old !== undefined) this.#leave(old);
        if (next !== undefined) this.log.info(`listening on ${next.url}`);
      },
      discard: async () => {
        await next?.close(0);
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

  async close(): Promise<void> {
    if (this.#current !== undefined) this.#leave(this.#current);
    this.#current = undefined;
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
        codeOf((error as Error).cause) === "EADDRINUSE" && old !== undefined && samePort(place, old.place);
      if (!inTheWay) throw error;
    }
    old.stopAccepting();
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

  async #resume(old: Listener): Promise<void> {
    this.#current = await this.#open(old.place);
    this.#leave(old);
  }

  #leave(listener: Listener): void {
    const left = listener.close(graceMs).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }
}

function samePort(a: Place, b: Place): boolean {
  return a.at === "tcp" && b.at === "tcp" && a.address.port === b.address.port;
}
