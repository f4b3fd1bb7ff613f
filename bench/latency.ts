import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fillDatabase, makeFiles, writeText } from "./data.ts";
import {
  bytesInWords,
  count,
  median,
  ms,
  type Pace,
  progress,
  quantile,
  ratio,
  type Table,
} from "./figures.ts";
import { authorization } from "./jobs.ts";
import { closedLoop } from "./load/closed-loop.ts";
import { httpRequest, rpcRequest, rpcText } from "./load/http-request.ts";
import type { Cores } from "./proc.ts";
import { least } from "./servers/contenders.ts";
import { type Bench, createBucket, hello, post, start, superToken } from "./servers/node-server.ts";
import { answered, finish, launch, type Running } from "./servers/program.ts";

const callsPerSecond = 200;
/** The work begins so much before the calls at most, and ends after them. */
const clientStartSeconds = 0.5;
const idle = "nobody else calls";
/** The goal: hello while others work takes at most so many times as long as while nobody does. */
export const latencyGoal = 2;

/** Work that others do while hello is called, for about so many seconds. */
type Work = (seconds: number) => Promise<unknown>;

export interface Waits {
  readonly state: string;
  readonly p50: number;
  readonly p99: number;
  readonly ratio: number;
  readonly met: boolean;
  /** The ratio of the server with the least work, for what it can do. */
  readonly least: number | undefined;
}

/** A server, with the work that it does while hello is called, by name. */
interface Subject {
  readonly port: number;
  readonly works: Readonly<Record<string, Work>>;
}

/** How long the calls of each round took, in milliseconds. */
type Rounds = ReadonlyMap<string, number[][]>;

interface Size {
  readonly files: number;
  readonly bytes: number;
  /** Rounds that are not counted. The compiler of JavaScript takes a part of the core for the first ten seconds of a new kind of work. */
  readonly warmUpRounds: number;
  readonly rounds: number;
  /** Of a round, for each kind of work. */
  readonly seconds: number;
}

/** What a caller of `hello` feels while the server does heavy work for others. */
export async function measureLatency(bench: Bench, cores: Cores, { quick }: Pace): Promise<Waits[]> {
  const size: Size = quick
    ? { files: 200, bytes: 2e6, warmUpRounds: 1, rounds: 1, seconds: 0.1 }
    : { files: 100_000, bytes: 1e9, warmUpRounds: 4, rounds: 5, seconds: 4 };
  const site = await bench.site("latency", {
    database: `sql_timeout_ms = ${(size.seconds + clientStartSeconds) * 1000}`,
  });
  fillDatabase(site.databasePath, size.bytes);
  await using server = await start(site.program, cores.server);
  await using minimal = await startLeast(bench, cores);
  const token = await createBucket(server.port, "bench");
  const folder = join(site.buckets, "bench");
  makeFiles(join(folder, "many"), size.files);
  await writeText(join(folder, "large.txt"), size.bytes);
  const subjects: Subject[] = [
    { port: server.port, works: ourWorks(server.port, token, size) },
    { port: minimal.port, works: uploads(minimal.port, "/dav/put") },
  ];
  for (const { port } of subjects)
    await closedLoop(
      { port, protocol: "http", requests: [rpcRequest(hello)], connections: 8 },
      { seconds: size.seconds },
    );
  const all = subjects.map((subject) => ({ subject, rounds: new Map<string, number[][]>() }));
  for (let round = 1 - size.warmUpRounds; round <= size.rounds; round += 1)
    for (const { subject, rounds } of all)
      for (const [state, work] of Object.entries(subject.works)) {
        progress(`hello, round ${round} of ${size.rounds}: ${state}`);
        const [times] = await Promise.all([
          callHello(subject.port, size.seconds),
          work(size.seconds + clientStartSeconds),
        ]);
        if (round > 0) rounds.set(state, [...(rounds.get(state) ?? []), times]);
      }
  progress("");
  const [own, floor] = all.map(({ rounds }) => rounds);
  return summarise(own ?? new Map(), floor ?? new Map());
}

async function startLeast(bench: Bench, cores: Cores): Promise<Running> {
  const folder = join(bench.folder, "latency-least");
  await mkdir(join(folder, "dav", "put"), { recursive: true });
  const server = launch(await bench.minimal("least", folder), cores.server);
  await answered(server, () => fetch(`http://127.0.0.1:${server.port}/`).then((answer) => answer.text()));
  return server;
}

const keep =
  (port: number, connections: number, ...requests: readonly Buffer[]): Work =>
  (seconds) =>
    closedLoop({ port, protocol: "http", requests, connections }, { seconds });

/** The works that both servers can do. */
function uploads(port: number, folder: string): Record<string, Work> {
  const put = (size: number) =>
    Array.from({ length: 64 }, (_, n) =>
      httpRequest({
        method: "PUT",
        path: `${folder}/${n}.bin`,
        headers: { authorization },
        body: Buffer.alloc(size, "x"),
      }),
    );
  return {
    [idle]: async () => {},
    "8 clients upload files of 4 KiB": keep(port, 8, ...put(4096)),
    "8 clients upload files of 1 MiB": keep(port, 8, ...put(1024 * 1024)),
  };
}

function ourWorks(port: number, token: string, { files, bytes }: Size): Record<string, Work> {
  const many = `${count(files)} files`;
  const list = { method: "PROPFIND", path: "/node/static-webdav/bench/many/" };
  const large = { path: "/node/static/bench/large.txt", headers: { "accept-encoding": "zstd" } };
  return {
    ...uploads(port, "/node/static-webdav/bench"),
    [`PROPFIND lists a folder of ${many}`]: keep(
      port,
      1,
      httpRequest({ ...list, headers: { authorization, depth: "1" } }),
    ),
    [`\`file_list\` lists a folder of ${many}`]: keep(
      port,
      1,
      rpcRequest(rpcText("static-bucket-file_list", { token, name: "bench", path: "many" })),
    ),
    [`a text of ${bytesInWords(bytes)} is compressed with zstd`]: keep(port, 1, httpRequest(large)),
    "an SQL statement runs": () => runStatement(port),
    [`\`database_storage\` measures a database of ${bytesInWords(bytes)}`]: keep(
      port,
      1,
      rpcRequest(rpcText("node-server_database_storage", [superToken])),
    ),
  };
}

/** Counts until the statement's time limit stops it. */
async function runStatement(port: number): Promise<void> {
  const endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";
  const answer = await post(port, rpcText("node-server_exec_sql", [superToken, endless]));
  if (!answer.includes("sql_timeout_ms")) throw new Error(`the statement was to be stopped, but: ${answer}`);
}

/** Calls `hello` for so many seconds; how long each call took, in milliseconds. */
export async function callHello(port: number, seconds: number): Promise<number[]> {
  const client = [process.execPath, "bench/load/open-loop.ts", port, callsPerSecond, seconds];
  return JSON.parse(await finish(client.map(String))) as number[];
}

function summarise(own: Rounds, floor: Rounds): Waits[] {
  return [...own.keys()].map((state) => {
    const toIdle = timesIdle(own, state);
    return {
      state,
      p50: quantileOf(own, state, 0.5),
      p99: quantileOf(own, state, 0.99),
      ratio: toIdle,
      met: toIdle <= latencyGoal,
      least: floor.has(state) ? timesIdle(floor, state) : undefined,
    };
  });
}

const quantileOf = (rounds: Rounds, state: string, share: number) =>
  median((rounds.get(state) ?? []).map((times) => quantile(times, share)));
const timesIdle = (rounds: Rounds, state: string) =>
  quantileOf(rounds, state, 0.99) / quantileOf(rounds, idle, 0.99);

export function latencyTable(waits: readonly Waits[]): Table {
  return {
    head: ["hello while …", "median", "p99", "p99, to idle", `${least}: to idle`],
    rows: waits.map((wait) => [
      wait.state,
      ...[wait.p50, wait.p99].map(ms),
      ratio(wait.ratio),
      wait.least === undefined ? "" : ratio(wait.least),
    ]),
  };
}

/** The same, and whether each line meets the goal. */
export function judgedLatencyTable(waits: readonly Waits[]): Table {
  const { head, rows } = latencyTable(waits);
  const verdicts = waits.map((wait, at) => (at === 0 ? "" : wait.met ? "met" : "missed"));
  return {
    head: [...head, `goal: within ${latencyGoal}`],
    rows: rows.map((row, at) => [...row, verdicts[at] ?? ""]),
  };
}
