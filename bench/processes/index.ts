import { availableParallelism } from "node:os";
import { fill } from "../cluster/index.ts";
import { clusterJobs } from "../cluster/jobs.ts";
import { type Pace, printTable } from "../figures.ts";
import { type Bench, start } from "../servers/node-server.ts";
import { openBackends } from "../stores/sites.ts";
import { type GroupServer, measureProcesses, type ProcessCell } from "./measure.ts";
import { loadLine, processCostTable, processRateTable } from "./tables.ts";

/** ProcessFigures are what a run of the part `processes` has found. */
export interface ProcessFigures {
  readonly cells: readonly ProcessCell[];
  /** How the processes were placed on the cores. */
  readonly placement: string;
}

/** compareProcesses measures the same requests on a server of one process and on one of two, on PostgreSQL and a folder of blobs. */
export async function compareProcesses(bench: Bench, pace: Pace): Promise<ProcessFigures> {
  await using backends = await openBackends(bench, { sync: true });
  const { settings } = await backends.settings("processes", "folder", "PostgreSQL");
  await using running = new AsyncDisposableStack();
  const servers: GroupServer[] = [];
  for (const processes of [1, 2]) {
    const { program } = await bench.site(`processes-${processes}`, settings);
    const command = [...program.command, "--processes", String(processes)];
    servers.push({ processes, running: running.use(await start({ ...program, command })) });
  }
  await fill(servers[0]?.running.port ?? 0);
  const cells = await measureProcesses(clusterJobs(), servers, pace);
  printTable("What requests cost the server: median and quartiles", processCostTable(cells));
  printTable("Requests per second without the load's own time (as counted)", processRateTable(cells));
  console.log(loadLine(cells));
  const cores = availableParallelism();
  return { cells, placement: `server, load and PostgreSQL on the same ${cores} cores, placed by the kernel` };
}
