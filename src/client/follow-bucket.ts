import type { ConnectionPlan } from "./connection.ts";
import { connections } from "./connections.ts";
import type { BucketEvent } from "./methods.ts";
import { pause } from "./retry.ts";

export interface WatchBucketOptions {
  /** How the paths begin that are wanted; default: all. */
  readonly prefix?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the connection broke; it is made again in `waitMs`. */
  readonly onBreak?: (waitMs: number, why: Error) => void;
  /** After this silence the client checks that the server answers. Default: 30,000; 0 turns it off. */
  readonly heartbeatMs?: number;
}

/** The pause before a server is asked again that has ended the stream, as when it has opened its database anew. */
const againMs = 1000;

/** followBucket yields the events of one connection after another, each of which goes on after the last event before. */
export async function* followBucket(
  plan: (cursor: () => string | undefined) => ConnectionPlan,
  { onBreak }: WatchBucketOptions,
  stop: AbortSignal,
): AsyncGenerator<BucketEvent, void> {
  let cursor: string | undefined;
  const planned = plan(() => cursor);
  while (!stop.aborted) {
    for await (const step of connections(planned, { reconnect: true, onConnected: async () => {} }, stop)) {
      if (step.kind === "broken") onBreak?.(step.waitMs, step.why);
      else if (step.kind === "missed") yield { event: "reset", reason: "slow", cursor: cursor ?? "" };
      else if (step.kind === "events")
        for (const event of step.events as BucketEvent[]) {
          yield event;
          cursor = event.cursor;
        }
    }
    await pause(againMs, stop);
  }
}
