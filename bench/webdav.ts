import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Line, median, ms, type Pace, perSecond, printTable, ratio } from "./figures.ts";
import { memoryOf, pins } from "./proc.ts";
import {
  type Bench,
  call,
  finish,
  firstAnswer,
  launch,
  type Program,
  type Running,
  request,
  superToken,
} from "./servers.ts";
import { peer } from "./static.ts";

const listed = 5000;
const uploadBytes = 256 * 1024 * 1024;
const four =
  '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getetag/><getcontentlength/><getlastmodified/><resourcetype/></prop></propfind>';

interface Contender {
  readonly name: string;
  readonly server: Running;
  readonly base: string;
}

/** WebDAV beside rclone's and Apache's, with a password checked by each, turn by turn. */
export async function webdav(bench: Bench, pace: Pace): Promise<Line[]> {
  const pin = pins();
  await using ours = launch(bench.ours, pin.server);
  await firstAnswer(ours);
  await call(ours.url, request("static-bucket_create", [superToken, "drive"]));
  const [folder, other] = [join(bench.folder, "static", "drive"), join(bench.folder, "other-drive")];
  for (const root of [folder, other]) await makeFiles(root);
  await using rclone = await peer("rclone", (port) => rcloneProgram(other, port), pin.server);
  const contenders: Contender[] = [
    { name: "node-server", server: ours, base: ours.url.replace("/jsonrpc", "/node/static-webdav/drive") },
    ...(rclone === undefined
      ? []
      : [{ name: "rclone", server: rclone, base: rclone.url.replace("/jsonrpc", "") }]),
  ];
  const measures: Record<
    string,
    { readonly shown: (value: number) => string; readonly run: (contender: Contender) => Promise<number> }
  > = {
    "PROPFIND, one file": {
      shown: perSecond,
      run: ({ base }) => hammer(bench.folder, pin.load, base, pace.roundSeconds),
    },
    "PROPFIND, 5,000 files": { shown: ms, run: ({ base }) => timed(() => list(base)) },
    "PUT of 4 KiB, one after the other": {
      shown: perSecond,
      run: ({ base }) => putMany(base, pace.quick ? 100 : 500),
    },
    "PUT of 256 MiB": {
      shown: ms,
      run: ({ base }) => timed(() => put(`${base}/large.bin`, Buffer.alloc(uploadBytes))),
    },
  };
  const rows: string[][] = [];
  for (const [name, { shown, run }] of Object.entries(measures)) {
    const figures = contenders.map((): number[] => []);
    for (let round = 0; round <= (pace.quick ? 1 : 5); round += 1) {
      for (const [at, contender] of contenders.entries()) {
        const figure = await run(contender);
        if (round > 0) figures[at]?.push(figure);
      }
    }
    const [own = [], theirs] = figures;
    const beside = theirs === undefined ? "" : ratio(median(own) / median(theirs));
    rows.push([name, ...figures.map((each) => shown(median(each))), beside]);
  }
  printTable("WebDAV", ["", ...contenders.map(({ name }) => name), "ratio"], rows);
  console.log(`memory of node-server afterwards: ${Math.round(memoryOf(ours.pid).rss / 1e6)} MB`);
  return [];
}

async function makeFiles(root: string): Promise<void> {
  await mkdir(join(root, "many"), { recursive: true });
  await mkdir(join(root, "small"), { recursive: true });
  for (let n = 0; n < listed; n += 1) await writeFile(join(root, "many", `${n}.txt`), "x");
}

const [user = "", password = ""] = superToken.split(":");
const authorization = `Basic ${Buffer.from(superToken).toString("base64")}`;

async function rcloneProgram(root: string, port: number): Promise<Program> {
  return {
    name: "rclone",
    command: [
      "rclone",
      "serve",
      "webdav",
      root,
      "--addr",
      `127.0.0.1:${port}`,
      "--user",
      user,
      "--pass",
      password,
    ],
    port,
  };
}

async function hammer(home: string, pin: readonly string[], base: string, seconds: number): Promise<number> {
  const script = join(home, "webdav.lua");
  await writeFile(
    script,
    `wrk.method = "PROPFIND"; wrk.headers["Depth"] = "0"; wrk.headers["Authorization"] = "${authorization}"`,
  );
  const told = await finish([
    ...pin,
    "wrk",
    "-t1",
    "-c8",
    `-d${seconds}s`,
    "-s",
    script,
    `${base}/many/1.txt`,
  ]);
  if (/Non-2xx|Socket errors/.test(told)) throw new Error(`PROPFIND failed: ${told}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(told)?.[1]);
}

async function list(base: string): Promise<void> {
  const response = await fetch(`${base}/many/`, {
    method: "PROPFIND",
    headers: { authorization, depth: "1" },
    body: four,
  });
  const found = (await response.text()).match(/<(?:\w+:)?response[ >]/g)?.length;
  if (found !== listed + 1) throw new Error(`${found} of ${listed + 1} resources were listed`);
}

async function putMany(base: string, count: number): Promise<number> {
  const body = Buffer.alloc(4096, "x");
  const took = await timed(async () => {
    for (let n = 0; n < count; n += 1) await put(`${base}/small/${n}.bin`, body);
  });
  return (count / took) * 1000;
}

async function put(address: string, body: Buffer): Promise<void> {
  const response = await fetch(address, { method: "PUT", headers: { authorization }, body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`PUT failed: ${response.status}`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
