import { expect, test } from "bun:test";
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type Home, newHome, type Server } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const mebi = 1024 * 1024;
const block = Buffer.alloc(mebi, "0123456789abcdefghijklmnopqrstuvwxyz-");

async function open(home: Home) {
  const server = await home.serve();
  const authorization = `Basic ${Buffer.from(server.superToken).toString("base64")}`;
  await server.call("static-bucket_create", [server.superToken, "site"]);
  return { server, authorization, at: (path: string) => home.file(join("static/site", path)) };
}

interface Ask {
  readonly server: Server;
  readonly authorization: string;
}

/** A request whose body is not sent yet, on a bare socket. */
async function ask({ server, authorization }: Ask, line: string, ...headers: string[]): Promise<Socket> {
  const socket = connect(server.address);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve).once("error", reject);
  });
  const all = ["Host: here", `Authorization: ${authorization}`, "Connection: close", ...headers];
  const [method, path] = line.split(" ");
  socket.write(`${method} /node/static-webdav/site${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n`);
  return socket;
}

/** PUT of so many blocks, never more of them on their way than the server takes; the status. */
async function upload(site: Ask, path: string, blocks: number, chunked: boolean): Promise<number> {
  const length = chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${blocks * mebi}`;
  const socket = await ask(site, `PUT ${path}`, length);
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes.toString("latin1");
  });
  const failed = new Promise<never>((_, reject) => socket.once("error", reject));
  const write = async (bytes: string | Buffer) => {
    if (!socket.write(bytes))
      await Promise.race([failed, new Promise<void>((resolve) => socket.once("drain", resolve))]);
  };
  for (let sent = 0; sent < blocks; sent += 1) {
    if (chunked) await write(`${mebi.toString(16)}\r\n`);
    await write(block);
    if (chunked) await write("\r\n");
  }
  if (chunked) await write("0\r\n\r\n");
  const [, status] = await until(
    "the upload is answered",
    () => /^HTTP\/1\.1 (\d+)/.exec(heard) ?? undefined,
    60_000,
  );
  socket.destroy();
  return Number(status);
}

/** What the server's memory grows by, at most, while something runs, in MiB. */
async function growth(server: Server, work: () => Promise<void>): Promise<number> {
  const now = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;
  const before = now();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, now());
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
  return Math.max(most, now()) - before;
}

function isBlocks(path: string, blocks: number): boolean {
  if (statSync(path).size !== blocks * mebi) return false;
  const file = openSync(path, "r");
  try {
    const read = Buffer.alloc(mebi);
    for (let at = 0; at < blocks; at += 1)
      if (readSync(file, read, 0, mebi, at * mebi) !== mebi || !read.equals(block)) return false;
    return true;
  } finally {
    closeSync(file);
  }
}

/** As many blocks as wished for, fewer where the disk has little room. */
function affordable(home: Home, wish: number): number {
  const { bavail, bsize } = statfsSync(home.path);
  const blocks = Math.min(wish, Math.floor((bavail * bsize) / mebi / 4));
  if (blocks < wish) console.log(`the disk has little room: ${blocks} MiB are sent instead of ${wish}`);
  return blocks;
}

const onLinux = process.platform === "linux";
const skipped = (what: string) => console.log(`SKIPPED: ${what} needs /proc (Linux)`);

test("an upload of 640 MB, with its length told or in chunks, and eight at once are taken in flat memory", async () => {
  if (!onLinux) return skipped("the memory of an upload");
  await using home = await newHome();
  const site = await open(home);
  for (const chunked of [false, true])
    expect(await upload(site, "/warm", affordable(home, 64), chunked)).toBeOneOf([201, 204]);
  const grown: Record<string, number> = {};
  for (const chunked of [false, true]) {
    const blocks = affordable(home, chunked ? 384 : 640);
    grown[chunked ? "chunked" : "known"] = await growth(site.server, async () => {
      expect(await upload(site, "/large", blocks, chunked)).toBe(201);
    });
    expect(isBlocks(site.at("large"), blocks)).toBe(true);
    rmSync(site.at("large"));
  }
  const blocks = affordable(home, 384) / 8;
  grown.eight = await growth(site.server, async () => {
    const paths = Array.from({ length: 8 }, (_, number) => `/part-${number}`);
    const answers = await Promise.all(
      paths.map((path, number) => upload(site, path, Math.floor(blocks), number % 2 === 0)),
    );
    expect(answers).toEqual(paths.map(() => 201));
    for (const path of paths) expect(isBlocks(site.at(path), Math.floor(blocks))).toBe(true);
  });
  console.log(
    `memory grew by ${Object.entries(grown)
      .map(([what, size]) => `${Math.round(size)} MiB (${what})`)
      .join(", ")}`,
  );
  for (const size of Object.values(grown)) expect(size).toBeLessThan(256);
  expect(await leftovers(home)).toEqual([]);
  // 1.5 GB are sent, written, and read again.
}, 240_000);

async function leftovers(home: Home): Promise<string[]> {
  const found = readdirSync(home.file("static/~staging"), { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map(({ name }) => name);
}

test("readers that stop in the middle of a large file hold no memory and nobody else up, and get the rest when they go on", async () => {
  if (!onLinux) return skipped("the memory of a download");
  await using home = await newHome();
  const site = await open(home);
  const size = 256 * mebi;
  writeFileSync(site.at("large.bin"), block);
  truncateSync(site.at("large.bin"), size);
  writeFileSync(site.at("small.txt"), "small");
  const read = async (path: string) => {
    const url = `${site.server.url}/node/static-webdav/site${path}`;
    return (await fetch(url, { headers: { authorization: site.authorization }, keepalive: false })).text();
  };
  for (let round = 0; round < 20; round += 1) await read("/small.txt");
  const readers: Array<{ socket: Socket; bytes: number; ended: Promise<void> }> = [];
  try {
    const grown = await growth(site.server, async () => {
      for (let number = 0; number < 8; number += 1) {
        const socket = await ask(site, "GET /large.bin");
        const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
        const reader = { socket, bytes: 0, ended };
        readers.push(reader);
        socket.on("data", (bytes) => {
          reader.bytes += bytes.length;
          if (reader.bytes - bytes.length < mebi && reader.bytes >= mebi) socket.pause();
        });
      }
      await until("all of them have stopped", () => readers.every(({ bytes }) => bytes >= mebi));
      const end = Date.now() + 1500;
      while (Date.now() < end) expect(await read("/small.txt")).toBe("small");
    });
    expect(readers.every(({ bytes }) => bytes < 64 * mebi)).toBe(true);
    expect(grown).toBeLessThan(96);
    for (const { socket } of readers.slice(0, 4)) socket.destroy();
    const rest = readers.slice(4);
    for (const { socket } of rest) socket.resume();
    await within("the rest has arrived", Promise.all(rest.map(({ ended }) => ended)), 60_000);
    for (const { bytes } of rest) expect(bytes - size).toBeWithin(100, 2000);
    expect(await read("/small.txt")).toBe("small");
  } finally {
    for (const { socket } of readers) socket.destroy();
  }
  // This process receives 1 GB, half of it after a pause.
}, 60_000);
