import { type Caller, nobody } from "../auth/caller.ts";
import { type AuthDoor, Refusal } from "../auth/door.ts";
import { isOpen, type Need } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { toComplaint } from "../base/issue.ts";
import { toJsonText } from "../base/raw-json.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { inSpan } from "../log/span.ts";
import { type IdText, type Item, parseEnvelope, type Request } from "./envelope.ts";
import { toFault, toWireError } from "./errors.ts";
import { Guards } from "./guards.ts";
import type { CallContext, Method, MethodTable } from "./method.ts";
import type { Session } from "./session.ts";

/** The door a request came through. */
export interface Origin {
  /** Asked only when it matters, because finding it out costs. */
  address(): string;
  /** Where subscriptions live; plain HTTP has none. */
  readonly session: Session | undefined;
}

export interface Reply {
  /** Nothing to answer: only notifications. */
  readonly text: string | undefined;
  /** Keep the answer back this long: its address guesses. */
  readonly delayMs: number;
  /** To be called once the answer has left. */
  sent(): void;
}

/** The services as they are now, kept open until `release`. */
export interface Loan<S> {
  readonly services: S;
  readonly door: AuthDoor;
  release(): void;
}

export interface EngineParts<S> {
  readonly methods: MethodTable<S>;
  readonly borrow: () => Loan<S>;
  readonly hub: LogHub;
  readonly maxResponseBytes: () => number;
}

/** What a request collects on its way. */
interface Trip {
  readonly origin: Origin;
  readonly after: Array<() => void | Promise<void>>;
  delayMs: number;
  /** Bytes of answer that are left. */
  room: number;
}

/** JSON-RPC 2.0 over any services: one pipeline for every door. */
export class Engine<S extends object> {
  readonly #methods: ReadonlyMap<string, { readonly method: Method<S>; readonly span: string }>;
  readonly #log: Logger;
  readonly #guards: Guards;

  constructor(private readonly parts: EngineParts<S>) {
    this.#methods = new Map(
      Object.entries(parts.methods).map(([name, method]) => [
        name,
        { method, span: name.replace(/[_.]/, "::") },
      ]),
    );
    this.#log = parts.hub.logger("rpc");
    this.#guards = new Guards(
      async (caller, need) => {
        const loan = parts.borrow();
        try {
          return await loan.door.stillAdmits(caller, need);
        } finally {
          loan.release();
        }
      },
      (error) => void toFault(error, this.#log),
    );
  }

  /** To be called when tokens changed: subscriptions end at once with the token that made them. */
  recheck(): Promise<void> {
    return this.#guards.recheck();
  }

  /** Answers a request or a batch; a batch runs in order. */
  async answer(text: string, origin: Origin): Promise<Reply> {
    const trip: Trip = { origin, after: [], delayMs: 0, room: this.parts.maxResponseBytes() };
    const envelope = parseEnvelope(text);
    let answer: string | undefined;
    if (envelope.batch) {
      const answers: string[] = [];
      for (const item of envelope.items) {
        const one = await this.#answerItem(item, trip);
        if (one !== undefined) answers.push(one);
      }
      answer = answers.length === 0 ? undefined : `[${answers.join(",")}]`;
    } else {
      answer = await this.#answerItem(envelope.item, trip);
    }
    return { text: answer, delayMs: trip.delayMs, sent: () => this.#runAfter(trip) };
  }

  async #answerItem(item: Item, trip: Trip): Promise<string | undefined> {
    if ("fault" in item) return errorText(item.fault, item.id);
    let text: string;
    try {
      const result = await this.#call(item, trip);
      if (item.id === undefined) return undefined;
      text = `{"jsonrpc":"2.0","result":${toJsonText(result)},"id":${item.id}}`;
    } catch (error) {
      const fault = toFault(error, this.#log);
      if (fault instanceof Refusal) trip.delayMs = Math.max(trip.delayMs, fault.delayMs);
      return item.id === undefined ? undefined : errorText(fault, item.id);
    }
    // A character is three bytes of UTF-8 at the most.
    const bytes = text.length * 3 <= trip.room ? text.length : Buffer.byteLength(text);
    if (bytes > trip.room) {
      const limit = this.parts.maxResponseBytes();
      return errorText(
        new Fault("ResponseTooBig", `the answer is above ${limit} bytes (max_response_body_size)`, { limit }),
        item.id,
      );
    }
    trip.room -= bytes;
    return text;
  }

  async #call(request: Request, trip: Trip): Promise<unknown> {
    const found = this.#methods.get(request.method);
    if (found === undefined) {
      throw new Fault("MethodNotFound", "", {
        method: request.method.slice(0, 200),
        detail: "rpc.discover lists the methods",
      });
    }
    const about: Record<string, unknown> = {};
    return inSpan(found.span, about, async () => {
      if (!this.#log.wants("DEBUG")) return this.#run(request, found.method, about, trip);
      const start = performance.now();
      const elapsed_ms = () => Math.round((performance.now() - start) * 1000) / 1000;
      try {
        const result = await this.#run(request, found.method, about, trip);
        this.#log.debug("success", { elapsed_ms: elapsed_ms() });
        return result;
      } catch (error) {
        this.#log.debug("failed", {
          elapsed_ms: elapsed_ms(),
          ...(error instanceof Fault ? { error: error.message } : {}),
        });
        throw error;
      }
    });
  }

  /** Parse, authenticate, authorise, run. */
  async #run(
    request: Request,
    method: Method<S>,
    about: Record<string, unknown>,
    trip: Trip,
  ): Promise<unknown> {
    const params = parseParams(method, request.params);
    for (const name of method.logged) about[name] = params[name];
    const need = method.needFor(params);
    const loan = this.parts.borrow();
    try {
      let caller = nobody;
      if (!isOpen(need)) {
        caller = await loan.door.admit(method.tokenIn(params), need, trip.origin.address());
        if (caller.by === "key") about.token_key = caller.key;
        else about.username = caller.username;
      }
      if (method.event !== undefined)
        return this.#subscribe(request.method, method, loan.services, need, caller, params, trip);
      return await method.run({ ...loan.services, ...toContext(caller, trip) }, params);
    } finally {
      loan.release();
    }
  }

  #subscribe(
    name: string,
    method: Method<S> & { event: object },
    services: S,
    need: Need,
    caller: Caller,
    params: Record<string, unknown>,
    trip: Trip,
  ): string {
    const { session } = trip.origin;
    if (session === undefined) {
      throw new Fault(
        "NeedsWebSocket",
        `${name} is a subscription; open a WebSocket on this address and call it there`,
      );
    }
    const { id, stop } = session.subscribe(name);
    try {
      const events = method.run({ ...services, ...toContext(caller, trip), stop }, params);
      trip.after.push(() => session.pump(id, events));
      if (!isOpen(need)) this.#guards.watch({ id, session, caller, need, farewell: method.farewell }, stop);
    } catch (error) {
      session.cancel(id);
      throw error;
    }
    return id;
  }

  #runAfter({ after }: Trip): void {
    for (const work of after) {
      // Once the answer has left there is nobody to tell but the log.
      Promise.try(work).catch((error: unknown) => toFault(error, this.#log));
    }
  }
}

function toContext(caller: Caller, trip: Trip): CallContext {
  return {
    caller,
    afterReply: (work) => void trip.after.push(work),
    cancel: (id) => trip.origin.session?.cancel(id) ?? false,
  };
}

function parseParams<S>(method: Method<S>, given: unknown): Record<string, unknown> {
  if (method.names.length === 0) return {};
  const named: unknown = Array.isArray(given)
    ? Object.fromEntries(method.names.map((name, at) => [name, given[at]]))
    : (given ?? {});
  const read = method.accepts.safeParse(named);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const { path, why } = issue === undefined ? { path: [], why: "cannot be read" } : toComplaint(issue, named);
  const field = path.join(".");
  throw new Fault("InvalidParams", `${field} ${why}`, { field });
}

function errorText(fault: Fault, id: IdText): string {
  return `{"jsonrpc":"2.0","error":${JSON.stringify(toWireError(fault))},"id":${id}}`;
}
