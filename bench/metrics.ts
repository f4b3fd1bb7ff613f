import { sized } from "../src/http/content/plain.ts";
import { RequestObservers } from "../src/http/request/request-observer.ts";
import { RequestMetrics } from "../src/metrics/recorders.ts";
import { count, median, ms, type Pace, progress, quantile, type Table } from "./figures.ts";
import { callHello } from "./latency.ts";
import { closedLoop } from "./load/closed-loop.ts";
import { httpRequest, rpcRequest } from "./load/http-request.ts";
import { type Cores, cpuSeconds } from "./proc.ts";
import { type Bench, call, hello, start, superToken } from "./servers/node-server.ts";

/** Goals: recording a request, in microseconds, and a scrape, in milliseconds. */
const maxRecordingMicros = 0.3;
const maxScrapeMs = 20;
const scrapeEveryMs = 200;

export interface MetricsFigure {
  readonly what: string;
  readonly value: string;
  /** Undefined where nothing is promised. */
  readonly goal?: string;
  readonly met: boolean;
}

const headers = { authorization: `Bearer ${superToken}` };

/** What metrics cost: recording a request, and a scrape of a server with many buckets. */
export async function measureMetrics(bench: Bench, cores: Cores, { quick }: Pace): Promise<MetricsFigure[]> {
  progress("metrics: recording");
  const micros = recordingMicros(quick ? 100_000 : 2_000_000);
  const buckets = quick ? 10 : 1000;
  const scrape = await measureScrapes(bench, cores, { buckets, seconds: quick ? 0.2 : 10 });
  progress("");
  const withBuckets = `a scrape with ${count(buckets)} buckets`;
  return [
    {
      what: "recording a request",
      value: `${micros.toFixed(3)} µs`,
      goal: `under ${maxRecordingMicros} µs`,
      met: micros < maxRecordingMicros,
    },
    {
      what: `${withBuckets} (${count(scrape.bytes / 1000)} kB)`,
      value: ms(scrape.median),
      goal: `under ${maxScrapeMs} ms`,
      met: scrape.median < maxScrapeMs,
    },
    { what: `${withBuckets}, p99`, value: ms(scrape.p99), met: true },
    { what: `${withBuckets}, processor time`, value: ms(scrape.cpuMs), met: true },
    { what: "hello, median, nobody else calls", value: ms(scrape.helloIdle), met: true },
    {
      what: `hello, median, ${1000 / scrapeEveryMs} scrapes a second`,
      value: ms(scrape.helloBusy),
      met: true,
    },
    { what: "hello, p99, nobody else calls", value: ms(scrape.helloIdleP99), met: true },
    {
      what: `hello, p99, ${1000 / scrapeEveryMs} scrapes a second`,
      value: ms(scrape.helloBusyP99),
      met: true,
    },
  ];
}

export function metricsTable(figures: readonly MetricsFigure[]): Table {
  return {
    head: ["", "", "goal", ""],
    rows: figures.map(({ what, value, goal, met }) => [
      what,
      value,
      goal ?? "",
      goal === undefined ? "" : met ? "met" : "missed",
    ]),
  };
}

/** Processor time per request of all that the router does to record it, in microseconds: the median of several rounds. */
function recordingMicros(requests: number): number {
  const observers = new RequestObservers();
  observers.attach(new RequestMetrics(["static"]));
  const server = {} as Bun.Server<unknown>;
  const request = new Request("http://127.0.0.1/node/static/site/a.txt");
  // Made beforehand: a response is needed with and without metrics.
  const responses = Array.from({ length: 1024 }, () => new Response(null));
  const responseAt = (at: number) => responses[at % responses.length] as Response;
  const record = (at: number) => {
    const startedAt = performance.now();
    observers.started(request, server);
    const response = sized(responseAt(at), 1024);
    observers.ended({ request, server, handler: "static", startedAt }, response);
  };
  const nothing = (at: number) => void responseAt(at);
  const rounds = Array.from({ length: 7 }, () => cpuMicros(record, requests) - cpuMicros(nothing, requests));
  return median(rounds.slice(2)) / requests;
}

function cpuMicros(work: (at: number) => void, times: number): number {
  const before = process.cpuUsage();
  for (let at = 0; at < times; at += 1) work(at);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

interface ScrapeSize {
  readonly buckets: number;
  readonly seconds: number;
}

async function measureScrapes(bench: Bench, cores: Cores, { buckets, seconds }: ScrapeSize) {
  const site = await bench.site("metrics");
  await using server = await start(site.program, cores.server);
  const { port, pid } = server;
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const name = `bucket-${bucket}`;
    await call(port, "static-bucket_create", [superToken, name]);
    await call(port, "static-bucket-file_upload", [superToken, name, "a.txt", "hello"]);
  }
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/node/metrics`, { headers })).text();
  progress(`metrics: waiting until ${buckets} buckets are counted`);
  while (((await scrape()).match(/^node_server_bucket_files\{.* 1$/gm) ?? []).length < buckets)
    await Bun.sleep(1000);
  progress("metrics: scrapes");
  const load = (request: Buffer) => ({
    port,
    protocol: "http" as const,
    requests: [request],
    connections: 1,
  });
  await closedLoop(load(rpcRequest(hello)), { seconds });
  await closedLoop(load(httpRequest({ path: "/node/metrics", headers })), { seconds });
  const times: number[] = [];
  let bytes = 0;
  const before = cpuSeconds(pid);
  for (let scrapes = 0; scrapes < 100; scrapes += 1) {
    const begin = performance.now();
    bytes = (await scrape()).length;
    times.push(performance.now() - begin);
  }
  const cpuMs = ((cpuSeconds(pid) - before) * 1000) / times.length;
  const idle = await callHello(port, seconds);
  const [busy] = await Promise.all([callHello(port, seconds), scrapeRegularly(scrape, seconds)]);
  return {
    bytes,
    cpuMs,
    median: median(times),
    p99: quantile(times, 0.99),
    helloIdle: median(idle),
    helloIdleP99: quantile(idle, 0.99),
    helloBusy: median(busy),
    helloBusyP99: quantile(busy, 0.99),
  };
}

async function scrapeRegularly(scrape: () => Promise<unknown>, seconds: number): Promise<void> {
  const end = performance.now() + (seconds + 0.5) * 1000;
  while (performance.now() < end) {
    await scrape();
    await Bun.sleep(scrapeEveryMs);
  }
}
