import { parseArgs } from "node:util";
import { accessLogTable, measureAccessLog } from "./access-log.ts";
import { compareNodes } from "./cluster/index.ts";
import { judgeCluster } from "./cluster/tables.ts";
import { consolePages } from "./console.ts";
import { measureCosts } from "./cost.ts";
import { measureDeploys } from "./deploy/measure.ts";
import { deployTable, judgeSwitches, siteLine, switchTable } from "./deploy/tables.ts";
import { type Pace, paces, printTable } from "./figures.ts";
import { measureGrowth } from "./growth.ts";
import { judgedLatencyTable, latencyGoal, latencyTable, measureLatency } from "./latency.ts";
import { measureMetrics, metricsTable } from "./metrics.ts";
import { otherWork, separateCores } from "./proc.ts";
import { compareProcesses } from "./processes/index.ts";
import { costTable, growthTable, rateTable } from "./report/tables.ts";
import {
  missingLine,
  type Origin,
  writeCluster,
  writeCosts,
  writeDeploys,
  writeGrowth,
  writeLatency,
  writeMetrics,
  writeMillion,
  writeProcesses,
  writeS3,
  writeStart,
  writeStores,
  writeTls,
} from "./report/write.ts";
import { judgeS3, measureS3, s3Table } from "./s3.ts";
import { prepareContestants } from "./servers/contenders.ts";
import { type Bench, openBench } from "./servers/node-server.ts";
import { describe } from "./shape.ts";
import { judgeRules, maxRuleRatio, measureRules, rulesTable } from "./sites.ts";
import { measureStart } from "./start.ts";
import { compareStores } from "./stores/index.ts";
import { measureMillion } from "./stores/million.ts";
import { judgeStores } from "./stores/tables.ts";
import { judge, ratioTable } from "./targets.ts";
import { measureTls, tlsTable } from "./tls.ts";

interface Run {
  readonly bench: Bench;
  readonly pace: Pace;
  readonly origin: Omit<Origin, "placement">;
}

const parts: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  start,
  cost,
  latency,
  growth,
  metrics,
  "access-log": accessLog,
  tls,
  s3,
  stores,
  "stores-million": storesMillion,
  cluster,
  processes,
  sites,
  deploy,
  console: ({ bench, pace }) => consolePages(bench, pace),
};
/** The parts of a run that names none. */
const usual = {
  full: ["start", "cost", "latency"],
  quick: [
    "start",
    "cost",
    "latency",
    "growth",
    "metrics",
    "access-log",
    "tls",
    "s3",
    "stores",
    "cluster",
    "processes",
    "sites",
    "deploy",
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(`No benchmark is called ${unknown.join(", ")}; there are: ${Object.keys(parts).join(", ")}.`);
  process.exit(2);
}

const begin = performance.now();
const kind = values.quick ? "quick" : "full";
const named = positionals.length === 0 ? "" : ` -- ${positionals.join(" ")}`;
await using bench = await openBench();
const run: Run = {
  bench,
  pace: paces[kind],
  origin: { command: `npm run bench${named}`, otherWork: await otherWork() },
};
for (const name of positionals.length > 0 ? positionals : usual[kind]) await parts[name]?.(run);
console.log(`\nThe run took ${Math.round((performance.now() - begin) / 1000)} s.`);

async function start({ bench, pace, origin }: Run): Promise<void> {
  const starts = await measureStart(bench, pace);
  if (pace.quick) return;
  for (const { what, target, met } of starts) report(`${what}: ${target}`, met);
  await writeStart(starts, origin);
}

async function cost(own: Run): Promise<void> {
  const contestants = await prepareContestants(own.bench);
  await using cores = separateCores();
  const costs = await measureCosts(contestants, cores, own.pace);
  printTable("Processor time per request: median and quartiles", costTable(costs));
  console.log(missingLine());
  printTable("Requests per second", rateTable(costs));
  const ratios = judge(costs);
  if (own.pace.quick) return;
  printTable("Beside hello", ratioTable(ratios));
  for (const { job, limit, met } of ratios) report(`${job}: at most ${limit} times hello`, met);
  await writeCosts(costs, { ...own.origin, placement: cores.description });
}

async function latency(own: Run): Promise<void> {
  await using cores = separateCores();
  const waits = await measureLatency(own.bench, cores, own.pace);
  const table = own.pace.quick ? latencyTable(waits) : judgedLatencyTable(waits);
  printTable("How long hello takes while others work", table);
  if (own.pace.quick) return;
  for (const { state, met } of waits)
    report(`hello while ${state}: p99 within ${latencyGoal} times idle`, met);
  await writeLatency(waits, { ...own.origin, placement: cores.description });
}

async function growth(own: Run): Promise<void> {
  await using cores = separateCores();
  const curves = await measureGrowth(own.bench, cores, own.pace);
  printTable("How the processor time per request grows", growthTable(curves));
  if (own.pace.quick) return;
  for (const curve of curves) console.log(describe(curve));
  await writeGrowth(curves, { ...own.origin, placement: cores.description });
}

async function metrics(own: Run): Promise<void> {
  await using cores = separateCores();
  const figures = await measureMetrics(own.bench, cores, own.pace);
  printTable("What metrics cost", metricsTable(figures));
  if (own.pace.quick) return;
  for (const { what, goal, met } of figures) if (goal !== undefined) report(`${what}: ${goal}`, met);
  await writeMetrics(figures, { ...own.origin, placement: cores.description });
}

async function tls({ bench, pace, origin }: Run): Promise<void> {
  await using cores = separateCores();
  const cells = await measureTls(bench, cores, pace);
  printTable("What requests and handshakes cost over TLS", tlsTable(cells));
  if (pace.quick) return;
  await writeTls(cells, { ...origin, placement: cores.description });
}

async function s3({ bench, pace, origin }: Run): Promise<void> {
  await using cores = separateCores();
  const cells = await measureS3(bench, cores, pace);
  printTable("What requests of S3 cost", s3Table(cells));
  if (pace.quick) return;
  for (const { description, met } of judgeS3(cells)) report(description, met);
  await writeS3(cells, { ...origin, placement: cores.description });
}

async function accessLog({ bench, pace }: Run): Promise<void> {
  await using cores = separateCores();
  const costs = await measureAccessLog(bench, cores, pace);
  printTable("What the access log costs: the median, and what it adds", accessLogTable(costs));
}

async function sites({ bench, pace }: Run): Promise<void> {
  await using cores = separateCores();
  const costs = await measureRules(bench, cores, pace);
  printTable("What rules of a site cost", rulesTable(costs));
  if (pace.quick) return;
  for (const { name, isJudged, met } of judgeRules(costs))
    if (isJudged) report(`${name}: at most ${maxRuleRatio} times that of a bucket without rules`, met);
}

async function deploy({ bench, pace, origin }: Run): Promise<void> {
  await using cores = separateCores();
  const figures = await measureDeploys(bench, cores, pace);
  printTable(`${siteLine(figures)} (processor time of program + server)`, deployTable(figures));
  printTable("A deploy published, and rolled back to the one before", switchTable(figures));
  if (pace.quick) return;
  for (const { description, met } of judgeSwitches(figures)) report(description, met);
  await writeDeploys(figures, { ...origin, placement: cores.description });
}

async function stores({ bench, pace, origin }: Run): Promise<void> {
  const { cells, placement } = await compareStores(bench, pace);
  if (pace.quick) return;
  for (const { description, met } of judgeStores(cells)) report(description, met);
  await writeStores(cells, { ...origin, placement });
}

async function storesMillion({ bench, pace, origin }: Run): Promise<void> {
  const { figures, plans, placement } = await measureMillion(bench, pace);
  for (const { database, statement, met } of plans)
    if (!met) report(`${database} finds rows by an index: ${statement}`, met);
  if (!pace.quick) await writeMillion(figures, { ...origin, placement });
}

async function cluster({ bench, pace, origin }: Run): Promise<void> {
  const { cells, placement } = await compareNodes(bench, pace);
  if (pace.quick) return;
  for (const { description, met } of judgeCluster(cells)) report(description, met);
  await writeCluster(cells, { ...origin, placement });
}

async function processes(own: Run): Promise<void> {
  const { cells, placement } = await compareProcesses(own.bench, own.pace);
  if (!own.pace.quick) await writeProcesses(cells, { ...own.origin, placement });
}

/** Prints whether a target was met; a missed one makes the run fail. */
function report(what: string, met: boolean): void {
  console.log(`${met ? "met   " : "MISSED"}  ${what}`);
  if (!met) process.exitCode = 1;
}
