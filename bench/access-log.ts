import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { measure } from "./cost.ts";
import { median, micros, type Pace, progress, quantile, type Table } from "./figures.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { httpRequest, rpcRequest } from "./load/http-request.ts";
import type { Cores } from "./proc.ts";
import { type Bench, createBucket, hello, type Site, start } from "./servers/node-server.ts";

const kinds = ["off", "combined", "json"] as const;
type Kind = (typeof kinds)[number];

const requests: Readonly<Record<string, Buffer>> = {
  "GET 1 KiB, from memory": httpRequest({
    path: "/node/static/bench/small.bin",
    headers: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0" },
  }),
  hello: rpcRequest(hello),
};

/** Processor time per request in microseconds, of each round. */
type Costs = Record<Kind, number[]>;

/** Measures what the access log costs a request: the same server without it and in both formats, in turns. */
export async function measureAccessLog(bench: Bench, cores: Cores, pace: Pace): Promise<Map<string, Costs>> {
  const sites = await Promise.all(kinds.map((kind) => makeSite(bench, kind)));
  const found = new Map(
    Object.keys(requests).map((name): [string, Costs] => [name, { off: [], combined: [], json: [] }]),
  );
  for (let pass = 0; pass < pace.passes; pass += 1) {
    await using running = new AsyncDisposableStack();
    const servers = await Promise.all(
      sites.map(async ({ program }) => running.use(await start(program, cores.server))),
    );
    for (const [name, request] of Object.entries(requests)) {
      progress(`access log, pass ${pass + 1} of ${pace.passes}: ${name}`);
      const { seconds } = pace.compiledWarmUp;
      const loads = servers.map(
        ({ port }): Load => ({ port, protocol: "http", requests: [request], connections: 16 }),
      );
      const counts: number[] = [];
      for (const load of loads) {
        const warm = await closedLoop(load, { seconds });
        counts.push(Math.max(1, Math.floor((warm.requests * pace.roundSeconds) / seconds)));
      }
      for (let round = 0; round < pace.rounds; round += 1)
        for (const [at, kind] of kinds.entries()) {
          const [server, load] = [servers[at], loads[at]];
          if (server === undefined || load === undefined) continue;
          const { cost } = await measure(server, load, counts[at] ?? 1);
          found.get(name)?.[kind].push(cost);
        }
    }
    progress("");
  }
  return found;
}

async function makeSite(bench: Bench, kind: Kind): Promise<Site> {
  const name = `access-log-${kind}`;
  const path = join(bench.folder, name, "access.log");
  const logging = kind === "off" ? "" : `access_log = ${JSON.stringify(path)}\naccess_log_format = "${kind}"`;
  const site = await bench.site(name, { logging });
  await using server = await start(site.program);
  await createBucket(server.port, "bench");
  await mkdir(join(site.buckets, "bench"), { recursive: true });
  await writeFile(join(site.buckets, "bench", "small.bin"), Buffer.alloc(1024, "x"));
  return site;
}

/** The cost without the log, and what each format adds. */
export function accessLogTable(found: ReadonlyMap<string, Costs>): Table {
  const rows = [...found].map(([name, costs]) => {
    const base = median(costs.off);
    const spread = `${micros(quantile(costs.off, 0.25))}–${micros(quantile(costs.off, 0.75))}`;
    const added = (kind: Kind) => `+${micros(Math.max(0, median(costs[kind]) - base))}`;
    return [name, `${micros(base)} (${spread})`, added("combined"), added("json")];
  });
  return { head: ["µs of processor time per request", "without", "combined", "json"], rows };
}
