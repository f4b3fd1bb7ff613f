import { z } from "zod";
import type { Audit } from "../auth/audit-log.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import { isOpen, type Need } from "../auth/need.ts";
import type { FaultKind } from "../base/fault.ts";
import type { RawJson } from "../base/json.ts";
import type { DropNotice } from "../base/mailbox.ts";
import type { StreamedJson } from "./bodies.ts";
import type { EndReason } from "./session.ts";

/** Effects of a call on what the server keeps, each with its meaning for the documents. */
export const effects = {
  reads: "changes nothing",
  changes: "creates or changes something",
  destroys: "deletes or replaces something that no other call can restore",
} as const;
export type Effect = keyof typeof effects;

/** Params are name → schema, in the order of positional params. */
type Params = Readonly<Record<string, z.ZodType>>;
type ParamValues<P extends Params> = { [K in keyof P]: z.output<P[K]> };

/** CallContext is what a method gets beside the services and its params. */
export interface CallContext {
  readonly caller: Caller;
  /** Records a change once it is made: every method that changes something calls it, once. */
  readonly audit: Audit;
  /** The client's address; empty for a method that only reads. */
  readonly address: string;
  /** Resolves to the stored hash of the caller's own password if this is right; throws CredentialsRejected otherwise. */
  provePassword(password: string): Promise<string>;
  /** Resolves if the caller's token takes no codes of an app, or this one is right; throws Denied otherwise. */
  proveCode(code: string | null | undefined): Promise<void>;
  /** How many bytes the result may take as JSON. */
  readonly resultBudgetBytes: number;
  /** Fires when the client has disconnected: nobody waits for the result any more. */
  readonly disconnected: AbortSignal;
  /** Throws Denied unless the database would authorise the caller now. For what is done after a wait. */
  assertStillAuthorised(): Promise<void>;
  /** Runs work once the answer has been sent. */
  afterReply(work: () => void | Promise<void>): void;
  /**
   * Opens something that ends with this connection, with the caller's permission, or when `cancel` is called with its id: then `stop`
   * fires. Throws NeedsWebSocket.
   */
  hold(): { readonly id: string; readonly stop: AbortSignal };
  /** Whether this connection has what `hold` has opened with this id. */
  holds(id: string): boolean;
  /** Ends a subscription of this connection; false if it has none with this id. */
  cancel(subscription: string): boolean;
}

interface StreamContext extends CallContext {
  /** Fires when the subscription has ended. */
  readonly stop: AbortSignal;
}

type Result<R extends z.ZodType> = z.input<R> | RawJson | StreamedJson;

interface Declaration<P extends Params> {
  /** What it does, in a line, for people. */
  readonly doc: string;
  readonly need: Need | ((params: ParamValues<P>) => Need);
  readonly effect: Effect;
  /** A sentence that a person should read before the call; every method that destroys has one. */
  readonly warning?: string;
  /** Without the caller's token, which comes first by itself, unless `credential` says where it stands. */
  readonly params: P;
  readonly credential?: (params: ParamValues<P>) => string;
  /** Params that may stand in the log, as they are or as a function shows them: never secrets, contents or SQL values. */
  readonly logged?:
    | ReadonlyArray<keyof P & string>
    | { readonly [K in keyof P]?: (value: z.output<P[K]>) => unknown };
  /** Whether the result may contain a secret: then the answer is not compressed (BREACH). */
  readonly secretResult?: boolean;
  /** The method to use instead. */
  readonly replacedBy?: string;
  /** How it can fail beyond what its params and its need say. */
  readonly fails?: readonly FaultKind[];
  /** For the documents; a test runs it. `<…>` stands for what differs from server to server. */
  readonly example?: { readonly params: Readonly<Record<string, unknown>>; readonly result: unknown };
}

interface CallDeclaration<S, P extends Params, R extends z.ZodType> extends Declaration<P> {
  readonly result: R;
  /** May answer with JSON text that already is what `result` says, or becomes it while it is sent. */
  run(call: S & CallContext, params: ParamValues<P>): Result<R> | Promise<Result<R>>;
}

interface StreamDeclaration<S, P extends Params, E extends z.ZodType> extends Declaration<P> {
  /** Each event; the call's own result is the subscription's id. */
  readonly event: E;
  /** The last event of a subscription whose token is not valid any more, which says so to people. */
  lastEvent?(reason: EndReason): z.input<E>;
  run(
    call: S & StreamContext,
    params: ParamValues<P>,
  ): AsyncIterable<z.input<E> | DropNotice> | Promise<AsyncIterable<z.input<E> | DropNotice>>;
}

/** A method as the engine, the documents and the typed client see it. */
export type Method<S, P extends Params = Params, R extends z.ZodType = z.ZodType> = {
  readonly doc: string;
  readonly effect: Effect;
  readonly warning: string | undefined;
  /** All params, the token included. */
  readonly accepts: z.ZodObject;
  readonly names: readonly string[];
  /** Fields of the call's log span. */
  loggedFields(params: ParamValues<P>): Readonly<Record<string, unknown>>;
  readonly replacedBy: string | undefined;
  readonly secretResult: boolean;
  readonly fails: readonly FaultKind[];
  readonly example: Declaration<P>["example"];
  readonly result: R;
  needFor(params: ParamValues<P>): Need;
  /** The caller's token text. */
  tokenIn(params: ParamValues<P>): string;
} & (
  | { readonly event: undefined; run(call: S & CallContext, params: ParamValues<P>): unknown }
  | {
      readonly event: z.ZodType;
      readonly lastEvent: ((reason: EndReason) => unknown) | undefined;
      run(
        call: S & StreamContext,
        params: ParamValues<P>,
      ): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>;
    }
);

/** `<namespace>_<method>` → method. */
export type MethodTable<S> = Readonly<Record<string, Method<S>>>;

/** `writeOnly` (JSON Schema) marks a secret: programs that show params hide its value. */
export const tokenText = z
  .string()
  .meta({ description: "`<key>:<secret>` or `<username>|<password>`", writeOnly: true });

/** The two ways to declare a method over the services `S`. */
export function declareOver<S>() {
  return {
    method<P extends Params, R extends z.ZodType>(declaration: CallDeclaration<S, P, R>): Method<S, P, R> {
      return { ...complete(declaration), result: declaration.result, event: undefined, run: declaration.run };
    },
    subscription<P extends Params, E extends z.ZodType>(
      declaration: StreamDeclaration<S, P, E>,
    ): Method<S, P, z.ZodString> {
      const result = z.string().describe("the subscription's id");
      return {
        ...complete(declaration),
        result,
        event: declaration.event,
        lastEvent: declaration.lastEvent,
        run: declaration.run,
      };
    },
  };
}

function complete<P extends Params>(declaration: Declaration<P>) {
  const { doc, need, effect, warning, params, credential, logged, replacedBy, fails, example } = declaration;
  const open = typeof need === "object" && isOpen(need);
  const all: Params = open || credential !== undefined ? params : { token: tokenText, ...params };
  return {
    doc,
    effect,
    warning,
    accepts: z.object(all),
    names: Object.keys(all),
    loggedFields: fieldsOf<P>(logged ?? []),
    replacedBy,
    secretResult: declaration.secretResult ?? false,
    fails: fails ?? [],
    example,
    needFor: (values: ParamValues<P>) => (typeof need === "function" ? need(values) : need),
    tokenIn: (values: ParamValues<P>) =>
      credential === undefined ? String(values.token) : credential(values),
  };
}

/** The name of the param that holds the caller's token; undefined for a method that needs none. */
export function credentialParam<S>({ names, needFor, tokenIn }: Method<S>): string | undefined {
  if (isOpen(needFor({}))) return undefined;
  return names.find((name) => tokenIn({ [name]: "here" }) === "here");
}

const none = {};

function fieldsOf<P extends Params>(logged: NonNullable<Declaration<P>["logged"]>) {
  const shown = isList(logged) ? logged.map((name) => [name, undefined] as const) : Object.entries(logged);
  if (shown.length === 0) return () => none;
  return (values: ParamValues<P>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(shown.map(([name, show]) => [name, show ? show(values[name]) : values[name]]));
}

function isList<P extends Params>(
  logged: NonNullable<Declaration<P>["logged"]>,
): logged is ReadonlyArray<keyof P & string> {
  return Array.isArray(logged);
}

/** Lease is the services of the present configuration, kept open until `release`. */
export interface Lease<S> {
  readonly services: S;
  readonly authenticator: Authenticator;
  release(): void;
}
