import { CredentialsRejected } from "../auth/authenticator.ts";
import type { Fault } from "../base/fault.ts";
import { type Body, errorText } from "./bodies.ts";

export interface Reply {
  /** Undefined: nothing to answer, only notifications. */
  readonly body: Body;
  /** Whether it may contain a secret, so that its length must not depend on its content: it is not compressed. */
  readonly hasSecret: boolean;
  /** Why the request as a whole was refused. */
  readonly refusal: Fault | undefined;
  /** Bytes that were counted in the memory budget for it. */
  readonly reservedBytes: number;
  /** Keep the answer back this long: its address guesses. */
  readonly delayMs: number;
  /** To be called once the answer has left; most calls leave nothing to do. */
  readonly sent: (() => void) | undefined;
}

/** The answer to a request that is refused as a whole. */
export function refuse(refusal: Fault): Reply {
  const delayMs = refusal instanceof CredentialsRejected ? refusal.delayMs : 0;
  return {
    body: errorText(refusal, "null"),
    hasSecret: false,
    refusal,
    reservedBytes: 0,
    delayMs,
    sent: undefined,
  };
}
