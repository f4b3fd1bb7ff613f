import { type Pace, progress } from "../figures.ts";
import { closedLoop, type Done } from "../load/closed-loop.ts";
import { cpuSeconds } from "../proc.ts";
import type { Running } from "../servers/program.ts";
import type { ClusterJob } from "./jobs.ts";

/** Clients of each node: with fewer, a node would answer fewer requests for each time that it wakes up, and each would cost more. */
const connections = 16;

/** ClusterCell is one job on a number of nodes: what each round has measured. */
export interface ClusterCell {
  readonly job: string;
  readonly nodes: number;
  /** Processor time of all nodes together, in microseconds per request. */
  readonly costs: number[];
  /** The same of PostgreSQL. */
  readonly databaseCosts: number[];
  /** Requests per second of all nodes together. */
  readonly rates: number[];
}

export interface ClusterLoad {
  readonly nodes: readonly Running[];
  /** The process of PostgreSQL. */
  readonly database: number;
  readonly pace: Pace;
}

/**
 * measureCluster sends every job to one, two and four nodes in turn. All of them run all the time, so that other work on the
 * machine meets them alike.
 */
export async function measureCluster(
  jobs: readonly ClusterJob[],
  load: ClusterLoad,
  counts: readonly number[],
): Promise<ClusterCell[]> {
  const cells: ClusterCell[] = [];
  const { pace, nodes } = load;
  for (const job of jobs) {
    progress(`cluster: ${job.name}`);
    let perSecond = Number.POSITIVE_INFINITY;
    for (const node of nodes) perSecond = Math.min(perSecond, await warmUp(node, job, pace));
    const requests = Math.max(connections, Math.round(perSecond * pace.roundSeconds));
    const own = counts.map(
      (count): ClusterCell => ({ job: job.name, nodes: count, costs: [], databaseCosts: [], rates: [] }),
    );
    for (let round = 0; round < pace.rounds * 4; round += 1)
      for (const cell of own) await measureRound(cell, job, { load, requests });
    cells.push(...own);
  }
  progress("");
  return cells;
}

/** Warms up one node, and returns its requests per second. */
async function warmUp(node: Running, job: ClusterJob, { compiledWarmUp }: Pace): Promise<number> {
  const done = await closedLoop(loadOf(job, node), { seconds: compiledWarmUp.seconds });
  return done.requests / done.seconds;
}

function loadOf({ requests }: ClusterJob, { port }: Running) {
  return { port, protocol: "http" as const, requests, connections };
}

async function measureRound(
  cell: ClusterCell,
  job: ClusterJob,
  { load, requests }: { readonly load: ClusterLoad; readonly requests: number },
): Promise<void> {
  const nodes = load.nodes.slice(0, cell.nodes);
  const seconds = () => load.nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const [before, databaseBefore, begin] = [seconds(), cpuSeconds(load.database), performance.now()];
  const send = (node: Running) =>
    closedLoop(loadOf(job, node), { requests: Math.ceil(requests / nodes.length) });
  const done: Done[] = [];
  // Reads go to one node after the other: at once, the nodes would push each other out of the caches of their core, which nodes
  // on several machines do not.
  if (job.isWrite) done.push(...(await Promise.all(nodes.map(send))));
  else for (const node of nodes) done.push(await send(node));
  const elapsed = (performance.now() - begin) / 1000;
  const sent = done.reduce((sum, each) => sum + each.requests, 0);
  cell.costs.push(((seconds() - before) * 1e6) / sent);
  cell.databaseCosts.push(((cpuSeconds(load.database) - databaseBefore) * 1e6) / sent);
  cell.rates.push(sent / elapsed);
}
