// This folder accepts connections. The ListenerSlot of this file is one configured address; a reload moves it by
// binding the new listener before it closes the old one, which gives running calls some seconds. listener.ts is one
// open listener of Bun, with all its limits; hand-over.ts lets a second one take over its port without a gap. tls.ts
// reads certificates and warns before they end. unix-socket.ts binds a socket file so that nobody else can connect too
// early. descriptor-watch.ts closes idle connections when the process has no file descriptor left.

import { systemClock } from "../../base/clock.ts";
import { codeOf } from "../../base/fault.ts";
import type { CloseReason } from "../jsonrpc/rpc-socket.ts";
import type { HttpDeps } from "../routes.ts";
import { type HandOver, handOverOf } from "./hand-over.ts";
import { type BindAddress, Listener, type ListenOptions } from "./listener.ts";
import { type CertificateEnd, endOfFile, endOfOrdered } from "./tls.ts";

interface SlotOptions extends ListenOptions {
  /** False while the address is not logged. */
  readonly isAnnounced?: (() => boolean) | undefined;
}

/** Time that a closing listener gives its running calls, including a drain before. */
const graceMs = 10_000;
/** The least of it that remains for calls that began at the end of a drain. */
const minGraceMs = 1000;
/** How long a listener still accepts what the kernel has begun for it, after another one has taken over its port. */
const lingerMs = 2000;
/** Interval at which a drain looks whether calls still run. */
const pollMs = 10;

/**
 * ListenerSlot is a listener that can be moved to another address while the server runs: the new one is bound before the old one
 * is closed. It has more than 15 methods because a reload, a drain and a stop each take steps with the same listeners.
 */
export class ListenerSlot {
  #current: Listener | undefined;
  /** Closes of listeners that still finish their calls. */
  readonly #closing = new Set<Promise<void>>();
  /** Listeners that stopped accepting because another one took over their port; their connections stay open. */
  readonly #draining = new Set<Listener>();
  /** Changes of the listener run one after the other. */
  #changes: Promise<unknown> = Promise.resolve();

  /** No connection is accepted and no address is bound any more. */
  #closed = false;
  #graceMs = graceMs;

  /** Sent to open sockets when their listener closes. */
  #closeReason: CloseReason = "stop";

  readonly #deps: HttpDeps;
  readonly #options: SlotOptions;

  constructor(deps: HttpDeps, options: SlotOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Binds `address` (undefined: none) beside the current one. The caller must call exactly one of the two functions. */
  async prepare(address: BindAddress | undefined): Promise<{ commit(): void; discard(): Promise<void> }> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const before = this.#changes;
    this.#changes = ended;
    await before;
    try {
      const { commit, discard } = await this.#prepare(address);
      return {
        // Whatever fails, the next change goes on.
        commit: () => {
          let rest: Promise<void> | undefined;
          try {
            rest = commit() ?? undefined;
          } finally {
            end(rest);
          }
        },
        // The reload does not wait for the connections of what it has discarded.
        discard: async () => {
          let rest: Promise<void> | undefined;
          try {
            rest = (await discard())?.ended;
          } finally {
            end(rest);
          }
        },
      };
    } catch (error) {
      end();
      throw error;
    }
  }

  /**
   * Puts the present certificates in force for new connections; open ones keep theirs, and none is closed. Does nothing for a listener
   * that has others.
   */
  renewCertificates(): Promise<void> {
    const renewed = this.#changes.then(() => this.#renewCertificates());
    this.#changes = renewed.catch(() => {});
    return renewed;
  }

  async #renewCertificates(): Promise<void> {
    const old = this.#current;
    if (this.#closed || old?.bindAddress.at !== "tcp" || old.bindAddress.tls !== "auto") return;
    const { host } = old.bindAddress.address;
    const address: BindAddress = {
      ...old.bindAddress,
      address: { host, port: old.port ?? old.bindAddress.address.port },
    };
    const { next, handOver } = await this.#bind(address, old);
    this.#current = next;
    await this.#retire(old, handOver !== undefined);
  }

  async #prepare(address: BindAddress | undefined): Promise<{
    commit(): Promise<void> | undefined;
    discard(): Promise<{ readonly ended: Promise<void> } | undefined>;
  }> {
    const old = this.#current;
    const changed = old && address && prepareAccess(old, address);
    if (changed) return { ...changed, commit: () => undefined };
    const bound = await this.#bind(address, old);
    const { next, tookOver, handOver } = bound;
    return {
      commit: () => {
        this.#current = next;
        // Another part of the same reload may have changed the limits since the new one was bound.
        next?.applyLimits(this.#options);
        this.announce();
        if (old !== undefined && tookOver) return this.#retire(old, handOver !== undefined);
        if (old !== undefined) this.#close(old);
        return undefined;
      },
      discard: () => this.#discard(bound, old),
    };
  }

  /** Undoes a bind. Who has come to the address meanwhile came to the one that stays, and keeps the connection. */
  async #discard(
    { next, tookOver, handOver, isOldStopped }: Bound,
    old: Listener | undefined,
  ): Promise<{ readonly ended: Promise<void> } | undefined> {
    if (next === undefined) return undefined;
    if (old === undefined || !tookOver) {
      await next.close(0, this.#closeReason);
      return undefined;
    }
    if (handOver !== undefined) {
      handOver.to("first");
      return { ended: this.#retire(next, true) };
    }
    this.#drain(next);
    if (isOldStopped) await this.#resume(old);
    return undefined;
  }

  /** Logs where it listens, unless that is not to be told, or not yet. */
  announce(): void {
    const { log, isAnnounced } = this.#options;
    if (this.#current === undefined || isAnnounced?.() === false) return;
    const { url, bindAddress } = this.#current;
    log.event("listener.bound", `listening on ${url}`, { url, transport: bindAddress.at });
  }

  get url(): string | undefined {
    return this.#current?.url;
  }

  /** The port that is bound. */
  get port(): number | undefined {
    return this.#current?.port;
  }

  /** Those that new connections get, of the certificates that the server orders by itself. */
  get certificates(): Listener["certificates"] {
    return this.#current?.certificates;
  }

  /** The end of its certificate; undefined without one. */
  get certificateEnd(): CertificateEnd | undefined {
    const address = this.#current?.bindAddress;
    if (address?.at !== "tcp") return undefined;
    if (address.tls !== "auto") return address.tls && endOfFile(address.tls.expiresAtMs);
    const first = this.#options.certificates?.first;
    return first && endOfOrdered(first);
  }

  /** HTTP requests that are being answered, and open WebSockets. */
  get load(): { readonly requests: number; readonly sockets: number } {
    let [requests, sockets] = [0, 0];
    for (const listener of this.#listeners) {
      requests += listener.requests;
      sockets += listener.openSockets;
    }
    return { requests, sockets };
  }

  /** Applies the limits that are now in force. */
  applyLimits(): void {
    this.#current?.applyLimits(this.#options);
  }

  /** For a stop of the server: all slots stop accepting before any of them waits for its calls. `reason` is for open sockets. */
  stopAccepting(reason: CloseReason): void {
    this.#closed = true;
    this.#closeReason = reason;
    for (const listener of this.#listeners) void listener.stopAccepting();
  }

  /** Closes connections between two requests, and returns how many. Running requests, WebSockets and the bound address stay. */
  closeIdleConnections(): number {
    return this.#listeners.reduce((closed, listener) => closed + listener.closeIdleConnections(), 0);
  }

  /**
   * Waits, while new connections are still accepted, for a moment in which no call runs; for the grace period at most. `close`
   * then waits for the rest of it only, so that a slow upload does not delay the restarted server.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const begin = clock.monotonic();
    const spentMs = () => clock.monotonic() - begin;
    while (this.#isBusy() && spentMs() < graceMs && !signal.aborted) await clock.sleep(pollMs, signal);
    this.#graceMs = Math.max(minGraceMs, graceMs - spentMs());
  }

  #isBusy(): boolean {
    return this.#listeners.some(({ isBusy }) => isBusy);
  }

  get #listeners(): readonly Listener[] {
    return this.#current === undefined ? [...this.#draining] : [this.#current, ...this.#draining];
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#current !== undefined) this.#close(this.#current);
    for (const listener of this.#draining) this.#close(listener);
    this.#current = undefined;
    this.#draining.clear();
    await Promise.all(this.#closing);
  }

  /**
   * If the new address cannot be bound beside the old one (same port on another interface, or with another certificate), the old
   * listener stops accepting first, and accepts again if the new one then fails.
   */
  async #bind(address: BindAddress | undefined, old: Listener | undefined): Promise<Bound> {
    if (address === undefined) return { next: undefined, tookOver: false };
    const handedOver = await this.#handOver(address, old);
    if (handedOver !== undefined) return { ...handedOver, tookOver: true };
    try {
      // Other processes may have the same address; then their listeners have it at the same time, and so may two of this one.
      return { next: await this.#open(address), tookOver: isSameAddress(address, old) };
    } catch (error) {
      const inTheWay =
        codeOf((error as Error).cause) === "EADDRINUSE" && old !== undefined && samePort(address, old);
      if (!inTheWay) throw error;
    }
    void old.stopAccepting();
    try {
      return { next: await this.#open(address), tookOver: true, isOldStopped: true };
    } catch (error) {
      await this.#resume(old);
      throw error;
    }
  }

  /** Binds beside a listener at the same address that only this process has. Undefined where that is not possible. */
  async #handOver(
    address: BindAddress,
    old: Listener | undefined,
  ): Promise<Pick<Bound, "next" | "handOver"> | undefined> {
    if (address.at !== "tcp" || old === undefined || !isSameAddress(address, old)) return undefined;
    if (address.reusePort || (old.bindAddress.at === "tcp" && old.bindAddress.reusePort)) return undefined;
    const handOver = old.port === undefined ? undefined : handOverOf(old.port);
    if (handOver === undefined) return undefined;
    handOver.share();
    try {
      const next = await this.#open({ ...address, reusePort: true });
      handOver.to("last");
      next.forgetSharing(address);
      return { next, handOver };
    } catch {
      return undefined;
    }
  }

  /** Lets a listener end whose port another one has now. With `linger` it first accepts what is on its way to it. */
  async #retire(old: Listener, linger: boolean): Promise<void> {
    this.#draining.add(old);
    // The kernel does this work, by its own time.
    if (linger) await systemClock.sleep(lingerMs);
    if (!this.#closed) this.#drain(old);
  }

  #open(address: BindAddress): Promise<Listener> {
    return Listener.open(address, this.#deps, this.#options);
  }

  /** Does nothing after `close`: a reload that nobody waited for may still be running then. */
  async #resume(old: Listener): Promise<void> {
    if (this.#closed) return;
    this.#current = await this.#open(old.bindAddress);
    this.#drain(old);
  }

  #drain(listener: Listener): void {
    this.#draining.add(listener);
    void listener.stopAccepting().then(() => this.#draining.delete(listener));
  }

  #close(listener: Listener): void {
    const closing = this.#closeLogged(listener).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #closeLogged(listener: Listener): Promise<void> {
    const { url } = listener;
    const seconds = Math.round(this.#graceMs / 1000);
    const { requests, sockets } = await listener.close(this.#graceMs, this.#closeReason);
    const running = requests + sockets;
    if (running === 0) return;
    const what = running === 1 ? "a call that was" : `${running} calls that were`;
    this.#options.log.event(
      "listener.cut_off",
      `cut off ${what} still running after ${seconds} s at ${url}`,
      {
        url,
        requests,
        sockets,
      },
    );
  }
}

/** For a Unix socket that stays at its path: it cannot be bound twice, and only who may connect has changed. */
function prepareAccess(
  listener: Listener,
  next: BindAddress,
): { commit(): void; discard(): Promise<undefined> } | undefined {
  const { bindAddress: old } = listener;
  if (next.at !== "unix" || old.at !== "unix" || next.path !== old.path) return undefined;
  listener.setAccess(next);
  const discard = async () => {
    listener.setAccess(old);
    return undefined;
  };
  return { commit() {}, discard };
}

interface Bound {
  readonly next: Listener | undefined;
  /** Whether the old listener is to lose its port and to keep its connections. */
  readonly tookOver: boolean;
  /** Which of the two gets new connections, while both listen at the port. */
  readonly handOver?: HandOver | undefined;
  /** Whether the old listener accepts nothing any more. */
  readonly isOldStopped?: boolean;
}

function isSameAddress(next: BindAddress, old: Listener | undefined): boolean {
  if (old === undefined || next.at !== "tcp" || old.bindAddress.at !== "tcp") return false;
  return next.address.host === old.bindAddress.address.host && next.address.port === old.port;
}

function samePort(next: BindAddress, { bindAddress: old, port }: Listener): boolean {
  return next.at === "tcp" && old.at === "tcp" && next.address.port === port;
}
