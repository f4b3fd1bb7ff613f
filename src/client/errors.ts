import { type DenialReason, denialReasons, errorKinds } from "./methods.ts";

export type ErrorKind = keyof typeof errorKinds;

/**
 * ClientError is the class of all errors of this client. The reason of an aborted signal and errors of an upload's source are
 * passed on as they are.
 */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
}

/** Why a server cannot be reached, as far as the system reports it. Browsers do not. */
export type UnreachableReason =
  /** Nothing listens at the address. */
  | "refused"
  | "unknown_host"
  /** The other side closed the connection before it answered, as an https port does with http. */
  | "closed"
  | "timeout"
  /** The certificate is not trusted. */
  | "certificate"
  | "certificate_expired"
  /** The address says https, but the port does not speak it. */
  | "not_https"
  /** The certificate is for other names than that of the address. */
  | "certificate_name";

/** The server could not be reached, or what answered is not a node-server. Trying again may help. */
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

/** No answer came within `timeoutMs`. The server may have run the call. */
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
    /** The close code of a WebSocket: 1001 the server stops, 1012 it restarts, 1006 it broke without a closing handshake. */
    readonly code?: number,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The server answered with an error: `kind` is the reason as a word, `message` as a sentence. */
export class RpcError extends ClientError {
  override readonly name: string = "RpcError";

  constructor(
    message: string,
    readonly code: number,
    readonly kind: ErrorKind,
    /** Facts for programs: `field`, `line`, `column`, `path`, … */
    readonly data: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }

  /**
   * The message without the title of its kind: `name must be …` of `InvalidInput: name must be …`. An older server does not send
   * it; then it is the message.
   */
  get detail(): string {
    return typeof this.data.detail === "string" ? this.data.detail : this.message;
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
/** A bug of the server; its log has the details under `data.reference`. */
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

/** Finds the kind by its code, for a name that is newer than this client. */
function kindNumbered(code: number): ErrorKind | undefined {
  return (Object.keys(errorKinds) as ErrorKind[]).find((kind) => errorKinds[kind] === code);
}
