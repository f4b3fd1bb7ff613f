import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { measure } from "./cost.ts";
import { median, micros, type Pace, progress, type Table } from "./figures.ts";
import { closedLoop, type Load } from "./load/closed-loop.ts";
import { httpRequest } from "./load/http-request.ts";
import type { Cores } from "./proc.ts";
import { fileName, fileSizes, ours } from "./servers/contenders.ts";
import { type Bench, createBucket, start, superToken } from "./servers/node-server.ts";
import type { CertificateFiles } from "./servers/peer-configs.ts";
import { isInstalled, peers } from "./servers/peers.ts";
import { answered, finish, freePort, launch, type Program } from "./servers/program.ts";

interface Job {
  readonly name: string;
  readonly size: keyof typeof fileSizes;
  readonly isEachNew: boolean;
}

const jobs: readonly Job[] = [
  { name: "GET 1 KiB", size: "1 KiB", isEachNew: false },
  { name: "GET 64 KiB", size: "64 KiB", isEachNew: false },
  { name: "GET 1 MiB", size: "1 MiB", isEachNew: false },
  { name: "a new connection for GET 1 KiB", size: "1 KiB", isEachNew: true },
];
const comparedPeers = ["nginx, file cache", "nginx", "Caddy"];

interface Entrant {
  readonly program: Program;
  /** The address of its files, without the slash at the end. */
  readonly files: string;
}

/** TlsCell is one job on one server: the processor time per request in microseconds, of each round. */
export interface TlsCell {
  readonly job: string;
  readonly server: string;
  readonly costs: number[];
}

/** Measures what requests and handshakes cost over TLS, with the same certificate (ECDSA P-256) on every server. */
export async function measureTls(bench: Bench, cores: Cores, pace: Pace): Promise<readonly TlsCell[]> {
  const entrants = await prepare(bench);
  const cells = jobs.flatMap((job) =>
    entrants.map(({ program }): TlsCell => ({ job: job.name, server: program.name, costs: [] })),
  );
  for (let pass = 0; pass < pace.passes; pass += 1) {
    await using running = new AsyncDisposableStack();
    const servers = entrants.map(({ program }) => running.use(launch(program, cores.server)));
    for (const server of servers) await answered(server, () => ask(server.port));
    for (const { name, size, isEachNew } of jobs) {
      progress(`tls, pass ${pass + 1} of ${pace.passes}: ${name}`);
      const loads = entrants.map(
        ({ program: { port }, files }): Load => ({
          port,
          protocol: "http",
          requests: [httpRequest({ path: `${files}/${fileName(size)}` })],
          connections: 16,
          isTls: true,
          isEachNew,
        }),
      );
      const counts: number[] = [];
      for (const load of loads) {
        const { seconds } = pace.compiledWarmUp;
        const warm = await closedLoop(load, { seconds });
        counts.push(Math.max(1, Math.floor((warm.requests * pace.roundSeconds) / seconds)));
      }
      for (let round = 0; round < pace.rounds; round += 1)
        for (const [at, load] of loads.entries()) {
          const server = servers[at];
          if (server === undefined) continue;
          const { cost } = await measure(server, load, counts[at] ?? 1);
          cells.find((cell) => cell.job === name && cell.server === server.name)?.costs.push(cost);
        }
    }
    progress("");
  }
  return cells;
}

function ask(port: number): Promise<string> {
  const init: BunFetchRequestInit = { tls: { rejectUnauthorized: false } };
  return fetch(`https://127.0.0.1:${port}/`, init).then((answer) => answer.text());
}

async function prepare(bench: Bench): Promise<readonly Entrant[]> {
  const folder = join(bench.folder, "tls");
  await mkdir(folder);
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  const subject = ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await finish(["openssl", "req", "-x509", ...curve, ...subject, "-keyout", tls.key, "-out", tls.cert]);
  const entrants = [await ourEntrant(bench, tls)];
  const [user = "", password = ""] = superToken.split(":");
  for (const [at, peer] of peers.entries()) {
    if (!comparedPeers.includes(peer.name) || !isInstalled(peer)) continue;
    const own = join(folder, String(at));
    const [root, port] = [join(own, "www"), freePort()];
    await makeFiles(root);
    const command = await peer.command({ folder: own, root, port, user, password, tls });
    entrants.push({ program: { name: peer.name, command, port }, files: "" });
  }
  return entrants;
}

async function ourEntrant(bench: Bench, { cert, key }: CertificateFiles): Promise<Entrant> {
  const plain = await bench.site("tls-site");
  await using server = await start(plain.program);
  await createBucket(server.port, "bench");
  await makeFiles(join(plain.buckets, "bench"));
  // The same site from now on over TLS: its variables come before its file.
  const command = [
    "env",
    `NODE_SERVER_TLS_CERT=${cert}`,
    `NODE_SERVER_TLS_KEY=${key}`,
    ...plain.program.command,
  ];
  return { program: { ...plain.program, name: ours, command }, files: "/node/static/bench" };
}

async function makeFiles(root: string): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const [name, size] of Object.entries(fileSizes))
    await writeFile(join(root, fileName(name)), Buffer.alloc(size, "x"));
}

export function tlsTable(cells: readonly TlsCell[]): Table {
  const servers = [...new Set(cells.map(({ server }) => server))];
  const costOf = (job: string, server: string) =>
    micros(median(cells.find((cell) => cell.job === job && cell.server === server)?.costs ?? []));
  return {
    head: ["µs of processor time per request, over TLS 1.3", ...servers],
    rows: jobs.map(({ name }) => [name, ...servers.map((server) => costOf(name, server))]),
  };
}
