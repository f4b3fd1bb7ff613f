import { Connection, type ConnectionPlan, type Piece } from "./connection.ts";
import { Busy, Unreachable } from "./errors.ts";
import { pause } from "./pause.ts";

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

const firstWaitMs = 250;
const maxWaitMs = 10_000;

/** Makes one connection after another. Throws when the first cannot be made, or when the server refuses one. */
export async function* connections<C>(
  plan: ConnectionPlan,
  { reconnect, onConnected }: ReconnectOptions<C>,
  stop: AbortSignal,
): AsyncGenerator<Step<C>, void> {
  let waitMs = firstWaitMs;
  for (let again = false; !stop.aborted; again = true) {
    const connection = new Connection(plan);
    const close = () => connection.close();
    stop.addEventListener("abort", close);
    let why: unknown;
    try {
      await connection.opened();
      yield { kind: "connected", again, result: await onConnected() };
      waitMs = firstWaitMs;
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
    // A restart disconnects all clients at once; random pauses keep them from returning at once.
    const pauseMs = Math.round(waitMs * (0.5 + Math.random() / 2));
    if (!isRevoked) yield { kind: "broken", why: why as Error, waitMs: pauseMs };
    await pause(pauseMs, stop);
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  }
}
