import { errorKinds } from "./methods.ts";

export type ErrorKind = keyof typeof errorKinds;

/** Everything that this client throws. */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
}

/** The server could not be reached, or what answered is no node-server. */
export class Unreachable extends ClientError {
  override readonly name = "Unreachable";
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
}

/** The token is wrong, expired, or does not hold what the method needs. */
export class PermissionDenied extends RpcError {
  override readonly name = "PermissionDenied";
}
export class NotFound extends RpcError {
  override readonly name = "NotFound";
}
export class InvalidInput extends RpcError {
  override readonly name = "InvalidInput";
}
export class DatabaseError extends RpcError {
  override readonly name = "DatabaseError";
}
export class IoError extends RpcError {
  override readonly name = "IoError";
}

const classes: Partial<Record<ErrorKind, typeof RpcError>> = {
  PermissionDenied,
  NotFound,
  UuidNotFound: NotFound,
  ConfigNotFound: NotFound,
  InvalidInput,
  InvalidParams: InvalidInput,
  DatabaseError,
  IoError,
};

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function toRpcError({ code, message, data }: WireError): RpcError {
  const more = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  const known = Object.entries(errorKinds).find(([kind, number]) =>
    typeof more.kind === "string" ? kind === more.kind : number === code,
  )?.[0];
  const kind = (known ?? "Other") as ErrorKind;
  const Kind = classes[kind] ?? RpcError;
  return new Kind(message, code, kind, more);
}
