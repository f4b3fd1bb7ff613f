import { type Caller, nobody } from "../auth/caller.ts";
import { type AuthDoor, type Guest, Refusal } from "../auth/door.ts";
import { isOpen, type Need } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { toJsonText } from "../base/raw-json.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { inSpan } from "../log/span.ts";
import { type IdText, type Item, parseEnvelope, type Request } from "./envelope.ts";
import { toFault, toWireError } from "./errors.ts";
import { Guards } from "./guards.ts";
import type { CallContext, Method, MethodTable } from "./method.ts";
import { parseParams } from "./params.ts";
import type { Session } from "./session.ts";

/** The door a request came through. */
export interface Origin extends Guest {
  /** Where subscriptions live; plain HTTP has none. */
  readonly session: Session | undefined;
}

export interface Reply {
  /** Nothing to answer: only notifications. */
  readonly text: string | undefined;
  /** Keep the answer back this long: its address guesses. */
  readonly delayMs: number;
  /** To be called once the answer has left; most calls leave nothing to do. */
  readonly sent: (() => void) | undefined;
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
  /** What the present call's id takes of it at the most. */
  idBytes: number;
  /** The subscription that the present call began. */
  opened: string | undefined;
}

type Answer = string | undefined | Promise<string | undefined>;

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

  /** Answers a request or a batch; a batch runs in order. What has nothing to wait for is answered at once. */
  answer(text: string, origin: Origin): Reply | Promise<Reply> {
    const trip: Trip = {
      origin,
      after: [],
      delayMs: 0,
      room: this.parts.maxResponseBytes(),
      idBytes: 0,
      opened: undefined,
    };
    const envelope = parseEnvelope(text);
    const answer = envelope.batch
      ? this.#answerBatch(envelope.items, trip)
      : this.#answerItem(envelope.item, trip);
    return answer instanceof Promise
      ? answer.then((words) => this.#toReply(words, trip))
      : this.#toReply(answer, trip);
  }

  #toReply(text: string | undefined, trip: Trip): Reply {
    return {
      text,
      delayMs: trip.delayMs,
      sent: trip.after.length === 0 ? undefined : () => this.#runAfter(trip),
    };
  }

  async #answerBatch(items: readonly Item[], trip: Trip): Promise<string | undefined> {
    const answers: string[] = [];
    for (const item of items) {
      const one = await this.#answerItem(item, trip);
      if (one !== undefined) answers.push(one);
    }
    return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
  }

  #answerItem(item: Item, trip: Trip): Answer {
    if ("fault" in item) return errorText(item.fault, item.id);
    const found = this.#methods.get(item.method);
    if (found === undefined) {
      const fault = new Fault("MethodNotFound", "rpc.discover lists the methods", {
        method: item.method.slice(0, 200),
      });
      return item.id === undefined ? undefined : errorText(fault, item.id);
    }
    const about: Record<string, unknown> = {};
    return inSpan(found.span, about, () => this.#answerCall(item, found.method, about, trip));
  }

  /** Runs the call and puts its outcome into words; one line in the log says how it went. */
  #answerCall(request: Request, method: Method<S>, about: Record<string, unknown>, trip: Trip): Answer {
    const start = this.#log.wants("DEBUG") ? performance.now() : undefined;
    trip.idBytes = (request.id?.length ?? 0) * 3;
    try {
      const result = this.#run(request, method, about, trip);
      if (!(result instanceof Promise)) return this.#succeeded(result, request, trip, start);
      return result
        .then((value) => this.#succeeded(value, request, trip, start))
        .catch((error: unknown) => this.#failed(error, request, trip, start));
    } catch (error) {
      return this.#failed(error, request, trip, start);
    }
  }

  #succeeded(result: unknown, { id }: Request, trip: Trip, start: number | undefined): string | undefined {
    const words = toJsonText(result);
    const text =
      id === undefined ? undefined : this.#fitting(`{"jsonrpc":"2.0","result":${words},"id":${id}}`, trip);
    if (start !== undefined) this.#log.debug("success", { elapsed_ms: millisecondsSince(start) });
    return text;
  }

  #failed(error: unknown, { id }: Request, trip: Trip, start: number | undefined): string | undefined {
    const fault = toFault(error, this.#log);
    if (fault instanceof Refusal) trip.delayMs = Math.max(trip.delayMs, fault.delayMs);
    if (start !== undefined)
      this.#log.debug("failed", { elapsed_ms: millisecondsSince(start), error: fault.message });
    return id === undefined ? undefined : errorText(fault, id);
  }

  #fitting(text: string, trip: Trip): string {
    const bytes = Buffer.byteLength(text);
    if (bytes <= trip.room) {
      trip.room -= bytes;
      trip.opened = undefined;
      return text;
    }
    // Whoever does not learn the id of a subscription could never end it.
    if (trip.opened !== undefined) trip.origin.session?.cancel(trip.opened);
    const limit = this.parts.maxResponseBytes();
    throw new Fault("ResponseTooBig", `the answer is above ${limit} bytes (max_response_body_size)`, {
      limit,
    });
  }

  /** Parse, authenticate, authorise, run. */
  #run(request: Request, method: Method<S>, about: Record<string, unknown>, trip: Trip): unknown {
    const params = parseParams(method, request.params);
    Object.assign(about, method.loggedFields(params));
    const need = method.needFor(params);
    const loan = this.parts.borrow();
    if (isOpen(need)) return this.#invoke(request.method, method, loan, need, nobody, params, trip);
    return loan.door.admit(method.tokenIn(params), need, trip.origin).then(
      (caller) => {
        if (caller.by === "key") about.token_key = caller.key;
        else about.username = caller.username;
        return this.#invoke(request.method, method, loan, need, caller, params, trip);
      },
      (refusal: unknown) => {
        loan.release();
        throw refusal;
      },
    );
  }

  /** Runs the body, and gives the loan back when it is done. */
  #invoke(
    name: string,
    method: Method<S>,
    loan: Loan<S>,
    need: Need,
    caller: Caller,
    params: Record<string, unknown>,
    trip: Trip,
  ): unknown {
    let result: unknown;
    try {
      result =
        method.event === undefined
          ? method.run(toContext(loan.services, caller, trip), params)
          : this.#subscribe(name, method, loan.services, need, caller, params, trip);
    } catch (error) {
      loan.release();
      throw error;
    }
    if (result instanceof Promise) return result.finally(loan.release);
    loan.release();
    return result;
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
    trip.opened = id;
    try {
      const events = method.run({ ...toContext(services, caller, trip), stop }, params);
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

function millisecondsSince(start: number): number {
  return Math.round((performance.now() - start) * 1000) / 1000;
}

/** What JSON-RPC puts around a result, without the id. */
const envelopeBytes = Buffer.byteLength('{"jsonrpc":"2.0","result":,"id":}');

function toContext<S extends object>(services: S, caller: Caller, trip: Trip): S & CallContext {
  return {
    ...services,
    caller,
    room: trip.room - envelopeBytes - trip.idBytes,
    afterReply: (work) => void trip.after.push(work),
    cancel: (id) => trip.origin.session?.cancel(id) ?? false,
  };
}

function errorText(fault: Fault, id: IdText): string {
  return `{"jsonrpc":"2.0","error":${JSON.stringify(toWireError(fault))},"id":${id}}`;
}
