import { Fault, messageOf } from "../base/fault.ts";
import { randomText } from "../base/random.ts";
import type { Logger } from "../log/hub.ts";

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export function toWireError(fault: Fault): WireError {
  return { code: fault.code, message: fault.message, data: { kind: fault.kind, ...fault.data } };
}

/** What is not a `Fault` is a bug: logged whole under a reference, shown as nothing but that reference. */
export function toFault(error: unknown, log: Logger): Fault {
  if (error instanceof Fault) return error;
  const reference = randomText(12);
  log.error(`bug: ${messageOf(error)}`, {
    reference,
    stack: error instanceof Error ? (error.stack ?? "") : "",
  });
  return new Fault("Internal", `the server's log tells more under reference ${reference}`, { reference });
}
