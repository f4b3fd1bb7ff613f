import { type Pace, progress } from "../figures.ts";
import { closedLoop, type Load } from "../load/closed-loop.ts";
import { type Cores, cpuSeconds, memoryOf, peakMemoryOf, resetPeak } from "../proc.ts";
import { start } from "../servers/node-server.ts";
import type { Running } from "../servers/program.ts";
import type { StoreJob } from "./jobs.ts";
import type { StoreSite } from "./sites.ts";

/** StoreCell is one job on one store: what each round has measured, per request. */
export interface StoreCell {
  readonly job: string;
  readonly site: StoreSite;
  /** Processor time of the server, in microseconds. */
  readonly costs: number[];
  /** Processor time of PostgreSQL and SeaweedFS, in microseconds. */
  readonly helperCosts: number[];
  /** How long a client waited, in milliseconds; only with one client at a time. */
  readonly waits: number[];
  /** How much more memory the server had at most than before the round, in bytes. */
  readonly growths: number[];
}

/**
 * measureStores sends every job to every store. All servers run at once and take turns, so that other work on the machine meets
 * them alike.
 */
export async function measureStores(
  sites: readonly StoreSite[],
  jobs: readonly StoreJob[],
  { cores, pace }: { readonly cores: Cores; readonly pace: Pace },
): Promise<StoreCell[]> {
  const cells = jobs.map(({ name }) =>
    sites.map((site): StoreCell => ({ job: name, site, costs: [], helperCosts: [], waits: [], growths: [] })),
  );
  for (let pass = 0; pass < pace.passes; pass += 1) {
    await using running = new AsyncDisposableStack();
    const servers: Running[] = [];
    for (const { site } of sites) servers.push(running.use(await start(site.program, cores.server)));
    for (const [at, job] of jobs.entries()) {
      progress(`stores, pass ${pass + 1} of ${pace.passes}: ${job.name}`);
      const turns = (cells[at] ?? []).flatMap((cell, place) => {
        const server = servers[place];
        return server === undefined ? [] : [{ cell, server, load: loadOf(job, server) }];
      });
      const counts: number[] = [];
      for (const { load } of turns) counts.push(await warmUp(load, pace));
      for (let round = 0; round < roundsOf(job, pace); round += 1)
        for (const [turn, { cell, server, load }] of turns.entries())
          await measureRound(cell, server, { load, requests: counts[turn] ?? 1 });
    }
    progress("");
  }
  return cells.flat();
}

/** Cheap requests are measured more often: other work on the machine disturbs a short round most. */
function roundsOf({ connections }: StoreJob, { quick, rounds }: Pace): number {
  return quick || connections === 1 ? rounds : rounds * 3;
}

/** loadOf sends the requests in their order; `closedLoop` begins with the second one. */
export function loadOf({ requests, connections }: StoreJob, { port }: Running): Load {
  return {
    port,
    protocol: "http",
    requests: [...requests.slice(-1), ...requests.slice(0, -1)],
    connections,
  };
}

/** Warms up a server and returns how many requests one round has: whole turns of all of them. */
async function warmUp(load: Load, { compiledWarmUp, roundSeconds }: Pace): Promise<number> {
  const turn = load.requests.length;
  const begin = performance.now();
  let sent = 0;
  const seconds = () => (performance.now() - begin) / 1000;
  const isWarm = () => seconds() >= compiledWarmUp.seconds && sent >= compiledWarmUp.requests;
  while (!isWarm() && seconds() < compiledWarmUp.seconds * 1.5) {
    // About a tenth of a second at a time, once it is known how many that are.
    const next = sent === 0 ? turn : Math.max(1, Math.floor(sent / seconds() / 10 / turn)) * turn;
    sent += (await closedLoop(load, { requests: next })).requests;
  }
  return Math.max(1, Math.round((sent / seconds()) * (roundSeconds / turn))) * turn;
}

async function measureRound(
  cell: StoreCell,
  { pid }: Running,
  { load, requests }: { readonly load: Load; readonly requests: number },
): Promise<void> {
  const helperSeconds = () => cell.site.helpers.reduce((sum, helper) => sum + cpuSeconds(helper), 0);
  const memory = memoryOf(pid).rss;
  resetPeak(pid);
  const [before, beforeHelpers] = [cpuSeconds(pid), helperSeconds()];
  const done = await closedLoop(load, { requests });
  const [after, afterHelpers] = [cpuSeconds(pid), helperSeconds()];
  cell.costs.push(((after - before) * 1e6) / done.requests);
  cell.helperCosts.push(((afterHelpers - beforeHelpers) * 1e6) / done.requests);
  if (load.connections === 1) cell.waits.push((done.seconds * 1000) / done.requests);
  cell.growths.push(Math.max(0, peakMemoryOf(pid) - memory));
}
