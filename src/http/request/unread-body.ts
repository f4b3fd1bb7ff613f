import type { MemoryBudget } from "../../base/memory-budget.ts";
import { serviceUnavailable } from "../content/plain.ts";
import { declaredLength, maxUnreadBytes } from "./body-chunks.ts";
import type { UnsizedBodies } from "./connection-limiter.ts";

/** UnreadBodies bounds the bodies of requests whose caller is not known yet. */
export interface UnreadBodies {
  readonly memory: MemoryBudget;
  readonly unsizedBodies: UnsizedBodies;
}

/** countUnread counts the body of an unknown caller until it is disposed; undefined if there are too many. */
export function countUnread(
  request: Request,
  address: string,
  { memory, unsizedBodies }: UnreadBodies,
): Disposable | undefined {
  const account = memory.open(address);
  const declared = declaredLength(request);
  // `body` is read last: it makes a stream, and a body that is read whole afterwards would go through it.
  if (declared !== undefined || request.body === null)
    return account.hold(Math.min(declared ?? 0, maxUnreadBytes)) ? account : undefined;
  const permit = unsizedBodies.tryAcquire(address);
  if (permit === undefined) return undefined;
  return { [Symbol.dispose]: () => permit.release() };
}

/** tooManyUnread answers a request that is refused before anything of its body is kept. */
export function tooManyUnread(): Response {
  const response = serviceUnavailable("too many requests of unknown callers are being sent; try again");
  // Otherwise Bun would parse the rest of the body.
  response.headers.set("connection", "close");
  return response;
}
