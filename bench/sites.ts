import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { measure } from "./cost.ts";
import { median, micros, type Pace, progress, quantile, ratio, type Table } from "./figures.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { httpRequest } from "./load/http-request.ts";
import type { Cores } from "./proc.ts";
import { type Bench, createBucket, start } from "./servers/node-server.ts";

/** The goal: a GET of a file, beside the same of a bucket without rules. */
export const maxRuleRatio = 1.1;
const buckets = ["plain", "rules"] as const;
type BucketName = (typeof buckets)[number];

interface Job {
  readonly name: string;
  readonly paths: Readonly<Record<BucketName, string>>;
  readonly connections: number;
  /** Whether the goal is for it. */
  readonly isJudged: boolean;
}

const file = { plain: "small.bin", rules: "small.bin" };
const jobs: readonly Job[] = [
  { name: "GET 1 KiB, from memory", paths: file, connections: 16, isJudged: true },
  { name: "GET 1 KiB, from memory, one connection", paths: file, connections: 1, isJudged: true },
  {
    name: "the file under any address (the last of the rules), beside the file itself",
    paths: { plain: "small.bin", rules: "any/where" },
    connections: 16,
    isJudged: false,
  },
];

/** Processor time per request in microseconds, of each round. */
export type RuleCosts = ReadonlyMap<Job, Record<BucketName, number[]>>;

/** measureRules measures what 1,000 redirects and 50 blocks of headers cost, beside a bucket of the same server that has none. */
export async function measureRules(bench: Bench, cores: Cores, pace: Pace): Promise<RuleCosts> {
  const site = await bench.site("sites");
  const found = new Map(jobs.map((job) => [job, { plain: [], rules: [] } as Record<BucketName, number[]>]));
  for (let pass = 0; pass < pace.passes; pass += 1) {
    await using server = await start(site.program, cores.server);
    if (pass === 0) await fill(server.port, site.buckets);
    for (const job of jobs) {
      progress(`sites, pass ${pass + 1} of ${pace.passes}: ${job.name}`);
      const loadOf = (bucket: BucketName): Load => ({
        port: server.port,
        protocol: "http",
        requests: [httpRequest({ path: `/node/static/${bucket}/${job.paths[bucket]}` })],
        connections: job.connections,
      });
      const { seconds } = pace.compiledWarmUp;
      let requests = 1;
      for (const bucket of buckets) ({ requests } = await closedLoop(loadOf(bucket), { seconds }));
      const perRound = Math.max(1, Math.floor((requests * pace.roundSeconds) / seconds));
      for (let round = 0; round < pace.rounds * 2; round += 1)
        for (const bucket of round % 2 === 0 ? buckets : buckets.toReversed())
          found.get(job)?.[bucket].push((await measure(server, loadOf(bucket), perRound)).cost);
    }
    progress("");
  }
  return found;
}

async function fill(port: number, folder: string): Promise<void> {
  const rules = Array.from({ length: 1000 }, (_, at) => `/section/${at}/:name /new/${at}/:name 301`);
  const blocks = Array.from({ length: 50 }, (_, at) => `/section/${at}/*\n  X-Section: ${at}`);
  for (const bucket of buckets) {
    await createBucket(port, bucket);
    await mkdir(join(folder, bucket), { recursive: true });
    await writeFile(join(folder, bucket, "small.bin"), Buffer.alloc(1024, "x"));
  }
  await writeFile(join(folder, "rules", "_redirects"), `${rules.join("\n")}\n/* /small.bin 200\n`);
  await writeFile(join(folder, "rules", "_headers"), blocks.join("\n"));
}

/** The ratio of the medians, and whether the goal is met. */
export function judgeRules(found: RuleCosts) {
  return [...found].map(([{ name, isJudged }, { plain, rules }]) => {
    const value = median(rules) / median(plain);
    return { name, plain, rules, value, isJudged, met: value <= maxRuleRatio };
  });
}

export function rulesTable(found: RuleCosts): Table {
  const shown = (values: readonly number[]) =>
    `${micros(median(values))} (${micros(quantile(values, 0.25))}–${micros(quantile(values, 0.75))})`;
  return {
    head: ["µs of processor time per request", "no rules", "1,000 rules", "ratio"],
    rows: judgeRules(found).map(({ name, plain, rules, value }) => [
      name,
      shown(plain),
      shown(rules),
      ratio(value),
    ]),
  };
}
