import { expect, test } from "bun:test";
import { stat, truncate, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { brotliDecompressSync, constants, zstdDecompressSync } from "node:zlib";
import { DiskStats } from "../../src/buckets/disk/entry.ts";
import type { DiskFile } from "../../src/buckets/disk/open-file.ts";
import { DiskReader } from "../../src/buckets/disk/read.ts";
import { PathResolver } from "../../src/buckets/disk/resolve.ts";
import { isSettled, type OpenFile } from "../../src/buckets/file-store.ts";
import { treePath } from "../../src/buckets/path.ts";
import { Compression } from "../../src/http/content/compression.ts";
import { ContentBudget } from "../../src/http/content/content-budget.ts";
import { StreamMeter } from "../../src/http/request/response-size.ts";
import { tempFolder } from "../support/node.ts";
import { until } from "../support/process.ts";

const textOf = (at: number) => `line of file ${at}\n`.repeat(20_000);

function openFile(path: string): Promise<DiskFile> {
  return new DiskReader(new PathResolver(dirname(path))).open(treePath(basename(path)));
}

/** Paths of new files, once they are old enough to be shared between requests. */
async function settledFiles(folder: string, count: number): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, at) => join(folder, `${at}.txt`));
  for (const [at, path] of paths.entries()) await writeFile(path, textOf(at));
  const last = new DiskStats(await stat(paths.at(-1) ?? folder));
  await until("the files are settled", () => isSettled(last));
  return paths;
}

const areClosed = (files: readonly DiskFile[]) => files.every(({ handle }) => handle.fd === -1);

test("requests for one file at the same time share one compression and leave no file open", async () => {
  await using folder = await tempFolder();
  const [path = ""] = await settledFiles(folder.path, 1);
  const files = await Promise.all(Array.from({ length: 60 }, () => openFile(path)));
  const compression = new Compression(new ContentBudget(30_000));
  const blobs = await Promise.all(files.map((file) => compression.whole(file, "br")));
  expect(new Set(blobs).size).toBe(1);
  expect(brotliDecompressSync(await (blobs[0] ?? new Blob()).bytes()).toString()).toBe(textOf(0));
  expect(areClosed(files)).toBe(true);
});

test("a file that was changed a moment ago is compressed for each request", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "new.txt");
  await writeFile(path, textOf(0));
  const files = await Promise.all([openFile(path), openFile(path)]);
  // A time ahead of the clock keeps the file new for the whole test, on a busy machine as well.
  for (const { stats } of files) stats.node.ctimeMs = Date.now() + 60_000;
  const compression = new Compression(new ContentBudget(30_000));
  const blobs = await Promise.all(files.map((file) => compression.whole(file, "gzip")));
  expect(new Set(blobs).size).toBe(2);
  expect(areClosed(files)).toBe(true);
});

test("a file goes out plain when too many others wait to be compressed", async () => {
  await using folder = await tempFolder();
  const files = await Promise.all((await settledFiles(folder.path, 40)).map(openFile));
  const compression = new Compression(new ContentBudget(30_000));
  const answers = files.map((file) => compression.whole(file, "gzip"));
  expect(answers.filter((answer) => answer !== undefined).length).toBe(34);
  await Promise.all(answers);
  expect(areClosed(files.slice(0, 34))).toBe(true);
  const later = await Promise.all(files.slice(34).map((file) => compression.whole(file, "gzip")));
  expect(later.every((blob) => blob !== undefined)).toBe(true);
  expect(areClosed(files)).toBe(true);
});

test("eight large files are compressed while they are sent, and the next when one is done", async () => {
  await using folder = await tempFolder();
  const files = await Promise.all((await settledFiles(folder.path, 10)).map(openFile));
  const compression = new Compression(new ContentBudget(30_000));
  const streams = files.map((file) => compression.stream(file, "zstd"));
  expect(streams.map((stream) => stream !== undefined)).toEqual([...Array(8).fill(true), false, false]);
  const meter = new StreamMeter();
  const counted = new Promise((resolve) => meter.whenEnded(resolve));
  const sent = await new Response(streams[0]?.start(meter)).bytes();
  expect(await counted).toBe(sent.byteLength);
  // A decoder that refuses windows above 256 KiB.
  const small = { params: { [constants.ZSTD_d_windowLogMax]: 18 } };
  expect(zstdDecompressSync(sent, small).toString()).toBe(textOf(0));
  await until("its place is free", () => {
    const next = compression.stream(files[8] as OpenFile, "br");
    next?.cancel();
    return next !== undefined;
  });
  const abandoned = streams[1]?.start(new StreamMeter()).getReader();
  await abandoned?.read();
  await abandoned?.cancel();
  for (const stream of streams.slice(2)) stream?.cancel();
  await files[9]?.[Symbol.asyncDispose]();
  await until("no file is open", () => areClosed(files));
});

test("a large file that is cut short while it is compressed is not taken for whole", async () => {
  await using folder = await tempFolder();
  const [path = ""] = await settledFiles(folder.path, 1);
  const file = await openFile(path);
  const stream = new Compression(new ContentBudget(30_000)).stream(file, "gzip");
  await truncate(path, 1000);
  await expect(new Response(stream?.start(new StreamMeter())).bytes()).rejects.toThrow("cut short");
  await until("the file is closed", () => areClosed([file]));
});
