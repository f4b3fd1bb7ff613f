import { type Pace, printTable } from "../figures.ts";
import { authorization } from "../jobs.ts";
import { separateCores } from "../proc.ts";
import { type Bench, call, type Site, start, superToken } from "../servers/node-server.ts";
import type { Running } from "../servers/program.ts";
import { openBackends } from "../stores/sites.ts";
import { buckets, clusterJobs, davRoot, readPath } from "./jobs.ts";
import { type ClusterCell, measureCluster } from "./measure.ts";
import { databaseTable, nodeTable, writeRateTable } from "./tables.ts";

/** ClusterFigures are what a run of the part `cluster` has found. */
export interface ClusterFigures {
  readonly cells: readonly ClusterCell[];
  /** How the processes were placed on the cores. */
  readonly placement: string;
}

/** compareNodes measures the same requests on one, two and four nodes that share PostgreSQL and a folder of blobs. */
export async function compareNodes(bench: Bench, pace: Pace): Promise<ClusterFigures> {
  const counts = pace.quick ? [1, 2] : [1, 2, 4];
  await using backends = await openBackends(bench, { sync: true });
  const { settings, helpers } = await backends.settings("cluster", "folder", "PostgreSQL");
  const [database = 0] = helpers;
  const sites: Site[] = [];
  for (let at = 1; at <= Math.max(...counts); at += 1)
    sites.push(await bench.site(`cluster-node-${at}`, settings));
  await using cores = separateCores();
  await using running = new AsyncDisposableStack();
  const nodes: Running[] = [];
  for (const { program } of sites) nodes.push(running.use(await start(program, cores.server)));
  await fill(nodes[0]?.port ?? 0);
  const cells = await measureCluster(clusterJobs(), { nodes, database, pace }, counts);
  printTable("What requests cost all nodes together: median and quartiles", nodeTable(cells));
  printTable("What PostgreSQL adds", databaseTable(cells));
  printTable("Uploads per second", writeRateTable(cells));
  return { cells, placement: `${cores.description}, PostgreSQL on either` };
}

/** fill makes the buckets, and the file that is read. */
export async function fill(port: number): Promise<void> {
  for (const name of buckets) await call(port, "static-bucket_create", [superToken, name]);
  const response = await fetch(`http://127.0.0.1:${port}${davRoot(buckets[0] ?? "")}/${readPath}`, {
    method: "PUT",
    headers: { authorization },
    body: Buffer.alloc(4096, "x"),
  });
  if (response.status !== 201) throw new Error(`the upload was answered with ${response.status}`);
}
