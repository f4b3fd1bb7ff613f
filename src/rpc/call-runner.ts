import type { Audit, AuditLog } from "../auth/audit-log.ts";
import { anonymous, type Caller } from "../auth/caller.ts";
import { type Credentials, parseCredentials } from "../auth/credentials.ts";
import { isOpen, type Need } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { toValidationIssue } from "../base/validation-issue.ts";
import { envelopeBytes } from "./bodies.ts";
import type { Request } from "./envelope.ts";
import { type CallContext, credentialParam, type Lease, type Method } from "./method.ts";
import type { RequestState } from "./request-state.ts";
import type { Session, SubscriptionReauthorizer } from "./session.ts";

/** Call is one call of a request, before it is authorised. */
export interface Call<S> {
  readonly request: Request;
  readonly method: Method<S>;
  readonly state: RequestState;
  /** The fields of the call's log span. */
  readonly logFields: Record<string, unknown>;
}

/** BegunCall is a call whose params are read and whose services are held. */
interface BegunCall<S> {
  readonly call: Call<S>;
  readonly params: Record<string, unknown>;
  readonly need: Need;
  readonly lease: Lease<S>;
  /** The client's address, for the audit of methods that change something. */
  readonly address: string;
}

/** CallRunner runs one call: parse, authenticate, authorise, run. */
export class CallRunner<S extends object> {
  readonly #acquire: () => Lease<S>;
  readonly #reauthorizer: SubscriptionReauthorizer;
  readonly #contexts: CallContexts<S>;
  /** The param of each method that has the caller's token; empty for methods that need none. */
  readonly #credentials = new Map<Method<S>, string>();

  constructor(acquire: () => Lease<S>, reauthorizer: SubscriptionReauthorizer, audit: AuditLog) {
    this.#acquire = acquire;
    this.#contexts = new CallContexts(audit, reauthorizer);
    this.#reauthorizer = reauthorizer;
  }

  /** The result of the method. What needs no waiting is returned at once and not as a promise; throws or rejects if the call fails. */
  run(call: Call<S>): unknown {
    const { request, method, state, logFields } = call;
    const params = parseParams(method, request.params, this.#tokenOf(call));
    Object.assign(logFields, method.loggedFields(params));
    const need = method.needFor(params);
    // Now, because a client may have disconnected when the change is made.
    const address = method.effect === "reads" ? "" : state.source.noteAddress();
    const lease = this.#acquire();
    let result: unknown;
    try {
      result = this.#runBegun({ call, params, need, lease, address });
    } catch (error) {
      lease.release();
      throw error;
    }
    if (result instanceof Promise) return result.finally(lease.release);
    lease.release();
    return result;
  }

  /** The token of the request's header, under the name of the param that it stands for. */
  #tokenOf({ method, state }: Call<S>): HeaderToken | undefined {
    const { bearer } = state.source;
    if (bearer === undefined) return undefined;
    let name = this.#credentials.get(method);
    if (name === undefined) {
      name = credentialParam(method) ?? "";
      this.#credentials.set(method, name);
    }
    return name === "" ? undefined : { name, token: bearer };
  }

  #runBegun(begun: BegunCall<S>): unknown {
    const { call, params, need, lease } = begun;
    if (isOpen(need)) return this.#invoke(begun, anonymous);
    const credentials = parseCredentials(call.method.tokenIn(params));
    const caller = lease.authenticator.authenticateSync(credentials, need);
    return caller === undefined ? this.#runChecked(begun, credentials) : this.#invoke(begun, caller);
  }

  /** Runs a call whose token has to be looked up. */
  async #runChecked(begun: BegunCall<S>, credentials: Credentials): Promise<unknown> {
    const { call, need, lease } = begun;
    call.state.source.requireAddress();
    const caller = await lease.authenticator.authenticate([credentials], need, call.state.peer);
    return this.#invoke(begun, caller);
  }

  #invoke(begun: BegunCall<S>, caller: Caller): unknown {
    const { call, params } = begun;
    const { method } = call;
    if (caller !== anonymous) proved(call, caller);
    const context = this.#contexts.newContext(begun, caller);
    return method.event === undefined ? method.run(context, params) : this.#subscribe(method, context, begun);
  }

  #subscribe(
    method: Method<S> & { event: object },
    context: S & CallContext,
    { call, need, params }: BegunCall<S>,
  ): string | Promise<string> {
    const { request, state } = call;
    const session = sessionOf(call);
    const { id, stop } = session.subscribe(request.method);
    state.opened = id;
    const pump = (events: AsyncIterable<unknown>) => {
      const { caller } = context;
      const authorisation = isOpen(need)
        ? undefined
        : this.#reauthorizer.watch({ id, session, caller, need, lastEvent: method.lastEvent }, stop);
      state.after.push(() => session.pump(id, events, authorisation));
      return id;
    };
    const failed = (error: unknown): never => {
      session.cancel(id);
      throw error;
    };
    try {
      const events = method.run(Object.assign(context, { stop }), params);
      return events instanceof Promise ? events.then(pump).catch(failed) : pump(events);
    } catch (error) {
      return failed(error);
    }
  }
}

function sessionOf({ request, state }: Pick<Call<unknown>, "request" | "state">): Session {
  const { session } = state.source;
  if (session !== undefined) return session;
  throw new Fault(
    "NeedsWebSocket",
    `${request.method} lives as long as its connection; open a WebSocket on this address and call it there`,
  );
}

function proved({ state, logFields }: Pick<Call<unknown>, "state" | "logFields">, caller: Caller): void {
  state.proved(caller);
  if (caller.by === "key") logFields.token_key = caller.key;
  else logFields.username = caller.username;
}

interface HeaderToken {
  readonly name: string;
  readonly token: string;
}

/**
 * Reads named or positional params by the method's schema. InvalidParams names the first that the schema rejects. A token of the header
 * stands for the param only if that is missing.
 */
function parseParams<S>(
  method: Method<S>,
  given: unknown,
  header: HeaderToken | undefined,
): Record<string, unknown> {
  if (method.names.length === 0) return {};
  const own: unknown = Array.isArray(given)
    ? Object.fromEntries(method.names.map((name, at) => [name, given[at]]))
    : (given ?? {});
  const named = header === undefined ? own : withToken(own, header);
  const read = safely(() => method.accepts.safeParse(named));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue === undefined) throw new Fault("InvalidParams", "params cannot be read");
  const { path, why, data } = toValidationIssue(issue, named);
  const field = path.join(".");
  throw new Fault("InvalidParams", `${field} ${why}`, { field, ...data });
}

function withToken(params: unknown, { name, token }: HeaderToken): unknown {
  if (typeof params !== "object" || params === null) return params;
  const present = Object.hasOwn(params, name) ? Reflect.get(params, name) : undefined;
  return present == null ? { ...params, [name]: token } : params;
}

/** A schema throws a TypeError for values such as `{"length": {"valueOf": 1}}`; that is the caller's mistake, not a bug. */
function safely<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Fault || !(error instanceof TypeError)) throw error;
    throw new Fault("InvalidParams", "params cannot be read");
  }
}

type ContextClass<S> = new (begun: BegunCall<S>, caller: Caller) => S & CallContext;

/** CallContexts makes the contexts of calls. The services are members of the class, so that no call copies them. */
class CallContexts<S extends object> {
  readonly #audit: AuditLog;
  readonly #reauthorizer: SubscriptionReauthorizer;
  #services: S | undefined;
  #Context: ContextClass<S>;

  constructor(audit: AuditLog, reauthorizer: SubscriptionReauthorizer) {
    this.#audit = audit;
    this.#reauthorizer = reauthorizer;
    this.#Context = contextOver({} as S, audit, reauthorizer);
  }

  newContext(begun: BegunCall<S>, caller: Caller): S & CallContext {
    const { services } = begun.lease;
    if (services !== this.#services) {
      this.#services = services;
      this.#Context = contextOver(services, this.#audit, this.#reauthorizer);
    }
    return new this.#Context(begun, caller);
  }
}

/** contextOver returns a class of contexts. Members are made when the method reads them: most methods use one or two. */
function contextOver<S extends object>(
  services: S,
  audit: AuditLog,
  reauthorizer: SubscriptionReauthorizer,
): ContextClass<S> {
  class Context implements CallContext {
    readonly #begun: BegunCall<S>;

    constructor(
      begun: BegunCall<S>,
      readonly caller: Caller,
    ) {
      this.#begun = begun;
    }

    get audit(): Audit {
      return audit.by({ caller: this.caller, address: this.#begun.address });
    }

    get address(): string {
      return this.#begun.address;
    }

    get provePassword(): CallContext["provePassword"] {
      const { lease, call } = this.#begun;
      return (password) => {
        call.state.source.requireAddress();
        return lease.authenticator.proveOwnPassword(this.caller, password, call.state.peer);
      };
    }

    get proveCode(): CallContext["proveCode"] {
      const { lease, call } = this.#begun;
      return (code) => {
        call.state.source.requireAddress();
        return lease.authenticator.proveCode(this.caller, code ?? undefined, call.state.peer);
      };
    }

    get resultBudgetBytes(): number {
      const { leftBytes, maxIdBytes } = this.#begun.call.state;
      return leftBytes - envelopeBytes - maxIdBytes;
    }

    get disconnected(): AbortSignal {
      return this.#begun.call.state.source.disconnected;
    }

    get assertStillAuthorised(): CallContext["assertStillAuthorised"] {
      const { lease, need } = this.#begun;
      return () => lease.authenticator.assertStillAuthorised(this.caller, need);
    }

    get afterReply(): CallContext["afterReply"] {
      const { after } = this.#begun.call.state;
      return (work) => void after.push(work);
    }

    get hold(): CallContext["hold"] {
      const { call, need } = this.#begun;
      return () => {
        const session = sessionOf(call);
        const { id, stop } = session.subscribe(call.request.method);
        call.state.opened = id;
        reauthorizer.watch({ id, session, caller: this.caller, need, lastEvent: undefined }, stop);
        return { id, stop };
      };
    }

    get holds(): CallContext["holds"] {
      const { session } = this.#begun.call.state.source;
      return (id) => session?.has(id) ?? false;
    }

    get cancel(): CallContext["cancel"] {
      const { session } = this.#begun.call.state.source;
      return (id) => session?.cancel(id) ?? false;
    }
  }
  Object.assign(Context.prototype, services);
  return Context as unknown as ContextClass<S>;
}
