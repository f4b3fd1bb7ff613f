import { median, type Pace, progress, quantile } from "./figures.ts";
import { type Job, jobs } from "./jobs.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { rpcText } from "./load/http-request.ts";
import { openSubscribers } from "./load/subscribers.ts";
import { type Cores, cpuSeconds } from "./proc.ts";
import { bare, type Contender, type Contestants, least, ours } from "./servers/contenders.ts";
import { superToken } from "./servers/node-server.ts";
import type { Running } from "./servers/program.ts";

/** Cell is one job on one server: what all rounds have measured. */
export interface Cell {
  readonly job: string;
  readonly server: string;
  /** Processor time of the server per request, in microseconds. */
  readonly costs: number[];
  /** Requests per second. */
  readonly rates: number[];
}

export interface Costs {
  readonly cells: readonly Cell[];
  /** The column names in their order, ours first. */
  readonly servers: readonly string[];
}

export const costOf = (cell: Cell) => median(cell.costs);
export const spreadOf = (cell: Cell) => [quantile(cell.costs, 0.25), quantile(cell.costs, 0.75)] as const;

export function findCell({ cells }: Costs, job: string, server = ours): Cell | undefined {
  return cells.find((cell) => cell.job === job && cell.server === server);
}

/** Measures every job on every server that can do it. */
export async function measureCosts(contestants: Contestants, cores: Cores, pace: Pace): Promise<Costs> {
  const cells = new Map<string, Cell>();
  const servers = new Set<string>();
  for (let pass = 0; pass < pace.passes; pass += 1) {
    await using started = await contestants.start(cores.server);
    for (const { name } of started.contenders) servers.add(name);
    for (const job of jobs) {
      progress(`pass ${pass + 1} of ${pace.passes}: ${job.name}`);
      for (const { name, costs, rates } of await measureJob(job, started.contenders, pace)) {
        const cell = cells.get(`${job.name} ${name}`) ?? {
          job: job.name,
          server: name,
          costs: [],
          rates: [],
        };
        cells.set(`${job.name} ${name}`, cell);
        cell.costs.push(...costs);
        cell.rates.push(...rates);
      }
    }
    progress("");
  }
  return { cells: [...cells.values()], servers: [...servers] };
}

interface Score {
  readonly name: string;
  readonly costs: number[];
  readonly rates: number[];
}

/** One job in one pass: all servers are warmed up, and then take turns. */
async function measureJob(job: Job, contenders: readonly Contender[], pace: Pace): Promise<Score[]> {
  const { protocol, connections } = job;
  const able = contenders.flatMap((contender) => {
    const { name, server, variant } = contender;
    const requests = variant === job.variant || name !== ours ? job.requests(contender) : undefined;
    if (requests === undefined) return [];
    const score: Score = { name, costs: [], rates: [] };
    return [{ score, server, load: { port: server.port, protocol, requests, connections } }];
  });
  const subscribe = rpcText("node-server_stream_log", [superToken, "rpc=debug"]);
  using subscribers = await openSubscribers(able[0]?.server.port ?? 0, job.subscribers, subscribe);
  const requests: number[] = [];
  for (const { load, score } of able) requests.push(await warmUp(load, score.name, pace));
  for (let round = 0; round < pace.rounds; round += 1)
    for (const [at, { score, server, load }] of able.entries()) {
      const { cost, rate } = await measure(server, load, requests[at] ?? 1);
      score.costs.push(cost);
      score.rates.push(rate);
    }
  subscribers.noteMissed((requests[0] ?? 0) * pace.rounds);
  return able.map(({ score }) => score);
}

/** Warms up a server and returns how many requests one round has. */
async function warmUp(load: Load, server: string, pace: Pace): Promise<number> {
  const isCompiled = [ours, bare, least].includes(server);
  const { seconds, requests } = isCompiled
    ? pace.compiledWarmUp
    : { seconds: pace.warmUpSeconds, requests: 0 };
  const first = await closedLoop(load, { seconds });
  if (first.requests < requests) await closedLoop(load, { seconds, requests: requests - first.requests });
  return Math.max(1, Math.floor((first.requests * pace.roundSeconds) / seconds));
}

export interface Measurement {
  /** Processor time of the server per request, in microseconds. */
  readonly cost: number;
  readonly rate: number;
}

export async function measure(server: Running, load: Load, requests: number): Promise<Measurement> {
  const before = cpuSeconds(server.pid);
  const done = await closedLoop(load, { requests });
  const used = cpuSeconds(server.pid) - before;
  return { cost: (used * 1e6) / done.requests, rate: done.requests / done.seconds };
}
