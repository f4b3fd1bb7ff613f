import type { ClusterCell } from "../cluster/measure.ts";
import { databaseTable, judgeCluster, nodeTable, writeRateTable } from "../cluster/tables.ts";
import type { Costs } from "../cost.ts";
import type { DeployFigures } from "../deploy/measure.ts";
import { deployTable, judgeSwitches, siteLine, switchTable } from "../deploy/tables.ts";
import { markdownTable, type Target } from "../figures.ts";
import type { Curve } from "../growth-point.ts";
import { judgedLatencyTable, type Waits } from "../latency.ts";
import { type MetricsFigure, metricsTable } from "../metrics.ts";
import type { ProcessCell } from "../processes/measure.ts";
import { loadLine, processCostTable, processRateTable } from "../processes/tables.ts";
import { isInstalled, peers } from "../servers/peers.ts";
import { describe } from "../shape.ts";
import type { StartLine } from "../start.ts";
import type { StoreCell } from "../stores/measure.ts";
import type { MillionFigures } from "../stores/million.ts";
import {
  helperTable,
  judgeStores,
  millionTable,
  planTable,
  costTable as storeCostTable,
  waitTable,
} from "../stores/tables.ts";
import { judge, ratioTable } from "../targets.ts";
import { costPicture } from "./bars.ts";
import { growthPicture } from "./curves.ts";
import { replaceSection } from "./sections.ts";
import { costTable, growthTable, rateTable, shortTable } from "./tables.ts";

const page = "docs/performance.md";
const storagePage = "docs/storage.md";
const clusterPage = "docs/cluster.md";
const pictures = { cost: "performance-cost.svg", growth: "performance-growth.svg" };
const costTitle = "Processor time per request of node-server and of other servers";

/** Where a run took place, for the line below its tables. */
export interface Origin {
  readonly command: string;
  /** How the processes were placed on the cores. */
  readonly placement: string;
  /** The share of the processor that other programs used before it began. */
  readonly otherWork: number;
}

function originLine({ command, placement, otherWork }: Origin): string {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${process.platform} ${process.arch}, ${navigator.hardwareConcurrency} cores`;
  const busy =
    otherWork > 0.1
      ? ` **Other programs used ${Math.round(otherWork * 100)} % of the processor; only ratios mean something.**`
      : "";
  return `Measured by \`${command}\` on ${day} with Bun ${Bun.version} on ${machine}; ${placement}.${busy}`;
}

export async function writeCosts(costs: Costs, origin: Origin): Promise<void> {
  await Bun.write(`docs/${pictures.cost}`, costPicture(costs));
  await replaceSection(
    page,
    "cost",
    [
      `![${costTitle}](${pictures.cost})`,
      markdownTable(costTable(costs)),
      `${originLine(origin)} Medians of all rounds, quartiles in parentheses.`,
      missingLine(),
      "Requests per second, with the default settings of node-server:",
      markdownTable(rateTable(costs)),
      "Calls beside `hello`, measured in turn with it; medians of the ratios:",
      markdownTable(ratioTable(judge(costs))),
    ].join("\n\n"),
  );
}

/** The peers that could not take part. */
export function missingLine(): string {
  const missing = peers.filter((peer) => !isInstalled(peer));
  if (missing.length === 0) return "All the other servers were installed.";
  const lines = missing.map((peer) => `${peer.name}: not installed (apt-get install ${peer.package}).`);
  return [...new Set(lines)].join(" ");
}

export async function writeLatency(waits: readonly Waits[], origin: Origin): Promise<void> {
  await replaceSection(
    page,
    "latency",
    [markdownTable(judgedLatencyTable(waits)), originLine(origin)].join("\n\n"),
  );
}

export async function writeGrowth(curves: readonly Curve[], origin: Origin): Promise<void> {
  await Bun.write(`docs/${pictures.growth}`, growthPicture(curves));
  await replaceSection(
    page,
    "growth",
    [
      `![How the processor time per request grows](${pictures.growth})`,
      curves.map((curve) => `- ${describe(curve)}`).join("\n"),
      markdownTable(growthTable(curves)),
      originLine(origin),
    ].join("\n\n"),
  );
}

export async function writeMetrics(figures: readonly MetricsFigure[], origin: Origin): Promise<void> {
  await replaceSection(
    page,
    "metrics",
    [markdownTable(metricsTable(figures)), originLine(origin)].join("\n\n"),
  );
}

export async function writeDeploys(figures: DeployFigures, origin: Origin): Promise<void> {
  await replaceSection(
    page,
    "deploy",
    [
      `${siteLine(figures)}.`,
      markdownTable(deployTable(figures)),
      "The calls that publish a deploy, and roll back to the one before:",
      markdownTable(switchTable(figures)),
      verdicts(judgeSwitches(figures)),
      originLine(origin),
    ].join("\n\n"),
  );
}

function verdicts(targets: readonly Target[]): string {
  return targets.map(({ description, met }) => `- ${description}: ${met ? "met" : "missed"}`).join("\n");
}

export async function writeReadme(starts: readonly StartLine[], costs: Costs, origin: Origin): Promise<void> {
  await replaceSection(
    "README.md",
    "bench",
    [
      `![${costTitle}](docs/${pictures.cost})`,
      markdownTable(shortTable(starts, costs, judge(costs))),
      originLine(origin),
    ].join("\n\n"),
  );
}

export async function writeStores(cells: readonly StoreCell[], origin: Origin): Promise<void> {
  await replaceSection(
    storagePage,
    "stores",
    [
      "Processor time of the server per request, medians with quartiles in parentheses:",
      markdownTable(storeCostTable(cells)),
      "What PostgreSQL and SeaweedFS use beside it, in their own processes:",
      markdownTable(helperTable(cells)),
      "How long a client waits that is alone, and how much more memory the server has meanwhile than before, at most:",
      markdownTable(waitTable(cells)),
      verdicts(judgeStores(cells)),
      originLine(origin),
    ].join("\n\n"),
  );
}

export async function writeMillion(
  { figures, plans }: Omit<MillionFigures, "placement">,
  origin: Origin,
): Promise<void> {
  await replaceSection(
    storagePage,
    "stores-million",
    [
      "Processor time of one request, of the server and PostgreSQL together, by the number of files:",
      markdownTable(millionTable(figures)),
      "How the statements of these requests read the rows, by `EXPLAIN`:",
      markdownTable(planTable(plans)),
      originLine(origin),
    ].join("\n\n"),
  );
}

export async function writeCluster(cells: readonly ClusterCell[], origin: Origin): Promise<void> {
  await replaceSection(
    clusterPage,
    "cluster",
    [
      "Processor time of all nodes together, medians with quartiles in parentheses; reads are sent to one node after the other, writes to all at once:",
      markdownTable(nodeTable(cells)),
      "What PostgreSQL uses beside them:",
      markdownTable(databaseTable(cells)),
      "Uploads that end in a second, every commit synced to the disk:",
      markdownTable(writeRateTable(cells)),
      verdicts(judgeCluster(cells)),
      originLine(origin),
    ].join("\n\n"),
  );
}

export async function writeProcesses(cells: readonly ProcessCell[], origin: Origin): Promise<void> {
  await replaceSection(
    clusterPage,
    "processes",
    [
      "Processor time of all processes of the server together, the supervisor included, medians with quartiles in parentheses:",
      markdownTable(processCostTable(cells)),
      "Requests per second without the time that the load took from the server's cores, and in parentheses as they were counted:",
      markdownTable(processRateTable(cells)),
      loadLine(cells),
      originLine(origin),
    ].join("\n\n"),
  );
}
