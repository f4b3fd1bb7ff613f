import { expect } from "bun:test";
import { chmodSync, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import { eachStore, type StoreOptions, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { until } from "../support/until.ts";

const sharedNode = sharedNodes();
const text = "a line of text\n".repeat(100);

/** A server whose HTTP root is a bucket with these files, and requests to it that go out exactly as written. */
async function rootSite(store: StoreOptions, files: Record<string, string>) {
  const node = await sharedNode(store);
  const site = await siteWith(node, files, { is_http_root: true });
  return {
    node,
    /** The bucket's own address. */
    base: `/node/static/${node.bucket}`,
    folder: site.folder,
    stored: site.stored,
    ask: (path: string, more: Ask = {}) => ask(node, path, more),
    /** Repeats a GET until its URL is answered from memory: files on a disk must be older than its clock can tell apart. */
    async heat(path: string, more: Ask = {}) {
      if (node.store === "disk")
        await until("the files are old enough", () =>
          Object.keys(files).every((name) => Date.now() > changedMs(join(site.folder, name)) + 50),
        );
      for (const _ of [1, 2, 3]) expect([path, (await ask(node, path, more)).status]).toEqual([path, 200]);
    },
    /** The HTTP root is free for the next story. */
    async [Symbol.asyncDispose]() {
      await node.call("static-bucket_delete", { token: node.superToken, name: node.bucket });
      await node[Symbol.asyncDispose]();
    },
  };
}

function changedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ctimeMs ?? 0;
}

interface Ask {
  readonly method?: string;
  readonly host?: string;
  readonly headers?: readonly string[];
}

async function ask(node: TestNode, path: string, { method = "GET", host = "here", headers = [] }: Ask) {
  using wire = await Wire.open(node.url);
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers];
  wire.write(`${head.join("\r\n")}\r\n\r\n`);
  await until("it is answered", () => wire.closed);
  const [answered = "", ...body] = wire.heard.split("\r\n\r\n");
  const etag = /^etag: (.*)$/im.exec(answered)?.[1];
  const length = /^content-length: (.*)$/im.exec(answered)?.[1];
  return { status: Number(answered.slice(9, 12)), head: answered, etag, length, body: body.join("\r\n\r\n") };
}

eachStore(
  "a URL that is answered from memory is refused when another Host header makes it",
  async (store) => {
    await using site = await rootSite(store, { "a.txt": text });
    const path = `${site.base}/a.txt`;
    const short = path.slice("/node".length);
    await site.stored.write({ [short.slice(1)]: "of the root" });
    // Of an empty Host header and of one that is invalid, Bun makes the same URL: the path alone.
    for (const host of ["here", ""]) await site.heat(path, { host });
    for (const host of ["here/node", "here?x", "x@here", "here:99999", "he\u00adre", "a b", "here,here"])
      expect([host, (await site.ask(path, { host })).status]).toEqual([host, 400]);
    for (const host of ["elsewhere:80", "HERE", "here:80", "here"])
      expect([host, (await site.ask(path, { host })).status]).toEqual([host, 200]);
    expect((await site.ask(short, { host: "here/node" })).status).toBe(400);
    expect((await site.ask(short)).body).toBe("of the root");
  },
);

eachStore(
  "after a plain GET from memory, every method and header of the same URL has its own answer",
  async (store) => {
    await using site = await rootSite(store, { "a.bin": text });
    for (const path of ["/a.bin", `${site.base}/a.bin`]) {
      await site.heat(path);
      const { etag = "" } = await site.ask(path);
      const modified = new Date((await site.stored.stats("a.bin")).modifiedMs + 1000).toUTCString();
      const old = "Sat, 01 Jan 2000 00:00:00 GMT";
      const status = async (more: Ask) => (await site.ask(path, more)).status;
      const withHeader = (...headers: string[]) => status({ headers });
      expect(await site.ask(path, { method: "HEAD" })).toMatchObject({
        status: 200,
        body: "",
        length: String(text.length),
      });
      expect(await site.ask(path, { headers: ["Range: bytes=2-5"] })).toMatchObject({
        status: 206,
        body: text.slice(2, 6),
      });
      expect(await withHeader("Range: bytes=2-5", 'If-Range: "other"')).toBe(200);
      expect(await withHeader("Range: bytes=99999-")).toBe(416);
      expect(await withHeader(`If-None-Match: ${etag}`)).toBe(304);
      expect(await withHeader(`If-None-Match: ${etag}`, 'If-Match: "other"')).toBe(412);
      expect(await withHeader('If-None-Match: "other"', `If-Modified-Since: ${modified}`)).toBe(200);
      expect(await withHeader(`If-Modified-Since: ${modified}`)).toBe(304);
      expect(await withHeader(`If-Unmodified-Since: ${old}`)).toBe(412);
      expect(await withHeader('If-Match: "other"')).toBe(412);
      expect(await withHeader("Upgrade: websocket", "Connection: Upgrade")).toBe(400);
      expect(await status({ method: "OPTIONS" })).toBe(204);
      expect(await status({ method: "PUT" })).toBe(405);
      expect(await withHeader()).toBe(200);
    }
    const worker = ["Service-Worker: script"];
    expect((await site.ask("/a.bin", { headers: worker })).status).toBe(403);
    expect((await site.ask(`${site.base}/a.bin`, { headers: worker })).status).toBe(200);
  },
);

eachStore("clients that accept different encodings get them from one URL, in any order", async (store) => {
  await using site = await rootSite(store, { "a.js": text });
  const wishes = ["gzip", "br", "identity", "zstd, gzip;q=0.5", "gzip;q=0", "GZIP"];
  for (const wish of wishes) await site.heat("/a.js", { headers: [`Accept-Encoding: ${wish}`] });
  const expected: Record<string, string> = {
    gzip: "gzip",
    GZIP: "gzip",
    br: "br",
    "zstd, gzip;q=0.5": "zstd",
  };
  // More spellings of the header than are remembered, and some that are too long for it.
  const spellings = Array.from({ length: 150 }, (_, at) => {
    const [more, encoding] = at % 2 === 0 ? ["gzip;q=0", "br"] : ["br;q=0", "gzip"];
    expected[`${encoding}, ${more}, x${at}${" ".repeat(at)}`] = encoding ?? "";
    return `${encoding}, ${more}, x${at}${" ".repeat(at)}`;
  });
  for (const wish of [...wishes, ...spellings, ...wishes.toReversed(), ...spellings]) {
    const { head } = await site.ask("/a.js", { headers: [`Accept-Encoding: ${wish}`] });
    const sent = /^content-encoding: (.*)$/im.exec(head)?.[1] ?? "plain";
    expect([wish, sent]).toEqual([wish, expected[wish] ?? "plain"]);
  }
});

eachStore("however a file in memory is named, a change of it is seen by the next request", async (store) => {
  await using site = await rootSite(store, { "d/a.txt": "first" });
  const file = join(site.folder, "d/a.txt");
  const urls = [
    "/d/a.txt",
    "/%64/a.txt",
    "/d/a.tx%74?x",
    "/x/../d/a.txt",
    `${site.base}/d/a.txt`,
    ...Array.from({ length: 20 }, (_, at) => `/d/a.txt?${at}`),
  ];
  const { write, remove, exists } = site.stored;
  const isDisk = site.node.store === "disk";
  const replace = async () =>
    isDisk ? renameSync(prepared(`${file}.new`, "third"), file) : write({ "d/a.txt": "third" });
  const changes: ReadonlyArray<readonly [change: () => Promise<void>, status: number, body: string]> = [
    [() => write({ "d/a.txt": "second" }), 200, "second"],
    [replace, 200, "third"],
    [() => remove("d/a.txt"), 404, ""],
    [() => write({ "d/a.txt": "fourth" }), 200, "fourth"],
    [
      () => (isDisk ? swapFolders(join(site.folder, "d"), "fifth") : moveFolders(site, "fifth")),
      200,
      "fifth",
    ],
  ];
  for (const [change, status, body] of changes) {
    if (await exists("d/a.txt")) for (const url of urls) await site.heat(url);
    await change();
    for (const url of urls) {
      const answer = await site.ask(url);
      expect([url, answer.status, status === 200 ? answer.body : ""]).toEqual([url, status, body]);
    }
  }
  if (!isDisk) return;
  for (const url of urls) await site.heat(url);
  const { etag } = await site.ask("/d/a.txt");
  chmodSync(file, 0o640);
  for (const url of urls) expect((await site.ask(url)).etag).not.toBe(etag);
});

function prepared(file: string, content: string): string {
  writeFileSync(file, content);
  return file;
}

/** Moves the folder away and another one with a file of the same name into its place. */
async function swapFolders(folder: string, content: string): Promise<void> {
  mkdirSync(`${folder}.new`);
  writeFileSync(join(`${folder}.new`, "a.txt"), content);
  renameSync(folder, `${folder}.old`);
  renameSync(`${folder}.new`, folder);
}

/** The same by WebDAV, of the folder `d`. */
async function moveFolders({ node, stored }: Awaited<ReturnType<typeof rootSite>>, content: string) {
  await stored.write({ "d.new/a.txt": content });
  const authorization = `Basic ${Buffer.from(node.superToken).toString("base64")}`;
  const base = `${node.url}/node/static-webdav/${node.bucket}`;
  for (const [from, to] of [
    ["d", "d.old"],
    ["d.new", "d"],
  ]) {
    const headers = { authorization, destination: `${base}/${to}` };
    expect((await fetch(`${base}/${from}`, { method: "MOVE", headers })).status).toBe(201);
  }
}

eachStore("a folder, its index page and the bucket's own 404 page answer as they are now", async (store) => {
  await using site = await rootSite(store, { "docs/index.html": "index", "404.html": "nothing" });
  await site.heat("/docs/");
  expect((await site.ask("/docs")).head).toMatch(/^HTTP\/1\.1 301 [\s\S]*location: \/docs\//i);
  expect((await site.ask("/docs?a=b")).head).toMatch(/location: \/docs\/\?a=b/i);
  await site.stored.remove("docs/index.html");
  expect(await site.ask("/docs/")).toMatchObject({ status: 404, body: "nothing" });
  await site.stored.write({ "404.html": "nothing here" });
  expect(await site.ask("/docs/")).toMatchObject({ status: 404, body: "nothing here" });
  await site.stored.remove("docs");
  await site.stored.write({ docs: "a file" });
  expect((await site.ask("/docs/")).status).toBe(404);
  expect(await site.ask("/docs")).toMatchObject({ status: 200, body: "a file" });
});

eachStore(
  "a file that the kernel sends has the same head and content as the first time, and no path of the disk in it",
  async (store) => {
    const content = "0123456789abcdef".repeat(64 * 1024);
    await using site = await rootSite(store, { "large.bin": content });
    const undated = ({ head }: { readonly head: string }) =>
      head
        .toLowerCase()
        .split("\r\n")
        .filter((line) => !line.startsWith("date:"))
        .sort();
    const first = await site.ask("/large.bin");
    expect(first.head).toMatch(/^content-disposition: inline\r?$/im);
    await site.heat("/large.bin");
    for (const _ of [1, 2, 3]) {
      const again = await site.ask("/large.bin");
      expect(undated(again)).toEqual(undated(first));
      expect(again.body === content).toBe(true);
    }
    const part = await site.ask("/large.bin", { headers: ["Range: bytes=700000-700015"] });
    expect([part.status, part.body]).toEqual([206, content.slice(700_000, 700_016)]);
    const parts = await site.ask("/large.bin", { headers: ["Range: bytes=0-3,700000-700003"] });
    expect([parts.status, parts.body]).toEqual([
      206,
      expect.stringMatching(/\r\n\r\n0123\r\n[\s\S]*\r\n\r\n0123\r\n/),
    ]);
    expect((await site.ask("/large.bin", { method: "HEAD" })).length).toBe(String(content.length));
  },
);
