import { Fault, messageOf, retryAfterSeconds } from "../base/fault.ts";
import { randomText } from "../base/random.ts";
import type { Logger } from "../log/hub.ts";

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** `toWireError` is the error object of JSON-RPC. `data.detail` is the message without the title, for programs that show it to people. */
export function toWireError({ code, message, kind, detail, data }: Fault): WireError {
  const retry = data.reason === "unavailable" ? { retry_after_seconds: retryAfterSeconds } : {};
  return { code, message, data: { kind, ...retry, ...data, detail } };
}

/**
 * `toFault` masks errors that are not a `Fault`, which are bugs: the log gets all of it under a reference, the caller only the
 * reference.
 */
export function toFault(error: unknown, log: Logger): Fault {
  if (error instanceof Fault) return error;
  const reference = randomText(12);
  log.error(`bug: ${messageOf(error)}`, {
    reference,
    stack: error instanceof Error ? (error.stack ?? "") : "",
  });
  return new Fault("Internal", `the server's log has the details under reference ${reference}`, {
    reference,
  });
}
