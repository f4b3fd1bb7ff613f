import type { Audit, AuditLog } from "../auth/audit-log.ts";
import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import { envelopeBytes } from "./bodies.ts";
import type { Lease } from "./lease.ts";
import type { CallContext } from "./method.ts";
import type { RequestState } from "./request-state.ts";

/** ContextOptions are what a call's context is made of. */
export interface ContextOptions<S> {
  readonly caller: Caller;
  readonly need: Need;
  readonly lease: Lease<S>;
  readonly state: RequestState;
  /** The client's address, for the audit of methods that change something. */
  readonly address: string;
}

/**
 * CallContexts makes the contexts of calls. A context inherits the services instead of copying them, and its own members are made
 * when the method reads them: most methods use one or two.
 */
export class CallContexts<S extends object> {
  readonly #audit: AuditLog;
  #services: S | undefined;
  #Context: ContextClass<S>;

  constructor(audit: AuditLog) {
    this.#audit = audit;
    this.#Context = contextOver({} as S, audit);
  }

  newContext(options: ContextOptions<S>): S & CallContext {
    const { services } = options.lease;
    if (services !== this.#services) {
      this.#services = services;
      this.#Context = contextOver(services, this.#audit);
    }
    return new this.#Context(options);
  }
}

type ContextClass<S> = new (options: ContextOptions<S>) => S & CallContext;

function contextOver<S extends object>(services: S, audit: AuditLog): ContextClass<S> {
  class Context implements CallContext {
    readonly #options: ContextOptions<S>;

    constructor(options: ContextOptions<S>) {
      this.#options = options;
    }

    get caller(): Caller {
      return this.#options.caller;
    }

    get audit(): Audit {
      return audit.by(this.#options);
    }

    get resultBudgetBytes(): number {
      const { leftBytes, maxIdBytes } = this.#options.state;
      return leftBytes - envelopeBytes - maxIdBytes;
    }

    get disconnected(): AbortSignal {
      return this.#options.state.source.disconnected;
    }

    get assertStillAdmitted(): CallContext["assertStillAdmitted"] {
      const { lease, caller, need } = this.#options;
      return () => lease.authenticator.assertStillAdmitted(caller, need);
    }

    get afterReply(): CallContext["afterReply"] {
      const { after } = this.#options.state;
      return (work) => void after.push(work);
    }

    get cancel(): CallContext["cancel"] {
      const { session } = this.#options.state.source;
      return (id) => session?.cancel(id) ?? false;
    }
  }
  Object.setPrototypeOf(Context.prototype, services);
  return Context as unknown as ContextClass<S>;
}
