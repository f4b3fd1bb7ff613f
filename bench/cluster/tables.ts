import { median, micros, perSecond, quantile, ratio, type Table, type Target } from "../figures.ts";
import { leasedGet } from "./jobs.ts";
import type { ClusterCell } from "./measure.ts";

/** Goals for a leased GET: four nodes beside one, and PostgreSQL beside the nodes. */
const maxRatio = 1.1;
const maxDatabaseShare = 0.05;

function grid(cells: readonly ClusterCell[], corner: string, text: (cell: ClusterCell) => string): Table {
  const counts = [...new Set(cells.map(({ nodes }) => nodes))];
  const rows = [...new Set(cells.map(({ job }) => job))].map((job) => [
    job,
    ...counts.map((nodes) => {
      const cell = cells.find((one) => one.job === job && one.nodes === nodes);
      return cell === undefined ? "" : text(cell);
    }),
  ]);
  return { head: [corner, ...counts.map((nodes) => (nodes === 1 ? "1 node" : `${nodes} nodes`))], rows };
}

/** nodeTable is the processor time of the nodes: the median of all rounds, and the two quartiles. */
export function nodeTable(cells: readonly ClusterCell[]): Table {
  return grid(cells, "µs per request", ({ costs }) => {
    const [low, high] = [quantile(costs, 0.25), quantile(costs, 0.75)];
    return `${micros(median(costs))} (${micros(low)}–${micros(high)})`;
  });
}

/** databaseTable is the processor time of PostgreSQL. */
export function databaseTable(cells: readonly ClusterCell[]): Table {
  return grid(cells, "µs per request", ({ databaseCosts }) => micros(median(databaseCosts)));
}

/** writeRateTable is how many uploads end in a second. */
export function writeRateTable(cells: readonly ClusterCell[]): Table {
  const writes = cells.filter(({ job }) => job.startsWith("PUT"));
  return grid(writes, "16 clients a node", ({ rates }) => perSecond(median(rates)));
}

/** judgeCluster compares the figures of a whole run with the goals. */
export function judgeCluster(cells: readonly ClusterCell[]): Target[] {
  const gets = cells.filter(({ job }) => job === leasedGet);
  const [one, most] = [gets.find(({ nodes }) => nodes === 1), gets.at(-1)];
  if (one === undefined || most === undefined) return [];
  const times = median(most.costs) / median(one.costs);
  const share = median(most.databaseCosts) / median(most.costs);
  return [
    {
      description: `${leasedGet}: ${most.nodes} nodes ${ratio(times)} × one, at most ${maxRatio}`,
      met: times <= maxRatio,
    },
    {
      description: `${leasedGet}: PostgreSQL ${ratio(share * 100)} % of the nodes, at most ${maxDatabaseShare * 100}`,
      met: share <= maxDatabaseShare,
    },
  ];
}
