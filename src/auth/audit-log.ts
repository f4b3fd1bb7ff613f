import { localAddress, networkOf } from "../base/address.ts";
import type { Clock } from "../base/clock.ts";
import type { AuditCode, EventFields } from "../log/events.ts";
import { auditTarget } from "../log/filter.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import { type Caller, whoFields } from "./caller.ts";

/** Actor is who makes a change, and from which address. */
interface Actor {
  readonly caller: Caller;
  readonly address: string;
}

/** AuditFields are the fields of an audit event without those of its actor. */
type AuditFields<C extends AuditCode> = Omit<EventFields<C>, "token_key" | "username" | "address">;

/** Audit records a change of one caller. */
export type Audit = <C extends Exclude<AuditCode, "sign_in.failed">>(code: C, fields: AuditFields<C>) => void;

/** AuditLog writes one entry on target `audit` for every change, and bounds those for failed sign-ins. */
export class AuditLog implements Disposable {
  readonly #log: Logger;
  readonly #failed: FailedSignIns;

  constructor(hub: LogHub, clock: Clock) {
    this.#log = hub.logger(auditTarget);
    this.#failed = new FailedSignIns(
      (entry) => outsideSpans(() => this.#log.event("sign_in.failed", "sign-in failed", entry)),
      clock,
    );
  }

  /** Returns the function with which the changes of an actor are recorded, once they are made. */
  by({ caller, address }: Actor): Audit {
    return (code, fields) => {
      if (!this.#log.wants("INFO")) return;
      const all = { ...whoFields(caller), address, ...fields } as EventFields<typeof code>;
      // Its fields say it all: the call's span would only say it again.
      outsideSpans(() => this.#log.event(code, messageOf(code), all));
    };
  }

  /** Records what `roll-super-token` did on the server's machine, at the time `at`. */
  superTokenRolled(key: string, at: string): void {
    this.#log.event("token.secret_rolled", messageOf("token.secret_rolled"), {
      address: localAddress,
      target_key: key,
      by: "roll-super-token",
      at,
    });
  }

  signInFailed(failure: SignInFailure): void {
    this.#failed.add(failure);
  }

  /** Writes what is counted and not written yet. */
  [Symbol.dispose](): void {
    this.#failed[Symbol.dispose]();
  }
}

/** `file.written` → `file written`. */
function messageOf(code: AuditCode): string {
  return code.replace(/[._]/g, " ");
}

/** In this time there is one entry for a name at an address, and one that counts the failures after it. */
const windowMs = 10_000;
/** The maximum number of windows; further failures share one more, so that many attackers cannot fill the log either. */
const maxWindows = 20;
/** Further names at the same address share a window, so that one attacker cannot take those of all others. */
const maxNames = 3;

type Entry = EventFields<"sign_in.failed">;

export type SignInFailure = Omit<Entry, "count" | "other_names" | "other_addresses">;

/** WindowKey names a window: what it counts is of one network and one name, where these are not `others`. */
interface WindowKey {
  readonly network: string;
  readonly name: string;
}

interface Window {
  readonly key: WindowKey;
  /** Failures since the last entry. */
  count: number;
  last: SignInFailure;
  timer: Disposable;
}

/**
 * FailedSignIns bounds the entries about failed sign-ins: the first of a name at an address is written at once, then one for each
 * window.
 */
export class FailedSignIns implements Disposable {
  readonly #windows = new Map<string, Window>();
  readonly #write: (entry: Entry) => void;
  readonly #clock: Clock;

  constructor(write: (entry: Entry) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  add(failure: SignInFailure): void {
    const key = this.#keyFor(failure);
    const window = this.#windows.get(keyOf(key));
    if (window !== undefined) {
      window.count += 1;
      window.last = failure;
      return;
    }
    this.#write(entryOf(failure, { key, count: 1 }));
    this.#open(key, failure);
  }

  [Symbol.dispose](): void {
    for (const window of this.#windows.values()) {
      window.timer[Symbol.dispose]();
      this.#close(window);
    }
  }

  #keyFor(failure: SignInFailure): WindowKey {
    const network = networkOf(failure.address);
    const own = { network, name: nameOf(failure) };
    const ofAddress = { network, name: others };
    const isFull = this.#windows.size >= maxWindows;
    if (this.#windows.has(keyOf(own)) || (!isFull && this.#namesAt(network) < maxNames)) return own;
    return !isFull || this.#windows.has(keyOf(ofAddress)) ? ofAddress : { network: others, name: others };
  }

  #namesAt(network: string): number {
    return this.#windows
      .values()
      .filter(({ key }) => key.network === network && key.name !== others)
      .toArray().length;
  }

  #open(key: WindowKey, last: SignInFailure): void {
    // The entry at the end of the window is not about the call that began it.
    const timer = outsideSpans(() => this.#clock.after(windowMs, () => this.#end(key)));
    this.#windows.set(keyOf(key), { key, count: 0, last, timer });
  }

  #end(key: WindowKey): void {
    const window = this.#windows.get(keyOf(key));
    if (window === undefined) return;
    this.#close(window);
    if (window.count > 0) this.#open(key, window.last);
  }

  #close(window: Window): void {
    this.#windows.delete(keyOf(window.key));
    if (window.count > 0) this.#write(entryOf(window.last, window));
  }
}

/** No network and no name is called so. */
const others = "*";

function keyOf({ network, name }: WindowKey): string {
  return `${network} ${name}`;
}

function nameOf({ token_key, username, link }: SignInFailure): string {
  if (link !== undefined) return `link ${link}`;
  return token_key === undefined ? `username ${username ?? ""}` : `token_key ${token_key}`;
}

/**
 * Returns the entry for `count` failures of one window. An entry for several names has no name, so that no name gets the guesses
 * at another.
 */
function entryOf(failure: SignInFailure, { key, count }: Pick<Window, "key" | "count">): Entry {
  const { address, reason } = failure;
  const counted = key.network === others ? { count, other_addresses: true as const } : { count };
  return key.name === others
    ? { address, reason, ...counted, other_names: true }
    : { ...failure, ...counted };
}
