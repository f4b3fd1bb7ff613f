import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { descriptors, memoryMiB } from "../support/proc.ts";
import { newHome, type Server } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const MiB = 1024 * 1024;
const bigBytes = 100 * MiB;
/** Compressible, and too large to be compressed before it is sent. */
const words = "all work and no play makes a dull boy; ".repeat(400_000);
const patienceMs = 30_000;
/** The limit of stories with rounds of 200 clients, after each of which everything must be let go. */
const roundsMs = 180_000;
/** What a server that has met 200 clients may hold beyond one that has met none; it comes to 5 to 20. */
const grownMiB = 60;

/** A server process with a bucket `site` that holds a large file, a large text, and a small page. */
async function bigSite(bytes = bigBytes) {
  const home = await newHome();
  const server = await home.serve();
  await server.call("static-bucket_create", { token: server.superToken, name: "site" });
  await mkdir(home.file("static/site"), { recursive: true });
  await writeFile(home.file("static/site/big.bin"), Buffer.alloc(bytes, 7));
  await writeFile(home.file("static/site/words.txt"), words);
  await writeFile(home.file("static/site/page.html"), "polite");
  return { server, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

/** Waits until as many descriptors are open as before, and none on a file of the bucket. */
async function expectLetGo(server: Server, before: number): Promise<void> {
  let last: string[] = [];
  const back = async () => {
    last = await descriptors(server);
    return last.length <= before && !last.some((target) => target.includes("/static/site"));
  };
  await until("every descriptor is let go", back, patienceMs).catch((error: unknown) => {
    throw new Error(`${before} were open before, now: ${last.sort().join(", ")}`, { cause: error });
  });
}

function dial(server: Server): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.address, () => {
      // A reset by the server is one of the answers that a rude client may get.
      socket.off("error", reject).on("error", () => {});
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

const get = (path: string, ...headers: string[]) =>
  [`GET /node/static/site/${path} HTTP/1.1`, "Host: here", ...headers, "\r\n"].join("\r\n");
const ranges = `Range: bytes=0-${40 * MiB},${50 * MiB}-${90 * MiB}`;
const whole = [get("big.bin"), get("big.bin", "Range: bytes=1000-")];
const pieces = [get("big.bin", ranges)];
const packed = ["gzip", "br", "zstd"].map((encoding) => get("words.txt", `Accept-Encoding: ${encoding}`));

/** So many bytes heard, and then no more is read; fewer when the server ends it. */
function hear(socket: Socket, bytes: number): Promise<number> {
  return new Promise((resolve) => {
    let heard = 0;
    socket.on("data", (chunk) => {
      heard += chunk.length;
      if (heard < bytes) return;
      socket.pause();
      resolve(heard);
    });
    socket.on("close", () => resolve(heard));
  });
}

type Rudeness = (socket: Socket, at: number) => Promise<unknown>;

const rpcHead =
  "POST /jsonrpc HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n";
const halves = ["GET /node/static/si", get("big.bin").slice(0, -2), `${rpcHead}{"jsonrpc":`, "P"];

const half: Rudeness = async (socket, at) => void socket.write(halves[at % halves.length] ?? "");

/** Reads nothing at all, or a little now and then. */
const stall =
  (requests: readonly string[]): Rudeness =>
  async (socket, at) => {
    socket.pause();
    socket.write(requests[at % requests.length] ?? "");
    for (let sip = 0; sip < (at % 2 === 0 ? 0 : 5); sip += 1) {
      await Bun.sleep(50);
      socket.read(4096);
    }
  };

/** In the middle of a download, or before its first byte: by a reset, or by a plain end that is no less final. */
const drop =
  (requests: readonly string[], bytes: number): Rudeness =>
  async (socket, at) => {
    socket.write(requests[at % requests.length] ?? "");
    if (at % 3 !== 0) await within("the download begins", hear(socket, bytes), patienceMs);
    else await Bun.sleep(at % 4);
    if (at % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  };

/** 200 clients at once; `meanwhile` happens while they are all there. */
async function crowd(
  server: Server,
  kinds: readonly Rudeness[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: 200 }, () => dial(server)));
  try {
    const acts = sockets.map((socket, at) =>
      kinds[at % kinds.length]?.(socket, Math.floor(at / kinds.length)),
    );
    await meanwhile();
    await Promise.all(acts);
    await meanwhile();
  } finally {
    for (const [at, socket] of sockets.entries())
      if (at % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
  }
}

async function expectPoliteness(server: Server): Promise<void> {
  const page = within(
    "the page is served",
    fetch(`${server.url}/node/static/site/page.html`, { keepalive: false }),
  );
  expect(await (await page).text()).toBe("polite");
  expect(await within("hello is answered", server.call("node-server_hello"))).toBe("Node Server Is Running!");
}

/** After some rounds of rude clients, and after as many more, the server holds what it held before anybody came. */
async function expectNothingLeft(server: Server, kinds: readonly Rudeness[]): Promise<void> {
  await expectPoliteness(server);
  const before = (await descriptors(server)).length;
  const fresh = await memoryMiB(server);
  for (let round = 1; round <= 4; round += 1) {
    await crowd(server, kinds, () => expectPoliteness(server));
    await expectLetGo(server, before);
    if (round % 2 !== 0) continue;
    let grown = 0;
    const back = async () => {
      grown = (await memoryMiB(server)) - fresh;
      return grown < grownMiB;
    };
    await until("memory is given back", back).catch(() => expect(grown).toBeLessThan(grownMiB));
  }
}

test(
  "200 clients that stop half-way, stall, or drop their downloads delay nobody and leave nothing behind",
  async () => {
    await using site = await bigSite();
    await expectNothingLeft(site.server, [half, stall(whole), drop(whole, 500_000)]);
  },
  roundsMs,
);

test(
  "clients that ask for several ranges and leave, even before the first byte, leave nothing behind",
  async () => {
    await using site = await bigSite();
    await expectNothingLeft(site.server, [half, stall(pieces), drop(pieces, 500_000)]);
  },
  roundsMs,
);

test(
  "compression that nobody waits for any more stops, and lets go of its file",
  async () => {
    await using site = await bigSite();
    // The text packs well: its first bytes are many of the file's, so that the middle comes early.
    await expectNothingLeft(site.server, [stall(packed), drop(packed, 1)]);
  },
  roundsMs,
);

test("100 clients download 16 MiB each at the same time, whole and right, in flat memory", async () => {
  await using site = await bigSite(16 * MiB);
  const { server } = site;
  await expectPoliteness(server);
  const before = (await descriptors(server)).length;
  const download = async () => {
    const socket = await dial(server);
    let [head, bytes, wrong] = ["", 0, 0];
    socket.on("data", (chunk: Buffer) => {
      let body = chunk;
      if (!head.includes("\r\n\r\n")) {
        const known = head.length;
        head += chunk.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        body = chunk.subarray(end === -1 ? chunk.length : end + 4 - known);
      }
      bytes += body.length;
      if (body.length > 0 && (body[0] !== 7 || body.at(-1) !== 7)) wrong += 1;
    });
    socket.write(get("big.bin", "Connection: close"));
    await within("the download ends", new Promise((resolve) => socket.on("close", resolve)), 240_000);
    return [bytes, wrong];
  };
  const got = await Promise.all(Array.from({ length: 100 }, download));
  expect(got).toEqual(Array.from({ length: 100 }, () => [16 * MiB, 0]));
  expect(await memoryMiB(server, "VmHWM")).toBeLessThan(150);
  await expectLetGo(server, before);
  // This process receives 1.6 GB and looks at all of it.
}, 300_000);

test("clients of different large files, many at once, each get their own", async () => {
  await using site = await bigSite();
  const { server } = site;
  const { superToken: token } = server;
  const size = 3 * MiB;
  for (let file = 0; file < 8; file += 1) {
    const base64 = Buffer.alloc(size, file).toString("base64");
    await server.call("static-bucket-file_upload", { token, name: "site", path: `${file}.bin`, base64 });
  }
  const before = (await descriptors(server)).length;
  const wrong: string[] = [];
  const download = async (at: number) => {
    const file = at % 8;
    const url = `${server.url}/node/static/site/${file}.bin`;
    const bytes = await (await fetch(url, { keepalive: false })).bytes();
    const right = bytes.length === size && Buffer.alloc(size, file).equals(bytes);
    if (!right) wrong.push(`${file}.bin: ${bytes.length} bytes, the first ${bytes[0]}`);
  };
  for (let round = 0; round < 3; round += 1)
    await Promise.all(Array.from({ length: 120 }, (_, at) => download(at)));
  expect(wrong).toEqual([]);
  await expectLetGo(server, before);
  // 360 downloads of 3 MiB, which this process compares.
}, 60_000);
