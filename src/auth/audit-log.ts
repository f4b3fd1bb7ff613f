import { localAddress } from "../base/address.ts";
import type { Clock } from "../base/clock.ts";
import type { AuditCode } from "../log/audit-events.ts";
import type { EventFields } from "../log/events.ts";
import { auditTarget } from "../log/filter.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import { type Caller, whoFields } from "./caller.ts";
import { FailedSignIns, type SignInFailure } from "./failed-sign-ins.ts";

/** Actor is who makes a change, and from which address. */
export interface Actor {
  readonly caller: Caller;
  readonly address: string;
}

/** AuditFields are the fields of an audit event without those of its actor. */
export type AuditFields<C extends AuditCode> = Omit<EventFields<C>, "token_key" | "username" | "address">;

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
