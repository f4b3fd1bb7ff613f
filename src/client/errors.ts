import { type DenialReason, denialReasons, errorKinds, errorTitles } from "./methods.ts";

export type ErrorKind = keyof typeof errorKinds;

/** Everything that this client throws, except the reason of an aborted signal and what a source of an upload throws. */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
}

/** Why a server cannot be reached, where the system says so. Browsers say nothing. */
export type UnreachableReason =
  /** Nothing listens at the address. */
  | "refused"
  | "unknown_host"
  /** The other side closed the connection before it answered, as an https port does with http. */
  | "closed"
  | "timeout"
  /** The certificate is not trusted, has expired, or belongs to another host. */
  | "certificate"
  /** The address says https, but the port does not speak it. */
  | "not_https";

/** The server could not be reached, or what answered is no node-server. Asking again may help. */
export class Unreachable extends ClientError {
  override readonly name: string = "Unreachable";
  readonly reason: UnreachableReason | undefined;

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly reason?: UnreachableReason | undefined } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.reason = options.reason;
  }
}

/** No answer came within `timeoutMs`. The server may have done what it was asked. */
export class TimedOut extends Unreachable {
  override readonly name = "TimedOut";

  constructor(message: string) {
    super(message, { reason: "timeout" });
  }
}

/** Something answered, but not as a node-server does: a proxy's error page, or another program. */
export class NotNodeServer extends Unreachable {
  override readonly name = "NotNodeServer";
}

/** A connection that worked broke. */
export class Disconnected extends Unreachable {
  override readonly name = "Disconnected";

  constructor(
    message: string,
    /** Of a WebSocket: 1001 the server stops, 1012 it restarts, 1006 nobody said goodbye. */
    readonly code?: number,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The server said no: `kind` says why in a word, `message` in a sentence. */
export class RpcError extends ClientError {
  override readonly name: string = "RpcError";

  constructor(
    message: string,
    readonly code: number,
    readonly kind: ErrorKind,
    /** What helps a program: `field`, `line`, `column`, `path`, … */
    readonly data: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }

  /** The message without the title of its kind in front, for people: `name must be …` of `InvalidInput: name must be …`. */
  get detail(): string {
    // Messages of JSON-RPC itself are a title alone, and the sentence is in the data.
    if (typeof this.data.detail === "string") return this.data.detail;
    const title = `${errorTitles[this.kind]}: `;
    return this.message.startsWith(title) ? this.message.slice(title.length) : this.message;
  }
}

/** The token is wrong, expired, or does not hold what the method needs; `reason` says which. */
export class PermissionDenied extends RpcError {
  override readonly name = "PermissionDenied";

  /** Undefined when the server is older than this field. */
  get reason(): DenialReason | undefined {
    return denialReasons.find((reason) => reason === this.data.reason);
  }
}
export class NotFound extends RpcError {
  override readonly name = "NotFound";
}
/** A param is missing, ill-typed or not acceptable; `data.field` may name it. */
export class InvalidInput extends RpcError {
  override readonly name = "InvalidInput";
}
/** A text (token, TOML, filter) could not be read; `data` may hold `line` and `column`. */
export class ParseError extends RpcError {
  override readonly name = "ParseError";
}
export class DatabaseError extends RpcError {
  override readonly name = "DatabaseError";
}
export class IoError extends RpcError {
  override readonly name = "IoError";
}
/** The server has no such method: it is older or newer than this client. */
export class MethodNotFound extends RpcError {
  override readonly name = "MethodNotFound";
}
/** Too many calls at once; the same call works in a moment. */
export class Busy extends RpcError {
  override readonly name = "Busy";
}
/** Request, answer, batch or number of subscriptions are above what the server allows. */
export class LimitReached extends RpcError {
  override readonly name = "LimitReached";
}
/** A bug of the server; its log holds the whole story under `data.reference`. */
export class InternalError extends RpcError {
  override readonly name = "InternalError";
}

const classes: Partial<Record<ErrorKind, typeof RpcError>> = {
  PermissionDenied,
  NotFound,
  UuidNotFound: NotFound,
  ConfigNotFound: NotFound,
  InvalidInput,
  InvalidParams: InvalidInput,
  ParseError,
  DatabaseError,
  IoError,
  MethodNotFound,
  Busy,
  TooManySubscriptions: LimitReached,
  RequestTooBig: LimitReached,
  ResponseTooBig: LimitReached,
  BatchTooLong: LimitReached,
  Internal: InternalError,
};

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function toRpcError({ code, message, data }: WireError): RpcError {
  const more = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  const kind = kindNamed(more.kind) ?? kindNumbered(code) ?? "Other";
  const Kind = classes[kind] ?? RpcError;
  return new Kind(message, code, kind, more);
}

function kindNamed(name: unknown): ErrorKind | undefined {
  return typeof name === "string" && Object.hasOwn(errorKinds, name) ? (name as ErrorKind) : undefined;
}

/** For a kind that is newer than this client. */
function kindNumbered(code: number): ErrorKind | undefined {
  return (Object.keys(errorKinds) as ErrorKind[]).find((kind) => errorKinds[kind] === code);
}
