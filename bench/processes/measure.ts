import { availableParallelism } from "node:os";
import type { ClusterJob } from "../cluster/jobs.ts";
import { type Pace, progress } from "../figures.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { cpuSeconds } from "../proc.ts";
import { exactCpuSeconds } from "../process-clock.ts";
import type { Running } from "../servers/program.ts";

/** Clients in all. The kernel deals them to the processes, anew in every round. */
const connections = 32;

/** ProcessCell is one job on a server of some processes: what each round has measured. */
export interface ProcessCell {
  readonly job: string;
  readonly processes: number;
  /** Processor time of all processes of the server, the supervisor included, in microseconds per request. */
  readonly costs: number[];
  /** The same of the program that makes the load. */
  readonly loadCosts: number[];
  /** Requests per second. */
  readonly rates: number[];
  /** Requests per second without the time that the load took from the cores which the server could have used. */
  readonly freeRates: number[];
}

/** GroupServer is a server that runs as a number of processes. */
export interface GroupServer {
  readonly processes: number;
  readonly running: Running;
}

/**
 * measureProcesses sends every job to each server in turn. All of them run all the time, so that other work on the machine meets
 * them alike.
 */
export async function measureProcesses(
  jobs: readonly ClusterJob[],
  servers: readonly GroupServer[],
  pace: Pace,
): Promise<ProcessCell[]> {
  const cells: ProcessCell[] = [];
  for (const job of jobs) {
    progress(`processes: ${job.name}`);
    let perSecond = Number.POSITIVE_INFINITY;
    for (const server of servers) perSecond = Math.min(perSecond, await warmUp(server, job, pace));
    const requests = Math.max(connections, Math.round(perSecond * pace.roundSeconds));
    const own = servers.map(({ processes }): ProcessCell => {
      return { job: job.name, processes, costs: [], loadCosts: [], rates: [], freeRates: [] };
    });
    for (let round = 0; round < pace.rounds * 8; round += 1)
      for (const [at, cell] of own.entries())
        await measureRound(cell, job, { server: servers[at], requests });
    cells.push(...own);
  }
  progress("");
  return cells;
}

/** Warms up a server, each of its processes for as long as a single one, and returns its requests per second. */
async function warmUp({ running, processes }: GroupServer, job: ClusterJob, pace: Pace): Promise<number> {
  const { seconds } = pace.compiledWarmUp;
  const done = await closedLoop(loadOf(job, running), { seconds: seconds * processes });
  return done.requests / done.seconds;
}

function loadOf({ requests }: ClusterJob, { port }: Running) {
  return { port, protocol: "http" as const, requests, connections };
}

async function measureRound(
  cell: ProcessCell,
  job: ClusterJob,
  { server, requests }: { readonly server: GroupServer | undefined; readonly requests: number },
): Promise<void> {
  if (server === undefined) return;
  const { running, processes } = server;
  const loadSeconds = () => exactCpuSeconds(process.pid) ?? Number.NaN;
  const [before, loadBefore] = [cpuSeconds(running.pid), loadSeconds()];
  const { requests: sent, seconds } = await closedLoop(loadOf(job, running), { requests });
  const load = loadSeconds() - loadBefore;
  cell.costs.push(((cpuSeconds(running.pid) - before) * 1e6) / sent);
  cell.loadCosts.push((load * 1e6) / sent);
  cell.rates.push(sent / seconds);
  const used = Math.min(processes, availableParallelism());
  // The load first takes the cores that the server leaves alone.
  const taken = Math.max(0, load - (availableParallelism() - used) * seconds) / used;
  cell.freeRates.push(sent / (seconds - Math.min(taken, seconds * 0.9)));
}
