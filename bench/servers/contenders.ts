import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bench, createBucket, type Settings, type Site, start, superToken } from "./node-server.ts";
import { unprivileged } from "./peer-configs.ts";
import { isInstalled, type Peer, peers } from "./peers.ts";
import { answered, freePort, launch, type Program, type Running } from "./program.ts";

export const ours = "node-server";
export const bare = "bare Bun";
export const least = "Bun, least work";
/**
 * The instances of our server: with default settings, with uploads that are not synced, on a disk or on a file system in memory, and with
 * an event logged for every call.
 */
export type Variant = "default" | "unsynced" | "in memory" | "logging";

/** Contender is a server that runs, and what it can be asked for. */
export interface Contender {
  /** The column of the table. */
  readonly name: string;
  readonly server: Running;
  readonly variant: Variant;
  /** The address of plain files, without the slash at the end; undefined if it serves none. */
  readonly files?: string;
  /** The address of the WebDAV folder, and the methods it has. */
  readonly dav?: { readonly path: string; readonly methods: readonly string[] };
  /** Whether it answers `hello`, over HTTP and WebSocket. */
  readonly hello: boolean;
  /** A token for the files of the bucket, if it answers our calls. */
  readonly token?: string;
}

export const KiB = 1024;
export const fileSizes = { "1 KiB": KiB, "4 KiB": 4 * KiB, "64 KiB": 64 * KiB, "1 MiB": KiB * KiB };
export const fileName = (size: string) => `${size.replace(" ", "-")}.bin`;

/** Contestants is everything that takes part, prepared once and started as often as the passes need it. */
export interface Contestants {
  start(pin: readonly string[]): Promise<Started>;
}

export interface Started extends AsyncDisposable {
  readonly contenders: readonly Contender[];
}

interface Entrant {
  readonly program: Program;
  readonly contender: Omit<Contender, "server">;
}

export async function prepareContestants(bench: Bench): Promise<Contestants> {
  const entrants: Entrant[] = [];
  for (const [variant, settings] of Object.entries(variantsIn(bench)))
    entrants.push(await ourEntrant(await bench.site(variant, settings), variant as Variant));
  const folder = join(bench.folder, "peers");
  await mkdir(folder);
  // Some servers give up the rights of root and must reach their folders nevertheless.
  for (const path of [bench.folder, folder]) await chmod(path, 0o711);
  for (const [at, peer] of peers.entries())
    if (isInstalled(peer)) entrants.push(await peerEntrant(join(folder, String(at)), peer));
  const [bareRoot, leastRoot] = [join(folder, "bare-files"), join(folder, "least-files")];
  await makeFiles(bareRoot);
  await makeFiles(leastRoot);
  entrants.push(
    {
      program: await bench.minimal("bare", bareRoot),
      contender: { name: bare, variant: "default", files: "", hello: true },
    },
    {
      program: await bench.minimal("least", leastRoot),
      contender: {
        name: least,
        variant: "default",
        files: "",
        dav: { path: "/dav", methods: ["GET", "PUT", "PROPFIND"] },
        hello: false,
        token: superToken,
      },
    },
  );
  return { start: (pin) => startAll(entrants, pin) };
}

function variantsIn({ memoryFolder }: Bench): Partial<Record<Variant, Settings>> {
  const unsynced: Settings = { top: "sync_uploads = false" };
  return {
    default: {},
    unsynced,
    ...(memoryFolder === undefined ? {} : { "in memory": { ...unsynced, buckets: memoryFolder } }),
    logging: { logging: 'memory_log_filter = "rpc=debug"' },
  };
}

async function ourEntrant({ program, buckets }: Site, variant: Variant): Promise<Entrant> {
  await using server = await start(program);
  const token = await createBucket(server.port, "bench");
  await makeFiles(join(buckets, "bench"));
  const dav = { path: "/node/static-webdav/bench/dav", methods: ["GET", "PUT", "PROPFIND"] };
  return {
    program,
    contender: { name: ours, variant, files: "/node/static/bench", dav, hello: true, token },
  };
}

async function peerEntrant(folder: string, peer: Peer): Promise<Entrant> {
  const [user = "", password = ""] = superToken.split(":");
  const [root, port] = [join(folder, "www"), freePort()];
  await makeFiles(root);
  const command = await peer.command({ folder, root, port, user, password });
  if (peer.dropsRoot && process.getuid?.() === 0)
    Bun.spawnSync(["chown", "-R", `${unprivileged}:${unprivileged}`, folder]);
  return {
    program: { name: peer.name, command, port },
    contender: {
      name: peer.name,
      variant: "default",
      hello: false,
      ...(peer.files ? { files: "" } : {}),
      ...(peer.dav.length > 0 ? { dav: { path: "/dav", methods: peer.dav } } : {}),
    },
  };
}

async function startAll(entrants: readonly Entrant[], pin: readonly string[]): Promise<Started> {
  await using starting = new AsyncDisposableStack();
  const contenders = entrants.map(({ program, contender }) => ({
    ...contender,
    server: starting.use(launch(program, pin)),
  }));
  await Promise.all(
    contenders.map(({ server }) =>
      answered(server, () => fetch(`http://127.0.0.1:${server.port}/`).then((answer) => answer.text())),
    ),
  );
  const running = starting.move();
  return { contenders, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** The same files for everybody, each server with copies of its own. */
async function makeFiles(root: string): Promise<void> {
  for (const [name, size] of Object.entries(fileSizes)) await put(root, fileName(name), size);
  for (let n = 0; n < 10; n += 1) await put(root, `dav/ten/${n}.txt`, 4 * KiB);
  for (let n = 0; n < 8; n += 1) await put(root, `dav/eight/${n}.txt`, 4 * KiB);
  await mkdir(join(root, "dav", "put"));
}

async function put(root: string, path: string, bytes: number): Promise<void> {
  await mkdir(join(root, path, ".."), { recursive: true });
  await writeFile(join(root, path), Buffer.alloc(bytes, "x"));
}
