import { type Authenticator, CredentialsRejected } from "../auth/authenticator.ts";
import { anonymous, type Caller } from "../auth/caller.ts";
import { anyToken, isOpen, type Need } from "../auth/need.ts";
import type { Peer } from "../auth/peer.ts";
import { millisecondsSince } from "../base/elapsed.ts";
import { Fault } from "../base/fault.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import { toJsonText } from "../base/raw-json.ts";
import type { Turns } from "../base/turns.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { inSpan } from "../log/span.ts";
import { type Body, batchBody, envelopeBytes, errorBody, resultBody } from "./bodies.ts";
import { type Item, parseEnvelope, type Request } from "./envelope.ts";
import { toFault } from "./errors.ts";
import { Guards } from "./guards.ts";
import { countStructure, findRefusal, maxOpenStructure, structureIn } from "./heavy-request.ts";
import { isStreamedJson, type LargeAnswer } from "./large-answer.ts";
import type { CallContext, Method, MethodTable } from "./method.ts";
import { parseParams } from "./params.ts";
import { type Reply, refuse } from "./reply.ts";
import { memoryIsFull, type Origin, RequestState } from "./request-state.ts";

/** The services as they are now, kept open until `release`. */
export interface Loan<S> {
  readonly services: S;
  readonly door: Authenticator;
  release(): void;
}

export interface EngineParts<S> {
  readonly methods: MethodTable<S>;
  readonly borrow: () => Loan<S>;
  readonly hub: LogHub;
  readonly maxResponseBytes: () => number;
  readonly turns: Turns;
}

/** So long a batch runs before others get their turn of the event loop, and the first time after so many calls. */
const maxTurnMs = 5;
const firstPause = 15;
/** A request up to this length is parsed at once; a longer one of a stranger waits for its turn. */
const smallChars = 4096;
/** What a request up to this length becomes in memory is not worth counting. */
const tinyChars = 256;
/** An object or array takes about this much in memory. */
const valueBytes = 64;

type Answer = Body | Promise<Body>;

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
    if (text.length > smallChars && !origin.isProven) return this.#answerLarge(text, origin);
    const isCounted = text.length > tinyChars && text.length <= uncountedBytes;
    return this.#answerText(text, origin, isCounted ? structureIn(text, 0, text.length) : 0);
  }

  /** A request that is heavy to parse is parsed only for a caller that knows a valid token. */
  async #answerLarge(text: string, origin: Origin): Promise<Reply> {
    const pause = () => this.parts.turns.pause(origin);
    const structure = await countStructure(text, pause);
    if (structure > maxOpenStructure) {
      const refusal = await this.#refuseStranger(text, origin);
      if (refusal !== undefined) return refuse(refusal);
    }
    // Parsing takes up to some milliseconds, and many may ask for it at once.
    await pause();
    return this.#answerText(text, origin, structure);
  }

  async #refuseStranger(text: string, peer: Peer): Promise<Fault | undefined> {
    const loan = this.parts.borrow();
    try {
      return await findRefusal(text, (token) => loan.door.admit(token, anyToken, peer));
    } catch (error) {
      return toFault(error, this.#log);
    } finally {
      loan.release();
    }
  }

  #answerText(text: string, origin: Origin, structure: number): Reply | Promise<Reply> {
    const parsedBytes = structure * valueBytes;
    if (parsedBytes > 0 && !origin.reserve(parsedBytes)) return refuse(memoryIsFull());
    const envelope = parseEnvelope(text);
    const limits = { maxResponseBytes: this.parts.maxResponseBytes(), parsedBytes };
    const state = new RequestState(origin, limits, envelope.batch);
    if (!envelope.batch) {
      const answer = this.#answerItem(envelope.item, state);
      return answer instanceof Promise
        ? answer.then((body) => this.#toReply(body, state, state.refusal))
        : this.#toReply(answer, state, state.refusal);
    }
    return this.#answerBatch(envelope.items, state).then((body) => this.#toReply(body, state, undefined));
  }

  #toReply(body: Body, state: RequestState, refusal: Fault | undefined): Reply {
    return {
      body,
      refusal,
      reservedBytes: state.reservedBytes,
      delayMs: state.delayMs,
      sent: state.after.length === 0 ? undefined : () => this.#runAfter(state),
    };
  }

  async #answerBatch(items: readonly Item[], state: RequestState): Promise<Body> {
    const answers: Array<string | LargeAnswer> = [];
    let pauseAt = performance.now() + maxTurnMs;
    for (const [at, item] of items.entries()) {
      const one = await this.#answerItem(item, state);
      if (one !== undefined) answers.push(one);
      if (at !== firstPause && performance.now() < pauseAt) continue;
      await this.parts.turns.pause(state.origin);
      pauseAt = performance.now() + maxTurnMs;
    }
    return batchBody(answers);
  }

  #answerItem(item: Item, state: RequestState): Answer {
    if ("fault" in item) return errorBody(item.fault, item.id, state);
    const found = this.#methods.get(item.method);
    if (found === undefined) {
      const fault = new Fault("MethodNotFound", "rpc.discover lists the methods", {
        method: item.method.slice(0, 200),
      });
      return item.id === undefined ? undefined : errorBody(fault, item.id, state);
    }
    const about: Record<string, unknown> = {};
    return inSpan(found.span, about, () => this.#answerCall(item, found.method, about, state));
  }

  /** Runs the call and puts its outcome into words; one line in the log says how it went. */
  #answerCall(
    request: Request,
    method: Method<S>,
    about: Record<string, unknown>,
    state: RequestState,
  ): Answer {
    const start = this.#log.wants("DEBUG") ? performance.now() : undefined;
    state.idBytes = (request.id?.length ?? 0) * 3;
    try {
      const result = this.#run(request, method, about, state);
      if (!(result instanceof Promise)) return this.#succeeded(result, request, state, start);
      return result
        .then((value) => this.#succeeded(value, request, state, start))
        .catch((error: unknown) => this.#failed(error, request, state, start));
    } catch (error) {
      return this.#failed(error, request, state, start);
    }
  }

  #succeeded(result: unknown, { id }: Request, state: RequestState, start: number | undefined): Answer {
    const json = isStreamedJson(result) ? result : toJsonText(result);
    if (id === undefined && typeof json !== "string") void json[Symbol.asyncDispose]();
    const body = id === undefined ? undefined : resultBody(json, id, state);
    if (start !== undefined) this.#log.debug("success", { elapsed_ms: millisecondsSince(start) });
    return body;
  }

  #failed(
    error: unknown,
    { id }: Request,
    state: RequestState,
    start: number | undefined,
  ): string | undefined {
    const fault = toFault(error, this.#log);
    if (fault instanceof CredentialsRejected) state.delayMs = Math.max(state.delayMs, fault.delayMs);
    if (start !== undefined)
      this.#log.debug("failed", { elapsed_ms: millisecondsSince(start), error: fault.message });
    return id === undefined ? undefined : errorBody(fault, id, state);
  }

  /** Parse, authenticate, authorise, run. */
  #run(request: Request, method: Method<S>, about: Record<string, unknown>, state: RequestState): unknown {
    const params = parseParams(method, request.params);
    Object.assign(about, method.loggedFields(params));
    const need = method.needFor(params);
    const loan = this.parts.borrow();
    if (isOpen(need)) return this.#invoke(request.method, method, loan, need, anonymous, params, state);
    return loan.door.admit(method.tokenIn(params), need, state.peer).then(
      (caller) => {
        state.proved();
        if (caller.by === "key") about.token_key = caller.key;
        else about.username = caller.username;
        return this.#invoke(request.method, method, loan, need, caller, params, state);
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
    state: RequestState,
  ): unknown {
    let result: unknown;
    try {
      result =
        method.event === undefined
          ? method.run(toContext(loan.services, caller, state), params)
          : this.#subscribe(name, method, loan.services, need, caller, params, state);
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
    state: RequestState,
  ): string {
    const { session } = state.origin;
    if (session === undefined) {
      throw new Fault(
        "NeedsWebSocket",
        `${name} is a subscription; open a WebSocket on this address and call it there`,
      );
    }
    const { id, stop } = session.subscribe(name);
    state.opened = id;
    try {
      const events = method.run({ ...toContext(services, caller, state), stop }, params);
      state.after.push(() => session.pump(id, events));
      if (!isOpen(need)) this.#guards.watch({ id, session, caller, need, farewell: method.farewell }, stop);
    } catch (error) {
      session.cancel(id);
      throw error;
    }
    return id;
  }

  #runAfter({ after }: RequestState): void {
    for (const work of after) {
      // Once the answer has left there is nobody to tell but the log.
      Promise.try(work).catch((error: unknown) => toFault(error, this.#log));
    }
  }
}

function toContext<S extends object>(services: S, caller: Caller, state: RequestState): S & CallContext {
  return {
    ...services,
    caller,
    room: state.room - envelopeBytes - state.idBytes,
    afterReply: (work) => void state.after.push(work),
    cancel: (id) => state.origin.session?.cancel(id) ?? false,
  };
}
