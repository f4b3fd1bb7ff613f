import { median, type Pace, progress, quantile } from "./figures.ts";
import { type Job, jobs } from "./jobs.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { rpcRequest, rpcText } from "./load/http-request.ts";
import { openSubscribers } from "./load/subscribers.ts";
import { type Cores, cpuSeconds } from "./proc.ts";
import { bare, type Contender, type Contestants, least, ours } from "./servers/contenders.ts";
import { hello, superToken } from "./servers/node-server.ts";
import type { Running } from "./servers/program.ts";

/** Cell is one job on one server: what all rounds have measured. */
export interface Cell {
  readonly job: string;
  readonly server: string;
  /** Processor time of the server per request, in microseconds. */
  readonly costs: number[];
  /** Requests per second. */
  readonly rates: number[];
  /** What `hello` cost just before each of them, on the same server; only for jobs that are compared with it. */
  readonly hellos: number[];
}

export interface Costs {
  readonly cells: readonly Cell[];
  /** The column names in their order, ours first. */
  readonly servers: readonly string[];
}

export const costOf = (cell: Cell) => median(cell.costs);
/** The median of the ratios to `hello`; undefined if the job is not compared with it. */
export const timesHello = ({ costs, hellos }: Cell) =>
  hellos.length === 0 ? undefined : median(costs.map((cost, at) => cost / (hellos[at] ?? Number.NaN)));
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
      for (const { name, costs, rates, hellos } of await measureJob(job, started.contenders, pace)) {
        const cell = cells.get(`${job.name} ${name}`) ?? {
          job: job.name,
          server: name,
          costs: [],
          rates: [],
          hellos: [],
        };
        cells.set(`${job.name} ${name}`, cell);
        cell.costs.push(...costs);
        cell.rates.push(...rates);
        cell.hellos.push(...hellos);
      }
    }
    progress("");
  }
  return { cells: [...cells.values()], servers: [...servers] };
}

type Score = Pick<Cell, "costs" | "rates" | "hellos"> & { readonly name: string };

/**
 * One job in one pass: all servers are warmed up, and then take turns. Ours also answers `hello` before each turn, where the job is
 * compared with it: the speed of a machine may change from minute to minute.
 */
async function measureJob(job: Job, contenders: readonly Contender[], pace: Pace): Promise<Score[]> {
  const { protocol, connections } = job;
  const able = contenders.flatMap((contender) => {
    const { name, server, variant } = contender;
    const requests = variant === job.variant || name !== ours ? job.requests(contender) : undefined;
    if (requests === undefined) return [];
    const score: Score = { name, costs: [], rates: [], hellos: [] };
    const { port } = server;
    const comparison: Load | undefined =
      job.isComparedWithHello && name === ours
        ? { port, protocol: "http", requests: [rpcRequest(hello)], connections }
        : undefined;
    return [{ score, server, comparison, load: { port, protocol, requests, connections } }];
  });
  const subscribe = rpcText("node-server_stream_log", [superToken, "rpc=debug"]);
  using subscribers = await openSubscribers(able[0]?.server.port ?? 0, job.subscribers, subscribe);
  const requests: number[] = [];
  let hellos = 1;
  for (const { load, comparison, score } of able) {
    if (comparison !== undefined) hellos = await warmUp(comparison, score.name, pace);
    requests.push(await warmUp(load, score.name, pace));
  }
  for (let round = 0; round < pace.rounds; round += 1)
    for (const [at, { score, server, load, comparison }] of able.entries()) {
      if (comparison !== undefined) score.hellos.push((await measure(server, comparison, hellos)).cost);
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
