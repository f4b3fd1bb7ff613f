import { expect, test } from "bun:test";
import { stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from "node:zlib";
import { systemClock } from "../../src/base/clock.ts";
import { ContentBudget } from "../../src/base/memory-budget.ts";
import { FolderPaths } from "../../src/blobs/folder.ts";
import { treePath } from "../../src/buckets/path.ts";
import { isSettled, type OpenFile } from "../../src/buckets/ports.ts";
import { DiskStats } from "../../src/buckets/trees/disk/entry.ts";
import { DiskReader } from "../../src/buckets/trees/disk/read.ts";
import { PathResolver } from "../../src/buckets/trees/disk/resolve.ts";
import { Compression, type Encoding } from "../../src/http/content/compression.ts";
import { StreamMeter } from "../../src/http/content/plain.ts";
import { type DatabaseKind, eachStore, type StoreOptions, tempFolder } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";
import { objectNodes, putText } from "../support/object-store.ts";
import { openFilesBelow } from "../support/open-files.ts";
import { until } from "../support/until.ts";

const decompressors: Readonly<Record<Encoding, (bytes: Uint8Array) => Uint8Array>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

const textOf = (at: number) => `line of file ${at}\n`.repeat(20_000);

/** Files of a store, once they are old enough to be shared between requests. */
interface SettledFiles extends AsyncDisposable {
  open(at: number): Promise<OpenFile>;
  /** How many of them this process has open. */
  openCount(): number;
  /** Cuts the content of the only file. */
  cut(bytes: number): Promise<void>;
}

/** Files with these texts, or as many with `textOf`. */
function settledFiles({ store }: StoreOptions, content: number | readonly string[]): Promise<SettledFiles> {
  const texts =
    typeof content === "number" ? Array.from({ length: content }, (_, at) => textOf(at)) : content;
  if (store === "disk") return diskFiles(texts);
  return objectFiles(store === "objects over sqlite" ? "sqlite" : "postgres", texts);
}

async function diskFiles(texts: readonly string[]): Promise<SettledFiles> {
  const folder = await tempFolder();
  const pathOf = (at: number) => join(folder.path, `${at}.txt`);
  for (const [at, text] of texts.entries()) await writeFile(pathOf(at), text);
  const last = new DiskStats(await stat(pathOf(texts.length - 1)));
  await until("the files are settled", () => isSettled(last));
  const reader = new DiskReader(new PathResolver(folder.path));
  return {
    open: (at) => reader.open(treePath(`${at}.txt`)),
    openCount: () => openFilesBelow(folder.path).length,
    cut: (bytes) => truncate(pathOf(0), bytes),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function objectFiles(database: DatabaseKind, texts: readonly string[]): Promise<SettledFiles> {
  const nodes = await objectNodes(database);
  const { store } = await nodes.open();
  for (const [at, text] of texts.entries()) await putText(store, treePath(`${at}.txt`), text);
  return {
    open: (at) => store.reader.open(treePath(`${at}.txt`)),
    openCount: () => openFilesBelow(nodes.folder).length,
    async cut(bytes) {
      const [key = ""] = await storedKeys(nodes.folder);
      await truncate(new FolderPaths(nodes.folder).ofBlob(key), bytes);
    },
    [Symbol.asyncDispose]: () => nodes[Symbol.asyncDispose](),
  };
}

const openAll = (files: SettledFiles, count: number) =>
  Promise.all(Array.from({ length: count }, (_, at) => files.open(at)));

eachStore(
  "requests for one file at the same time share one compression and leave no file open",
  async (store) => {
    await using stored = await settledFiles(store, 1);
    const files = await Promise.all(Array.from({ length: 60 }, () => stored.open(0)));
    const compression = new Compression(new ContentBudget(30_000, systemClock));
    const blobs = await Promise.all(files.map((file) => compression.whole(file, "br")));
    expect(new Set(blobs).size).toBe(1);
    expect(brotliDecompressSync(await (blobs[0] ?? new Blob()).bytes()).toString()).toBe(textOf(0));
    expect(stored.openCount()).toBe(0);
  },
);

// In an object store, content never changes under its key.
test("a file on the disk that was changed a moment ago is compressed for each request", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "new.txt"), textOf(0));
  const reader = new DiskReader(new PathResolver(folder.path));
  const files = await Promise.all([reader.open(treePath("new.txt")), reader.open(treePath("new.txt"))]);
  // A time ahead of the clock keeps the file new for the whole test, on a busy machine as well.
  for (const { stats } of files) stats.state.ctimeMs = Date.now() + 60_000;
  const compression = new Compression(new ContentBudget(30_000, systemClock));
  const blobs = await Promise.all(files.map((file) => compression.whole(file, "gzip")));
  expect(new Set(blobs).size).toBe(2);
  expect(openFilesBelow(folder.path)).toEqual([]);
});

eachStore("a file goes out plain when too many others wait to be compressed", async (store) => {
  await using stored = await settledFiles(store, 40);
  const files = await openAll(stored, 40);
  const compression = new Compression(new ContentBudget(30_000, systemClock));
  const answers = files.map((file) => compression.whole(file, "gzip"));
  expect(answers.filter((answer) => answer !== undefined).length).toBe(34);
  await Promise.all(answers);
  // A blob is opened when its content is needed.
  expect(stored.openCount()).toBe(store.store === "disk" ? 6 : 0);
  const later = await Promise.all(files.slice(34).map((file) => compression.whole(file, "gzip")));
  expect(later.every((blob) => blob !== undefined)).toBe(true);
  expect(stored.openCount()).toBe(0);
});

eachStore(
  "eight large files are compressed while they are sent, and the next when one is done",
  async (store) => {
    await using stored = await settledFiles(store, 10);
    const files = await openAll(stored, 10);
    const compression = new Compression(new ContentBudget(30_000, systemClock));
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
    await until("no file is open", () => stored.openCount() === 0);
  },
);

// All of a file is read into the same memory, so a chunk that were overwritten too early would arrive as another one.
eachStore("every chunk of a large file is compressed before the next takes its place", async (store) => {
  // Three megabytes of digits: compressors keep no more than a small part of that to themselves.
  const text = Array.from({ length: 300_000 }, (_, n) => Bun.hash(`${n}`).toString().slice(-10)).join("");
  await using stored = await settledFiles(store, [text]);
  for (const [encoding, decompress] of Object.entries(decompressors)) {
    const stream = new Compression(new ContentBudget(30_000, systemClock)).stream(
      await stored.open(0),
      encoding as Encoding,
    );
    const received: Uint8Array[] = [];
    for await (const piece of stream?.start(new StreamMeter()) ?? []) {
      received.push(piece.slice());
      // A client that reads slowly keeps the compressor waiting in the middle of a chunk.
      if (received.length % 8 === 0) await Bun.sleep(1);
    }
    expect(Buffer.compare(decompress(Buffer.concat(received)), Buffer.from(text))).toBe(0);
  }
  await until("no file is open", () => stored.openCount() === 0);
});

eachStore("a large file that is cut short while it is compressed is not taken for whole", async (store) => {
  await using stored = await settledFiles(store, 1);
  const file = await stored.open(0);
  await file.prepare?.();
  const stream = new Compression(new ContentBudget(30_000, systemClock)).stream(file, "gzip");
  await stored.cut(1000);
  await expect(new Response(stream?.start(new StreamMeter())).bytes()).rejects.toThrow("cut short");
  await until("the file is closed", () => stored.openCount() === 0);
});
