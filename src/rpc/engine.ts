// This folder answers JSON-RPC 2.0 over any services and any transport. The Engine of this file takes one request:
// envelope.ts parses it, request-state.ts bounds its memory, call-runner.ts validates, authenticates, authorises and
// runs each call, bodies.ts makes the answer. method.ts is the form in which a method is declared, discover.ts
// describes all methods as an OpenRPC document. session.ts has the subscriptions of one connection, and ends those
// whose token loses its rights.

import type { AuditLog } from "../auth/audit-log.ts";
import { CredentialsRejected } from "../auth/authenticator.ts";
import { parseCredentials } from "../auth/credentials.ts";
import { anyToken } from "../auth/need.ts";
import { type Clock, millisecondsSince } from "../base/clock.ts";
import { Fault, type FaultKind } from "../base/fault.ts";
import { toJsonText } from "../base/json.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import type { Turns } from "../base/turns.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { inSpan } from "../log/span.ts";
import {
  type Body,
  batchBody,
  errorBody,
  isStreamedJson,
  type LargeAnswer,
  type Reply,
  refuse,
  resultBody,
  toFault,
} from "./bodies.ts";
import { type Call, CallRunner } from "./call-runner.ts";
import {
  countStructure,
  findRefusal,
  type Item,
  isShallow,
  maxOpenStructure,
  parseEnvelope,
  structureIn,
} from "./envelope.ts";
import type { Lease, Method, MethodTable } from "./method.ts";
import { maxBytesPerChar, memoryIsFull, type RequestSource, RequestState } from "./request-state.ts";
import { SubscriptionReauthorizer } from "./session.ts";

interface EngineOptions<S> {
  readonly methods: MethodTable<S>;
  readonly acquire: () => Lease<S>;
  readonly hub: LogHub;
  readonly audit: AuditLog;
  readonly maxResponseBytes: () => number;
  readonly turns: Turns;
  readonly clock: Clock;
  /** Called when a call has ended. `outcome` is `ok` or the kind of the fault. */
  readonly onCall?: (method: string, outcome: FaultKind | "ok", startedAt: number) => void;
}

/** A batch pauses for other clients after this time, and the first time after this many calls. */
const maxTickMs = 5;
const callsBeforeFirstPause = 15;
/**
 * A longer request of a caller without a proven token waits for its turn to be parsed, unless it has few values: that takes no
 * time.
 */
const maxUnqueuedChars = 4096;
/**
 * The memory of a shorter request, parsed, is not counted. Nor is that of a request up to `uncountedBytes` with at most
 * `maxUncountedValues` values.
 */
const maxUncountedChars = 256;
const maxUncountedValues = 128;
/** The approximate memory of one parsed object or array. */
const bytesPerValue = 64;

type Answer = Body | Promise<Body>;

interface Timing {
  /** `performance.now()` when the call began. */
  readonly startedAt: number;
  /** Whether the end of the call is logged. */
  readonly isLogged: boolean;
}

/** Engine answers JSON-RPC 2.0 over any services: one pipeline for every transport. */
export class Engine<S extends object> {
  readonly #options: EngineOptions<S>;
  readonly #methods: ReadonlyMap<string, { readonly method: Method<S>; readonly span: string }>;
  readonly #log: Logger;
  readonly #reauthorizer: SubscriptionReauthorizer;
  readonly #runner: CallRunner<S>;

  constructor(options: EngineOptions<S>) {
    this.#options = options;
    this.#methods = new Map(
      Object.entries(options.methods).map(([name, method]) => [
        name,
        { method, span: name.replace(/[_.]/, "::") },
      ]),
    );
    this.#log = options.hub.logger("rpc");
    this.#reauthorizer = new SubscriptionReauthorizer(
      async (watched) => {
        const lease = options.acquire();
        try {
          return await lease.authenticator.stillAuthorised(watched);
        } finally {
          lease.release();
        }
      },
      (error) => void toFault(error, this.#log),
      options.clock,
    );
    this.#runner = new CallRunner(options.acquire, this.#reauthorizer, options.audit);
  }

  /** Ends the subscriptions of revoked tokens at once. To be called when tokens changed. */
  recheck(): Promise<void> {
    return this.#reauthorizer.recheck();
  }

  /** Answers a request, or a batch in order. What needs no waiting is answered at once and not as a promise. */
  answer(text: string, source: RequestSource): Reply | Promise<Reply> {
    if (
      text.length <= uncountedBytes &&
      (text.length <= maxUncountedChars || isShallow(text, maxUncountedValues))
    )
      return this.#answerText(text, source, 0);
    if (text.length > maxUnqueuedChars && !source.isProven) return this.#answerLarge(text, source);
    const isCounted = text.length <= uncountedBytes;
    return this.#answerText(text, source, isCounted ? structureIn(text, 0, text.length) : 0);
  }

  /** Parses a request that is heavy to parse only for a caller with a valid token. */
  async #answerLarge(text: string, source: RequestSource): Promise<Reply> {
    const pause = () => this.#options.turns.pause(source);
    const structure = await countStructure(text, pause);
    if (structure > maxOpenStructure) {
      const refusal = await this.#findRefusal(text, source);
      if (refusal !== undefined) return refuse(refusal);
    }
    // Parsing takes some milliseconds, and many clients may need it at once.
    await pause();
    return this.#answerText(text, source, structure);
  }

  async #findRefusal(text: string, source: RequestSource): Promise<Fault | undefined> {
    const lease = this.#options.acquire();
    try {
      source.requireAddress();
      return await findRefusal({ text, bearer: source.bearer }, async (token) =>
        lease.authenticator.authenticate([parseCredentials(token)], anyToken, source),
      );
    } catch (error) {
      return toFault(error, this.#log);
    } finally {
      lease.release();
    }
  }

  #answerText(text: string, source: RequestSource, structure: number): Reply | Promise<Reply> {
    const parsedBytes = structure * bytesPerValue;
    if (parsedBytes > 0 && !source.reserve(parsedBytes)) return refuse(memoryIsFull());
    const envelope = parseEnvelope(text);
    const limits = { maxResponseBytes: this.#options.maxResponseBytes(), parsedBytes };
    const state = new RequestState(source, limits, { isBatch: envelope.batch });
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
      hasSecret: state.hasSecret,
      refusal,
      reservedBytes: state.reservedBytes,
      delayMs: state.delayMs,
      sent: state.after.length === 0 ? undefined : () => this.#runAfter(state),
    };
  }

  async #answerBatch(items: readonly Item[], state: RequestState): Promise<Body> {
    const answers: Array<string | LargeAnswer> = [];
    let pauseAt = performance.now() + maxTickMs;
    for (const [at, item] of items.entries()) {
      const one = await this.#answerItem(item, state);
      if (one !== undefined) answers.push(one);
      if (at !== callsBeforeFirstPause && performance.now() < pauseAt) continue;
      await this.#options.turns.pause(state.source);
      pauseAt = performance.now() + maxTickMs;
    }
    return batchBody(answers);
  }

  #answerItem(item: Item, state: RequestState): Answer {
    if ("fault" in item) return errorBody(item.fault, item.id, state);
    state.source.noteMethod(item.method);
    const found = this.#methods.get(item.method);
    if (found === undefined) {
      const fault = new Fault("MethodNotFound", "rpc.discover lists the methods", {
        method: item.method.slice(0, 200),
      });
      return item.id === undefined ? undefined : errorBody(fault, item.id, state);
    }
    if (found.method.secretResult) state.hasSecret = true;
    const call: Call<S> = { request: item, method: found.method, state, logFields: {} };
    return inSpan(found.span, call.logFields, this.#answerCall, call);
  }

  /** Runs a call and builds its answer; one line of the log says how it went. */
  readonly #answerCall = (call: Call<S>): Answer => {
    const { request, state } = call;
    // Decided beforehand: a stream of the log must not begin with the line about the call that opened it.
    const timing: Timing = { startedAt: performance.now(), isLogged: this.#log.wants("DEBUG") };
    state.maxIdBytes = (request.id?.length ?? 0) * maxBytesPerChar;
    try {
      const result = this.#runner.run(call);
      if (result instanceof Promise) return this.#answerLater(result, call, timing);
      return this.#succeeded(result, call, timing);
    } catch (error) {
      return this.#failed(error, call, timing);
    }
  };

  async #answerLater(result: Promise<unknown>, call: Call<S>, timing: Timing): Promise<Body> {
    try {
      const answer = this.#succeeded(await result, call, timing);
      return answer instanceof Promise ? await answer : answer;
    } catch (error) {
      return this.#failed(error, call, timing);
    }
  }

  #succeeded(
    result: unknown,
    { request: { id, method }, state }: Call<S>,
    { startedAt, isLogged }: Timing,
  ): Answer {
    const json = isStreamedJson(result) ? result : toJsonText(result);
    if (id === undefined && typeof json !== "string") void json[Symbol.asyncDispose]();
    const body = id === undefined ? undefined : resultBody(json, id, state);
    this.#options.onCall?.(method, "ok", startedAt);
    if (isLogged) this.#log.debug("success", { elapsed_ms: millisecondsSince(startedAt) });
    return body;
  }

  #failed(
    error: unknown,
    { request: { id, method }, state }: Call<S>,
    { startedAt, isLogged }: Timing,
  ): string | undefined {
    const fault = toFault(error, this.#log);
    if (fault instanceof CredentialsRejected) state.delayMs = Math.max(state.delayMs, fault.delayMs);
    this.#options.onCall?.(method, fault.kind, startedAt);
    if (isLogged)
      this.#log.debug("failed", { elapsed_ms: millisecondsSince(startedAt), error: fault.message });
    return id === undefined ? undefined : errorBody(fault, id, state);
  }

  #runAfter({ after }: RequestState): void {
    for (const work of after) {
      // The answer has left, so a failure can only be logged.
      Promise.try(work).catch((error: unknown) => toFault(error, this.#log));
    }
  }
}
