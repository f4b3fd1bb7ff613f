import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Line, median, type Pace, perSecond, printTable, ratio } from "./figures.ts";
import { cpuSeconds, memoryOf, pins } from "./proc.ts";
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

const KiB = 1024;
const sizes = {
  "1 KiB": KiB,
  "4 KiB": 4 * KiB,
  "64 KiB": 64 * KiB,
  "1 MiB": KiB * KiB,
  "100 MiB": 100 * KiB * KiB,
};
const distinct = 10_000;

interface Kind {
  readonly name: string;
  readonly file: string;
  readonly headers?: (server: Running) => Promise<Record<string, string>>;
}

/** Plain HTTP beside nginx and Caddy, on the same files, on the same core, turn by turn. */
export async function staticFiles(bench: Bench, pace: Pace): Promise<Line[]> {
  if (Bun.which("wrk") === null) {
    console.log("LEFT OUT: static files, which need wrk (apt-get install wrk)");
    return [];
  }
  const pin = pins();
  const folder = join(bench.folder, "static", "bench");
  await using ours = launch(bench.ours, pin.server);
  await firstAnswer(ours);
  await call(ours.url, request("static-bucket_create", [superToken, "bench"]));
  await makeFiles(folder);
  await using nginx = await peer("nginx", (port) => nginxProgram(bench.folder, folder, port), pin.server);
  await using caddy = await peer("caddy", (port) => caddyProgram(folder, port), pin.server);
  const contenders = [
    { name: "node-server", server: ours, base: ours.url.replace("/jsonrpc", "/node/static/bench") },
    ...[nginx, caddy].flatMap((server) =>
      server === undefined ? [] : [{ name: server.name, server, base: server.url.replace("/jsonrpc", "") }],
    ),
  ];
  const kinds: Kind[] = [
    ...Object.keys(sizes).map((name) => ({ name, file: fileName(name) })),
    { name: "304 of 4 KiB", file: fileName("4 KiB"), headers: unchanged(contenders) },
    { name: "range of 1 MiB", file: fileName("1 MiB"), headers: async () => ({ range: "bytes=1000-5095" }) },
    { name: "10,000 files of 1 KiB", file: "many" },
  ];
  const rows: string[][] = [];
  for (const kind of kinds) {
    const rates = contenders.map((): number[] => []);
    const costs = contenders.map((): number[] => []);
    for (let round = 0; round <= pace.rounds; round += 1) {
      for (const [at, { server, base }] of contenders.entries()) {
        const seconds = round === 0 ? 1 : pace.roundSeconds;
        const before = cpuSeconds(server.pid);
        const rate = await load({ home: bench.folder, pin: pin.load, base, kind, server, seconds });
        const used = cpuSeconds(server.pid) - before;
        if (round === 0) continue;
        rates[at]?.push(rate);
        costs[at]?.push((used * 1e6) / (rate * seconds));
      }
    }
    const peerRate = median(rates[1] ?? []);
    rows.push([
      kind.name,
      ...rates.map(
        (own, at) =>
          `${perSecond(median(own))} ${median(costs[at] ?? []).toFixed(1)} µs ${Number.isNaN(peerRate) ? "" : ratio(median(own) / peerRate)}`,
      ),
    ]);
  }
  printTable(
    "Static files, 32 connections: requests, processor time of each, and ratio to the first peer",
    ["", ...contenders.map(({ name }) => name)],
    rows,
  );
  console.log(`memory of node-server afterwards: ${Math.round(memoryOf(ours.pid).rss / 1e6)} MB`);
  return [];
}

function fileName(size: string): string {
  return `${size.replace(" ", "-")}.bin`;
}

async function makeFiles(folder: string): Promise<void> {
  await mkdir(join(folder, "many"), { recursive: true });
  for (const [name, size] of Object.entries(sizes))
    await writeFile(join(folder, fileName(name)), Buffer.alloc(size, "x"));
  const small = Buffer.alloc(KiB, "x");
  for (let n = 0; n < distinct; n += 1) await writeFile(join(folder, "many", `${n}.bin`), small);
}

function unchanged(
  contenders: readonly { readonly server: Running; readonly base: string }[],
): NonNullable<Kind["headers"]> {
  return async (server) => {
    const base = contenders.find((contender) => contender.server === server)?.base ?? "";
    const response = await fetch(`${base}/${fileName("4 KiB")}`);
    await response.arrayBuffer();
    return { "if-none-match": response.headers.get("etag") ?? "" };
  };
}

/** Another server, if it is installed. */
export async function peer(
  name: string,
  program: (port: number) => Promise<Program>,
  pin: readonly string[],
): Promise<Running | undefined> {
  if (Bun.which(name) === null) {
    console.log(`LEFT OUT: ${name}, which is not installed`);
    return undefined;
  }
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop();
  const server = launch(await program(probe.port), pin);
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      await (await fetch(server.url)).arrayBuffer();
      return server;
    } catch {
      await Bun.sleep(50);
    }
  }
  throw new Error(`${name} did not start`);
}

async function nginxProgram(home: string, root: string, port: number): Promise<Program> {
  const config = join(home, "nginx.conf");
  await writeFile(
    config,
    `worker_processes 1; daemon off; master_process off; error_log /dev/null; pid ${home}/nginx.pid;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; etag on;
  open_file_cache max=20000 inactive=60s; open_file_cache_valid 30s; open_file_cache_min_uses 1;
  client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
  server { listen 127.0.0.1:${port}; root ${root}; } }
`,
  );
  return { name: "nginx", command: ["nginx", "-p", home, "-c", config], port };
}

async function caddyProgram(root: string, port: number): Promise<Program> {
  return {
    name: "caddy",
    command: ["caddy", "file-server", "--listen", `127.0.0.1:${port}`, "--root", root],
    port,
  };
}

interface Load {
  readonly home: string;
  readonly pin: readonly string[];
  readonly base: string;
  readonly kind: Kind;
  readonly server: Running;
  readonly seconds: number;
}

/** Requests per second that the server answered. */
async function load({ home, pin, base, kind, server, seconds }: Load): Promise<number> {
  const headers = Object.entries((await kind.headers?.(server)) ?? {}).map(
    ([name, value]) => `wrk.headers["${name}"] = [==[${value}]==]`,
  );
  const path = new URL(base).pathname.replace(/\/$/, "");
  const many = `local n = 0; request = function() n = (n + 1) % ${distinct}; return wrk.format("GET", "${path}/many/" .. n .. ".bin") end`;
  const script = join(home, "static.lua");
  await writeFile(script, [...headers, kind.file === "many" ? many : ""].join("\n"));
  const url = kind.file === "many" ? base : `${base}/${kind.file}`;
  const told = await finish([
    ...pin,
    "wrk",
    "-t1",
    "-c32",
    `-d${seconds}s`,
    "--timeout",
    "20s",
    "-s",
    script,
    url,
  ]);
  // A client that waits for its turn among 32 that take 100 MiB each is slow, not failed.
  if (/Non-2xx|Socket errors: (?!connect 0, read 0, write 0)/.test(told) && !kind.name.startsWith("304"))
    throw new Error(`${kind.name} failed: ${told}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(told)?.[1]);
}
