import { expect, test } from "bun:test";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { Fault } from "../../src/base/fault.ts";
import { downloadText } from "../../src/update/download.ts";
import { type Answer, chunk, lastChunk, openDownloads, release, says } from "../support/downloads.ts";
import { residentMiB } from "../support/sql.ts";
import { until, within } from "../support/until.ts";

const MiB = 1024 * 1024;

/** One zstd frame of zeros, 4 bytes for each 128 KiB (RFC 8878 §3.1.1: run-length blocks). */
function zeros(mebibytes: number): Buffer {
  const block = Buffer.from([0x02, 0x00, 0x10, 0x00]);
  const last = Buffer.from([0x03, 0x00, 0x10, 0x00]);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
  return Buffer.concat([head, ...Array.from({ length: mebibytes * 8 - 1 }, () => block), last]);
}

function packed(body: Uint8Array): Answer {
  return says({ "content-length": body.length, "content-encoding": "zstd" }, body);
}

/** Sends without end, as fast as it is taken, and counts. */
function endless(head: string, part: Uint8Array, sent: { bytes: number }): Answer {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
    const more = () => {
      while (!socket.destroyed) {
        sent.bytes += part.length;
        if (!socket.write(part)) return;
      }
    };
    socket.on("drain", more);
    more();
  };
}

test("a packed release is unpacked, and progress is that of the wire", async () => {
  const small = zstdCompressSync(Buffer.concat([release, Buffer.alloc(MiB)]));
  await using downloads = await openDownloads(packed(small));
  const told: number[] = [];
  const done = await downloads.get(({ bytes, total }) => told.push(bytes / (total ?? 0)));
  expect(done.bytes).toBe(release.length + MiB);
  expect(await readFile(downloads.path)).toEqual(Buffer.concat([release, Buffer.alloc(MiB)]));
  expect(told.at(-1)).toBe(1);
  await using run = await openDownloads(packed(zeros(64)));
  expect((await run.get()).bytes).toBe(64 * MiB);
});

test("a packed release of which the end is missing is refused, though the wire brought all it promised", async () => {
  const good = zstdCompressSync(release);
  for (const missing of [1, 3, 100, 50_000]) {
    await using downloads = await openDownloads(packed(good.subarray(0, -missing)));
    await downloads.refusal();
  }
});

test("a packed release that is damaged or not packed at all is refused", async () => {
  const good = zstdCompressSync(release);
  const damaged = Buffer.from(zstdCompressSync(Buffer.from("release ".repeat(100_000))));
  damaged.fill(0xff, 20, 40);
  const bad = [
    Buffer.concat([damaged, Buffer.alloc(1024, 0xff)]),
    Buffer.concat([good.subarray(0, 6), Buffer.alloc(2000, 0xff)]),
    release,
    gzipSync(release),
  ];
  for (const body of bad) {
    await using downloads = await openDownloads(packed(body));
    await downloads.refusal();
  }
});

test("a bomb that unpacks to gigabytes stops at the cap, and memory does not grow with it", async () => {
  await using downloads = await openDownloads(packed(zeros(4096)));
  const before = await residentMiB(process.pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss() / MiB);
  }, 20);
  try {
    const error: unknown = await within("the bomb is refused", downloads.get(), 50_000).catch(
      (reason) => reason,
    );
    if (!(error instanceof Fault)) throw error;
    expect(error.detail).toContain("it is too large for a release");
  } finally {
    clearInterval(watch);
  }
  expect((await stat(downloads.path)).size).toBeLessThanOrEqual(1024 * MiB);
  expect(most - before).toBeLessThan(500);
});

test("a refused download lets go of its connection, so that nothing goes on behind it", async () => {
  const bytes = { bytes: 0 };
  const part = chunk(Buffer.alloc(MiB));
  const stories: [string, Answer][] = [
    ["too large by its own word", endless(`content-length: ${2 ** 33}`, Buffer.alloc(MiB), bytes)],
    [
      "an encoding that was not asked for",
      endless("transfer-encoding: chunked\r\ncontent-encoding: br", part, bytes),
    ],
    ["damaged", endless("transfer-encoding: chunked\r\ncontent-encoding: zstd", part, bytes)],
  ];
  const held: string[] = [];
  for (const [what, answer] of stories) {
    await using downloads = await openDownloads(answer);
    await downloads.refusal();
    const gone = until("the connection ends", () => downloads.open.size === 0, 15_000);
    await gone.catch(() => held.push(what));
  }
  expect(held).toEqual([]);
});

/** Sends one byte every few milliseconds, without end. */
function drips(head: string, byte: Uint8Array): Answer {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
    const timer = setInterval(() => socket.write(byte), 5);
    socket.on("close", () => clearInterval(timer));
  };
}

test("a release server that drips bytes is given up, whatever it announces, and so is one without end", async () => {
  const heads: [string, Uint8Array][] = [
    [`content-length: ${100 * MiB}`, Buffer.alloc(1)],
    ["transfer-encoding: chunked", chunk(Buffer.alloc(1))],
  ];
  for (const [head, byte] of heads) {
    await using downloads = await openDownloads(drips(head, byte));
    const limits = { windowMs: 300, minBytesPerSecond: 8 * 1024, totalMs: 60_000 };
    expect(await downloads.refusal({ limits })).toMatch(/only \d+ bytes came within 0\.3 s/);
    await until("the connection ends", () => downloads.open.size === 0);
    const slow = { windowMs: 60_000, minBytesPerSecond: 1, totalMs: 600 };
    await using again = await openDownloads(drips(head, byte));
    expect(await again.refusal({ limits: slow })).toContain("it was not complete after 0.01 minutes");
  }
});

test("a download that is stopped ends at once and says why", async () => {
  await using downloads = await openDownloads(drips(`content-length: ${100 * MiB}`, Buffer.alloc(1)));
  const stop = new AbortController();
  const progress = () => stop.abort(new Error("the server stops"));
  expect(await downloads.refusal({ signal: stop.signal, progress })).toContain("the server stops");
});

test("an answer that is no release is refused in words", async () => {
  const answers: [Answer, string][] = [
    [says({}, "nothing", "404 Not Found"), "no such release for this system (404)"],
    [says({}, "later", "503 Service Unavailable"), "answers 503"],
    [says({}, "who?", "401 Unauthorized"), "answers 401"],
    [says({ "content-encoding": "br" }), "an encoding that was not asked for (br)"],
    [says({ "content-encoding": "gzip" }, gzipSync(release)), "an encoding that was not asked for (gzip)"],
    [says({ "content-length": 5000 }, "x".repeat(5000), "304 Not Modified"), "answers 304"],
    [(socket) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"), ""],
    [(socket) => void socket.end(`HTTP/1.1 200 OK\r\n${"x".repeat(MiB)}`), ""],
  ];
  for (const [answer, words] of answers) {
    await using downloads = await openDownloads(answer);
    expect(await downloads.refusal()).toContain(words);
    expect(await readdir(downloads.folder)).toEqual([]);
  }
});

test("a server that is not there is told", async () => {
  const url = await openDownloads(says({})).then(async (downloads) => {
    await downloads[Symbol.asyncDispose]();
    return downloads.url;
  });
  await expect(downloadText(`${url}/latest`, "the newest version")).rejects.toThrow(
    /^IoError: the release was not downloaded: the newest version: .*; nothing was changed$/,
  );
});

/** Sends `to` from `/file`, and the release from anywhere else. */
function redirects(to: string, status: string): Answer {
  return (socket: Socket, path: string) =>
    path === "/file"
      ? says({ location: to, "content-length": 0 }, "", status)(socket, path)
      : says({ "content-length": release.length })(socket, path);
}

test("a redirect is followed, and one without end is given up", async () => {
  for (const status of [
    "301 Moved Permanently",
    "302 Found",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
  ]) {
    await using downloads = await openDownloads(redirects("/elsewhere?x=1", status));
    expect((await downloads.get()).bytes).toBe(release.length);
    expect(downloads.heard[1]).toMatch(/^GET \/elsewhere\?x=1 /);
  }
  await using loop = await openDownloads(redirects("/file", "302 Found"));
  await loop.refusal();
});

test("no redirect leads to a file of this machine or to anything but http", async () => {
  await using local = await openDownloads(says({}));
  const file = join(local.folder, "local");
  await writeFile(file, release);
  const data = `data:application/octet-stream;base64,${release.subarray(0, 3000).toString("base64")}`;
  for (const to of [pathToFileURL(file).href, data, "ftp://127.0.0.1/x", "http://", "javascript:0"]) {
    await using downloads = await openDownloads(redirects(to, "302 Found"));
    await downloads.refusal();
    expect(await readdir(downloads.folder)).toEqual([]);
  }
});

test("a small text is fetched, and its absence told with what it was", async () => {
  await using texts = await openDownloads(says({ "content-length": 7 }, "v1.2.3\n"));
  expect(await downloadText(`${texts.url}/latest`, "the newest version")).toBe("v1.2.3\n");
  await using none = await openDownloads(says({ "content-length": 0 }, "", "404 Not Found"));
  await expect(downloadText(`${none.url}/x.minisig`, "the signature")).rejects.toThrow(
    "the signature: the release server answers 404",
  );
});

test("a text that goes on and on is not taken into memory", async () => {
  const sent = { bytes: 0 };
  const part = chunk(Buffer.alloc(64 * 1024, "x"));
  await using texts = await openDownloads((socket, path) => {
    const stop = setInterval(() => {
      // Enough has been taken; an end, so that the story has one.
      if (sent.bytes > 64 * MiB) socket.end(lastChunk);
    }, 5);
    socket.on("close", () => clearInterval(stop));
    endless("transfer-encoding: chunked", part, sent)(socket, path);
  });
  const text = downloadText(`${texts.url}/x.minisig`, "the signature").catch(() => "");
  expect((await within("the text ends", text)).length).toBeLessThanOrEqual(64 * 1024);
  expect(sent.bytes / MiB).toBeLessThan(32);
});
