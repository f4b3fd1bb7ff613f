import type { ClusterCell } from "../cluster/measure.ts";
import { judgeCluster, nodeTable, writeRateTable } from "../cluster/tables.ts";
import type { Costs } from "../cost.ts";
import type { DeployFigures } from "../deploy/measure.ts";
import { deployTable, judgeSwitches, siteLine, switchTable } from "../deploy/tables.ts";
import { markdownTable, type Table, type Target } from "../figures.ts";
import type { Curve } from "../growth-point.ts";
import { judgedLatencyTable, type Waits } from "../latency.ts";
import { type MetricsFigure, metricsTable } from "../metrics.ts";
import type { ProcessCell } from "../processes/measure.ts";
import { loadLine, processCostTable, processRateTable } from "../processes/tables.ts";
import { judgeS3, type S3Cell, s3Table } from "../s3.ts";
import { isInstalled, peers } from "../servers/peers.ts";
import { describe } from "../shape.ts";
import type { StartLine } from "../start.ts";
import type { StoreCell } from "../stores/measure.ts";
import {
  judgeStores,
  millionTable,
  costTable as storeCostTable,
  type TotalFigure,
  waitTable,
} from "../stores/tables.ts";
import { judge } from "../targets.ts";
import { type TlsCell, tlsTable } from "../tls.ts";
import { costPicture } from "./bars.ts";
import { growthPicture } from "./curves.ts";
import { replaceSection } from "./sections.ts";
import { rateTable, startTable, summaryTable } from "./tables.ts";

const page = "docs/performance.md";
const pictures = { cost: "performance-cost.svg", growth: "performance-growth.svg" };

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

/** brief leaves out what the terminal shows in parentheses beside each figure. */
function brief({ head, rows }: Table): Table {
  const withoutDetail = (cell: string) => cell.replace(/ \([^)]*\)$/, "");
  return { head, rows: rows.map(([what = "", ...cells]) => [what, ...cells.map(withoutDetail)]) };
}

export async function writeStart(
  starts: readonly StartLine[],
  origin: Omit<Origin, "placement">,
): Promise<void> {
  await replaceSection(page, "start", [
    markdownTable(startTable(starts)),
    originLine({ ...origin, placement: "the programs take turns" }),
  ]);
}

export async function writeCosts(costs: Costs, origin: Origin): Promise<void> {
  await Bun.write(`docs/${pictures.cost}`, costPicture(costs));
  await replaceSection(page, "cost", [
    `![Processor time per request of node-server and of other servers](${pictures.cost})`,
    markdownTable(summaryTable(costs, judge(costs))),
    originLine(origin),
    missingLine(),
    "Requests per second, with the default settings of node-server:",
    markdownTable(rateTable(costs)),
  ]);
}

/** The peers that could not take part. */
export function missingLine(): string {
  const missing = peers.filter((peer) => !isInstalled(peer));
  if (missing.length === 0) return "All the other servers were installed.";
  const lines = missing.map((peer) => `${peer.name}: not installed (apt-get install ${peer.package}).`);
  return [...new Set(lines)].join(" ");
}

export async function writeLatency(waits: readonly Waits[], origin: Origin): Promise<void> {
  await replaceSection(page, "latency", [markdownTable(judgedLatencyTable(waits)), originLine(origin)]);
}

export async function writeGrowth(curves: readonly Curve[], origin: Origin): Promise<void> {
  await Bun.write(`docs/${pictures.growth}`, growthPicture(curves));
  await replaceSection(page, "growth", [
    `![How the processor time per request grows](${pictures.growth})`,
    curves.map((curve) => `- ${describe(curve)}`).join("\n"),
    originLine(origin),
  ]);
}

export async function writeMetrics(figures: readonly MetricsFigure[], origin: Origin): Promise<void> {
  await replaceSection(page, "metrics", [markdownTable(metricsTable(figures)), originLine(origin)]);
}

export async function writeTls(cells: readonly TlsCell[], origin: Origin): Promise<void> {
  await replaceSection(page, "tls", [markdownTable(tlsTable(cells)), originLine(origin)]);
}

export async function writeS3(cells: readonly S3Cell[], origin: Origin): Promise<void> {
  await replaceSection(page, "s3", [
    markdownTable(s3Table(cells)),
    verdicts(judgeS3(cells)),
    originLine(origin),
  ]);
}

export async function writeDeploys(figures: DeployFigures, origin: Origin): Promise<void> {
  await replaceSection(page, "deploy", [
    `${siteLine(figures)}:`,
    markdownTable(brief(deployTable(figures))),
    "The calls that publish a deploy, and roll back to the one before:",
    markdownTable(switchTable(figures)),
    verdicts(judgeSwitches(figures)),
    originLine(origin),
  ]);
}

/** verdicts counts the goals that were met, and lists those that were missed. */
function verdicts(targets: readonly Target[]): string {
  const missed = targets.filter(({ met }) => !met);
  const counts = `Goals: ${targets.length - missed.length} of ${targets.length} met.`;
  return [counts, ...missed.map(({ description }) => `- missed: ${description}`)].join("\n");
}

export async function writeStores(cells: readonly StoreCell[], origin: Origin): Promise<void> {
  await replaceSection(page, "stores", [
    "Processor time of the server per request, without that of PostgreSQL and SeaweedFS:",
    markdownTable(brief(storeCostTable(cells))),
    "How long a single client waits:",
    markdownTable(brief(waitTable(cells))),
    verdicts(judgeStores(cells)),
    originLine(origin),
  ]);
}

export async function writeMillion(figures: readonly TotalFigure[], origin: Origin): Promise<void> {
  await replaceSection(page, "stores-million", [markdownTable(millionTable(figures)), originLine(origin)]);
}

export async function writeCluster(cells: readonly ClusterCell[], origin: Origin): Promise<void> {
  await replaceSection(page, "cluster", [
    "Processor time of all nodes together. Reads go to one node after the other, writes to all at once:",
    markdownTable(brief(nodeTable(cells))),
    "Uploads per second, every commit synced to the disk:",
    markdownTable(writeRateTable(cells)),
    verdicts(judgeCluster(cells)),
    originLine(origin),
  ]);
}

export async function writeProcesses(cells: readonly ProcessCell[], origin: Origin): Promise<void> {
  await replaceSection(page, "processes", [
    "Processor time of all processes of the server, the supervisor included:",
    markdownTable(brief(processCostTable(cells))),
    "Requests per second, without the time that the load took from the server's cores:",
    markdownTable(brief(processRateTable(cells))),
    loadLine(cells),
    originLine(origin),
  ]);
}
