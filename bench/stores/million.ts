import { median, type Pace, printTable, progress } from "../figures.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { type Cores, cpuSeconds, separateCores } from "../proc.ts";
import { type Bench, binary, call, type Site, start, superToken } from "../servers/node-server.ts";
import type { Running } from "../servers/program.ts";
import { bucket, dav, davRoot } from "./fill.ts";
import { davRequest, moveRequest, type StoreJob } from "./jobs.ts";
import { loadOf } from "./measure.ts";
import { explainRequests, type Plan } from "./plans.ts";
import { type Backends, type DatabaseName, openBackends } from "./sites.ts";
import { millionTable, planTable, type TotalFigure } from "./tables.ts";

/** Entries of each folder: files in folders in top folders. */
const width = 100;
const starts = 5;
/** Paths that are asked for in turn. */
const pathCount = 50;
const roundsPerJob = 5;
const requestsPerRound = 100;

export interface MillionFigures {
  readonly figures: readonly TotalFigure[];
  readonly plans: readonly Plan[];
  /** How the processes were placed on the cores. */
  readonly placement: string;
}

/** measureMillion compares a bucket of 10,000 files with one of 1,000,000; a quick run 100 with 200. */
export async function measureMillion(bench: Bench, { quick }: Pace): Promise<MillionFigures> {
  await using backends = await openBackends(bench, { sync: false });
  await using cores = separateCores();
  const figures: TotalFigure[] = [];
  const plans: Plan[] = [];
  for (const database of ["SQLite", "PostgreSQL"] as const) {
    const tree = { ...(await makeTree(bench, backends, database)), cores, folders: quick ? 1 : width };
    await fillTop(tree);
    const few = await lookAt(tree, 1);
    await copyTops(tree, quick ? 2 : width);
    const many = await lookAt(tree, quick ? 2 : width);
    for (const [at, { total, what, unit, value }] of few.entries())
      figures.push({
        ...{ what, unit, database },
        byTotal: new Map([
          [total, value],
          [many[at]?.total ?? 0, many[at]?.value ?? Number.NaN],
        ]),
      });
    plans.push(...(await explainRequests(tree)));
  }
  progress("");
  printTable("What grows with the number of files in a bucket", millionTable(figures));
  printTable("How the rows are found", planTable(plans));
  return { figures, plans, placement: cores.description };
}

/** Tree is a bucket of top folders with folders of files, and the server that has it. */
interface Tree {
  readonly database: DatabaseName;
  readonly site: Site;
  /** PostgreSQL. */
  readonly helpers: readonly number[];
  readonly cores: Cores;
  /** The number of folders in each top folder. */
  readonly folders: number;
}

async function makeTree(bench: Bench, backends: Backends, database: DatabaseName) {
  const name = `million-${database}`.toLowerCase();
  const { settings, helpers } = await backends.settings(name, "folder", database);
  // Processor time is measured, and the disk would make a run of minutes one of an hour.
  const site = await bench.site(name, { ...settings, top: "sync_uploads = false" });
  return { database, site, helpers };
}

/** Uploads the files of one folder, and copies it until the first top folder is complete. */
async function fillTop({ site, folders, database }: Tree): Promise<void> {
  await using server = await start(site.program);
  const { port } = server;
  await call(port, "static-bucket_create", [superToken, bucket]);
  await dav(port, "MKCOL", "/0");
  await dav(port, "MKCOL", "/0/0");
  for (let n = 0; n < width; n += 1)
    await dav(port, "PUT", `/0/0/${n}.txt`, { body: Buffer.from(`content ${n}`) });
  for (let folder = 1; folder < folders; folder += 1) {
    progress(`${database}: folder ${folder} of ${folders}`);
    await copy(port, "/0/0", `/0/${folder}`);
  }
}

async function copyTops({ site, database }: Tree, tops: number): Promise<void> {
  await using server = await start(site.program);
  for (let top = 1; top < tops; top += 1) {
    progress(`${database}: top folder ${top} of ${tops}`);
    await copy(server.port, "/0", `/${top}`);
  }
}

function copy(port: number, from: string, to: string): Promise<void> {
  return dav(port, "COPY", from, { headers: { destination: `${davRoot}${to}` } });
}

interface Figure extends Pick<TotalFigure, "what" | "unit"> {
  readonly total: number;
  readonly value: number;
}

/** Measures everything while the bucket has so many top folders. */
async function lookAt(tree: Tree, tops: number): Promise<Figure[]> {
  const total = tops * tree.folders * width;
  const figures: Figure[] = [];
  const add = (what: string, value: number, unit: Figure["unit"] = "ms") =>
    figures.push({ what, unit, total, value });
  progress(`${tree.database}, ${total} files: starts`);
  const startTimes: number[] = [];
  for (let n = 0; n < starts; n += 1) startTimes.push(await startCost(tree));
  add("start-up", median(startTimes));
  await using server = await start(tree.site.program, tree.cores.server);
  for (const job of jobsFor(tree, tops)) {
    progress(`${tree.database}, ${total} files: ${job.name}`);
    add(job.name, await costOf(job, server, tree.helpers));
  }
  progress(`${tree.database}, ${total} files: check --files`);
  const check = await checkFiles(tree);
  add("`check --files`, which compares all rows with the store", check.ms);
  add("its memory", check.megabytes, "MB");
  return figures;
}

/** Processor time from the start of the server to its first answer, in milliseconds. */
async function startCost({ site, cores, helpers }: Tree): Promise<number> {
  const before = secondsOf(helpers);
  await using server = await start(site.program, cores.server);
  return (cpuSeconds(server.pid) + secondsOf(helpers) - before) * 1000;
}

function jobsFor({ folders }: Tree, tops: number): StoreJob[] {
  const spread = Array.from({ length: pathCount }, (_, n) => {
    const [top, folder] = [(n * 37) % tops, (n * 61) % folders];
    return { folder: `/${top}/${folder}/`, file: `/${top}/${folder}/${(n * 17) % width}.txt` };
  });
  const requests = (make: (path: (typeof spread)[number]) => Buffer) => spread.map(make);
  const headers = (depth: string) => ({ headers: { depth } });
  const body = Buffer.alloc(4096, "y");
  return [
    {
      name: "find a file (PROPFIND, depth 0)",
      requests: requests(({ file }) => davRequest("PROPFIND", file, headers("0"))),
      connections: 1,
    },
    {
      name: "list a folder of 100 (PROPFIND, depth 1)",
      requests: requests(({ folder }) => davRequest("PROPFIND", folder, headers("1"))),
      connections: 1,
    },
    { name: "WebDAV GET", requests: requests(({ file }) => davRequest("GET", file)), connections: 1 },
    { name: "PUT 4 KiB", requests: [davRequest("PUT", "/put.bin", { body })], connections: 1 },
    {
      name: "rename a file",
      requests: [moveRequest("0/0/7.txt", "0/0/moved.txt"), moveRequest("0/0/moved.txt", "0/0/7.txt")],
      connections: 1,
    },
    {
      name: `rename a folder of ${(folders * width).toLocaleString("en-US")} files`,
      requests: [moveRequest("0", "moved"), moveRequest("moved", "0")],
      connections: 1,
    },
  ];
}

/** Processor time of one request, of the server and PostgreSQL, in milliseconds: the median of several rounds. */
async function costOf(job: StoreJob, server: Running, helpers: readonly number[]): Promise<number> {
  const load = loadOf(job, server);
  const requests = Math.ceil(requestsPerRound / job.requests.length) * job.requests.length;
  await closedLoop(load, { requests: requests * 2 });
  const costs: number[] = [];
  for (let round = 0; round < roundsPerJob; round += 1) {
    const before = cpuSeconds(server.pid) + secondsOf(helpers);
    await closedLoop(load, { requests });
    costs.push(((cpuSeconds(server.pid) + secondsOf(helpers) - before) * 1000) / requests);
  }
  return median(costs);
}

async function checkFiles({ site, helpers }: Tree): Promise<{ ms: number; megabytes: number }> {
  const before = secondsOf(helpers);
  const config = site.program.command.at(-1) ?? "";
  const run = Bun.spawn([binary, "check", "--files", "-c", config], { stdout: "ignore", stderr: "pipe" });
  if ((await run.exited) !== 0) throw new Error(`check --files failed: ${await run.stderr.text()}`);
  const usage = run.resourceUsage();
  return {
    ms: Number(usage?.cpuTime.total ?? 0) / 1000 + (secondsOf(helpers) - before) * 1000,
    megabytes: Number(usage?.maxRSS ?? 0) / 1e6,
  };
}

function secondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}
