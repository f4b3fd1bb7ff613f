import { Connection, type ConnectionPlan, type Piece } from "./connection.ts";
import { Busy, Unreachable } from "./errors.ts";
import { pause, pauseAfterFailures } from "./retry.ts";

/** Step is what happens on one connection after another. `result` is what `onConnected` resolved to. */
export type Step<C> =
  | Piece
  | { readonly kind: "connected"; readonly again: boolean; readonly result: C }
  | { readonly kind: "broken"; readonly why: Error; readonly waitMs: number };

export interface ReconnectOptions<C> {
  /** False makes a break an error. */
  readonly reconnect: boolean;
  /** Called when a subscription has begun; if it fails, so does the connection. */
  readonly onConnected: () => Promise<C>;
}

/** The pause between two connections, half as long again at most: whoever follows a log waits for it. */
const maxWaitMs = 6500;

/** Makes one connection after another. Throws when the first cannot be made, or when the server refuses one. */
export async function* connections<C>(
  plan: ConnectionPlan,
  { reconnect, onConnected }: ReconnectOptions<C>,
  stop: AbortSignal,
): AsyncGenerator<Step<C>, void> {
  let failures = 0;
  for (let again = false; !stop.aborted; again = true) {
    const connection = new Connection(plan);
    const close = () => connection.close();
    stop.addEventListener("abort", close);
    let why: unknown;
    try {
      await connection.opened();
      yield { kind: "connected", again, result: await onConnected() };
      failures = 0;
      yield* connection.received();
      why = connection.ended;
    } catch (error) {
      if (stop.aborted) return;
      if (!again || !(error instanceof Unreachable || error instanceof Busy)) throw error;
      why = error;
    } finally {
      stop.removeEventListener("abort", close);
      connection.close();
    }
    if (stop.aborted || connection.endReason === "completed") return;
    // Another token may be valid by now, so the server is asked again before this is an error.
    const isRevoked = connection.endReason === "token_invalid";
    if (!reconnect && !isRevoked) throw why;
    failures += 1;
    const pauseMs = Math.round(pauseAfterFailures(failures, maxWaitMs));
    if (!isRevoked) yield { kind: "broken", why: why as Error, waitMs: pauseMs };
    await pause(pauseMs, stop);
  }
}
