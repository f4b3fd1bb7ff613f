import { Fault, messageOf } from "../base/fault.ts";
import { FileError, RpcError, Unreachable } from "../client/index.ts";

/** ErrorFacts is an error for programs, as `--json` prints it: what `data` of a JSON-RPC error holds, with its code. */
export interface ErrorFacts extends Readonly<Record<string, unknown>> {
  /** The kind of the server's error, or the class of one of the client. */
  readonly kind: string;
  readonly detail: string;
}

export function errorFacts(error: unknown): ErrorFacts {
  if (error instanceof Fault) {
    const { kind, code, data, detail } = error;
    return { kind, code, ...data, detail };
  }
  if (error instanceof RpcError) {
    const { kind, code, data, detail } = error;
    return { ...data, kind, code, detail };
  }
  const kind = error instanceof Error ? error.name : "Error";
  const detail = messageOf(error);
  if (error instanceof FileError) return { kind, status: error.status, reason: error.reason, detail };
  if (error instanceof Unreachable) return { kind, reason: error.reason, detail };
  return { kind, detail };
}
