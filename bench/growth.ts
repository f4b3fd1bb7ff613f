import { join } from "node:path";
import { growRows, makeFiles } from "./data.ts";
import { type Pace, progress } from "./figures.ts";
import { type Curve, type Measuring, measurePoint, type Point, sizes } from "./growth-point.ts";
import { authorization } from "./jobs.ts";
import { httpRequest, rpcRequest, rpcText } from "./load/http-request.ts";
import { openSubscribers } from "./load/subscribers.ts";
import type { Cores } from "./proc.ts";
import {
  type Bench,
  call,
  createBucket,
  hello,
  type Site,
  start,
  superToken,
} from "./servers/node-server.ts";
import type { Running } from "./servers/program.ts";

export async function measureGrowth(bench: Bench, cores: Cores, { quick }: Pace): Promise<Curve[]> {
  const measuring = { bench, cores, quick };
  const parts = [growFiles, growTokens, growBuckets, growSubscribers];
  const curves: Curve[] = [];
  for (const part of parts) curves.push(...(await part(measuring)));
  progress("");
  return curves;
}

async function growFiles(measuring: Measuring): Promise<Curve[]> {
  const { bench, cores } = measuring;
  const site = await bench.site("grow-files");
  await using server = await start(site.program, cores.server);
  const token = await createBucket(server.port, "bench");
  const [listed, served] = [sizes(10, 100_000, measuring), sizes(1, 100_000, measuring)];
  for (const n of listed) makeFiles(join(site.buckets, "bench", String(n)), n);
  const propfind: Point[] = [];
  const list: Point[] = [];
  const get: Point[] = [];
  // From the largest down: one long list warms up the code better than many short ones.
  for (const n of listed.toReversed()) {
    const what = { n, of: "files in the folder", server };
    const path = `/node/static-webdav/bench/${n}/`;
    const propfindRequest = httpRequest({ method: "PROPFIND", path, headers: { authorization, depth: "1" } });
    const listRequest = rpcRequest(
      rpcText("static-bucket-file_list", { token, name: "bench", path: `${n}` }),
    );
    propfind.push(await measurePoint(measuring, what, { requests: [propfindRequest], connections: 2 }));
    list.push(await measurePoint(measuring, what, { requests: [listRequest], connections: 2 }));
  }
  const largest = listed.at(-1);
  for (const n of served) {
    const requests = Array.from({ length: n }, (_, at) =>
      httpRequest({ path: `/node/static/bench/${largest}/${at}.txt` }),
    );
    get.push(
      await measurePoint(measuring, { n, of: "distinct files", server }, { requests, connections: 8 }),
    );
  }
  return [
    { request: "PROPFIND, depth 1", of: "files in the folder", points: propfind.reverse() },
    { request: "`file_list`", of: "files in the folder", points: list.reverse() },
    { request: "GET 1 KiB", of: "distinct files requested", points: get },
  ];
}

async function growTokens(measuring: Measuring): Promise<Curve[]> {
  const points = await growTable(measuring, { table: "token", last: 100_000 }, async (server, n) => {
    const requests = [rpcRequest(rpcText("node-server_get_database_type", [superToken]))];
    return [await measurePoint(measuring, { n, of: "tokens", server }, { requests, connections: 8 })];
  });
  return [{ request: "authenticated call", of: "tokens in the database", points: points.flat() }];
}

async function growBuckets(measuring: Measuring): Promise<Curve[]> {
  const requests = {
    "GET 1 KiB": httpRequest({ path: "/node/static/bench/ten/0.txt" }),
    "`file_list` of 10 files": rpcRequest(
      rpcText("static-bucket-file_list", { token: superToken, name: "bench", path: "ten" }),
    ),
    "`bucket_list`": rpcRequest(rpcText("static-bucket_list", [superToken])),
  };
  const points = await growTable(measuring, { table: "static_file", last: 10_000 }, async (server, n) => {
    const found: Point[] = [];
    for (const request of Object.values(requests))
      found.push(
        await measurePoint(measuring, { n, of: "buckets", server }, { requests: [request], connections: 8 }),
      );
    return found;
  });
  return Object.keys(requests).map((request, at) => ({
    request,
    of: "buckets",
    points: points.flatMap((each) => each[at] ?? []),
  }));
}

/** Measures with more and more rows of a table, each time with a server that was started afterwards. */
async function growTable<T>(
  measuring: Measuring,
  { table, last }: { readonly table: "token" | "static_file"; readonly last: number },
  look: (server: Running, n: number) => Promise<T>,
): Promise<T[]> {
  const site = await measuring.bench.site(`grow-${table}`);
  await prepareBucket(site);
  const found: T[] = [];
  for (const n of sizes(1, last, measuring)) {
    growRows(site.databasePath, table, n);
    await using server = await start(site.program, measuring.cores.server);
    found.push(await look(server, n));
  }
  return found;
}

async function prepareBucket({ program, buckets }: Site): Promise<void> {
  await using server = await start(program);
  await call(server.port, "static-bucket_create", [superToken, "bench"]);
  makeFiles(join(buckets, "bench", "ten"), 10);
}

async function growSubscribers(measuring: Measuring): Promise<Curve[]> {
  const site = await measuring.bench.site("grow-subscribers", { logging: 'memory_log_filter = "rpc=debug"' });
  await using server = await start(site.program, measuring.cores.server);
  const points: Point[] = [];
  for (const n of [0, ...sizes(1, measuring.quick ? 100 : 1000, measuring)]) {
    const subscribe = rpcText("node-server_stream_log", [superToken, "rpc=debug"]);
    using _ = await openSubscribers(server.port, n, subscribe);
    const what = { n, of: "log subscribers", server };
    points.push(await measurePoint(measuring, what, { requests: [rpcRequest(hello)], connections: 8 }));
  }
  return [{ request: "hello with a log event", of: "log subscribers", points }];
}
