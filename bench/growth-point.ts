import { measure } from "./cost.ts";
import { median, progress } from "./figures.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import type { Cores } from "./proc.ts";
import type { Bench } from "./servers/node-server.ts";
import type { Running } from "./servers/program.ts";

export interface Point {
  readonly n: number;
  /** Processor time per request, in microseconds. */
  readonly cost: number;
}

/** Curve is the cost of one kind of request while there is more and more of something. */
export interface Curve {
  readonly request: string;
  /** What there is more and more of; curves with the same one share a plot. */
  readonly of: string;
  readonly points: readonly Point[];
}

export interface Measuring {
  readonly bench: Bench;
  readonly cores: Cores;
  readonly quick: boolean;
}

/** 10, 100 and so on, up to `last`; quick runs stop early. */
export function sizes(first: number, last: number, { quick }: Measuring): number[] {
  const most = quick ? Math.min(last, 100) : last;
  const found: number[] = [];
  for (let n = first; n <= most; n *= 10) found.push(n);
  return found;
}

/** One point: warm, then measured with as many requests in three rounds; the median of them. */
export async function measurePoint(
  measuring: Measuring,
  what: { readonly n: number; readonly of: string; readonly server: Running },
  load: Omit<Load, "port" | "protocol">,
): Promise<Point> {
  progress(`growth: ${what.n} ${what.of}`);
  const whole: Load = { port: what.server.port, protocol: "http", ...load };
  const begin = await closedLoop(whole, { seconds: measuring.quick ? 0.05 : 2 });
  // Every distinct request is sent at least once, so that caches are as full as they will be.
  const missing = Math.max(0, load.requests.length - begin.requests);
  if (missing > 0) await closedLoop(whole, { requests: missing });
  const rounds = 3;
  const requests = Math.max(1, Math.floor((begin.requests + missing) / rounds));
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    costs.push((await measure(what.server, whole, requests)).cost);
  return { n: what.n, cost: median(costs) };
}
