import { Connection, type ConnectionPlan, type Piece } from "./connection.ts";
import { Busy, Unreachable } from "./errors.ts";

/** What happens on one connection after another. */
export type Step<W> =
  | Piece
  | { readonly kind: "connected"; readonly again: boolean; readonly welcome: W }
  | { readonly kind: "broken"; readonly why: Error; readonly waitMs: number };

export interface Connecting<W> {
  /** False: a break is an error. */
  readonly reconnect: boolean;
  /** Asked whenever events begin to come; a connection without it is none. */
  readonly welcome: () => Promise<W>;
}

const firstWaitMs = 250;
const longestWaitMs = 10_000;

/** One connection after another. The first must come about, and a refusal is an answer. */
export async function* connections<W>(
  plan: ConnectionPlan,
  { reconnect, welcome }: Connecting<W>,
  stop: AbortSignal,
): AsyncGenerator<Step<W>, void> {
  let waitMs = firstWaitMs;
  for (let again = false; !stop.aborted; again = true) {
    const connection = new Connection(plan);
    const close = () => connection.close();
    stop.addEventListener("abort", close);
    let why: unknown;
    try {
      await connection.opened();
      yield { kind: "connected", again, welcome: await welcome() };
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
    // A restart breaks all its clients at once; they shall not all come back at once.
    const thisWaitMs = Math.round(waitMs * (0.5 + Math.random() / 2));
    if (!isRevoked) yield { kind: "broken", why: why as Error, waitMs: thisWaitMs };
    await pause(thisWaitMs, stop);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    stop.addEventListener("abort", over);
  });
}
