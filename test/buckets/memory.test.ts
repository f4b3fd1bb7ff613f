import { expect } from "bun:test";
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { siteWith } from "../support/bucket.ts";
import { eachStore, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { test } from "../support/test.ts";
import { scaled, tier } from "../support/tier.ts";

const sharedNode = sharedNodes();

type Site = Awaited<ReturnType<typeof siteWith>>;

const style = "p { color: red }\n".repeat(100);

/** What a client sees, unpacked, that takes only these encodings. */
async function seen(site: Site, path: string, accept: string) {
  const response = await site.get(path, { "accept-encoding": accept });
  return { encoding: response.headers.get("content-encoding"), text: await response.text() };
}

/** Has the answers in memory: what was changed a moment ago is not kept yet, and WebDAV keeps what is read a second time. */
async function heat(site: Site, paths: readonly string[], headers: Record<string, string> = {}) {
  await site.settled();
  for (const _ of [1, 2, 3])
    for (const path of paths) expect((await site.get(`/${path}`, headers)).status).toBeOneOf([200, 206]);
}

function basic({ superToken }: TestNode): string {
  return `Basic ${Buffer.from(superToken).toString("base64")}`;
}

/** `get` of a site, by WebDAV. */
function davGet(node: TestNode): Site["get"] {
  const authorization = basic(node);
  return (path, headers = {}, method = "GET") =>
    fetch(`${node.url}/node/static-webdav/${node.bucket}${path}`, {
      method,
      headers: { authorization, ...headers },
    });
}

async function filesInMemory({ url, superToken }: TestNode): Promise<number> {
  const headers = { authorization: `Bearer ${superToken}` };
  const metrics = await (await fetch(`${url}/node/metrics`, { headers })).text();
  return Number(/^node_server_static_cache_files (\d+)$/m.exec(metrics)?.[1]);
}

function replace(file: string, content: string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

function removeAnd(path: string, put: (path: string) => void): void {
  rmSync(path, { recursive: true });
  put(path);
}

function leadOut(file: string, outside: string): void {
  removeAnd(file, () => symlinkSync(join(outside, "secret"), file));
}

function overwriteUnseen(file: string): void {
  const { atime, mtime } = statSync(file);
  writeFileSync(file, "new text");
  utimesSync(file, atime, mtime);
}

function moveOut(folder: string, outside: string): void {
  const moved = join(outside, folder.replaceAll("/", "_"));
  renameSync(folder, moved);
  symlinkSync(moved, folder);
}

/** A page that shows a folder. */
const page = "<!doctype html>";

/** Changes of a file by another program, and what the next GET by plain HTTP and by WebDAV is answered with: a status or a text. */
const changes: ReadonlyArray<
  readonly [
    name: string,
    http: number | string,
    webdav: number | string,
    change: (file: string, outside: string) => void,
  ]
> = [
  ["overwritten in place", "new", "new", (file) => writeFileSync(file, "new text")],
  ["overwritten, with its old time", "new", "new", overwriteUnseen],
  ["replaced by rename", "new", "new", (file) => replace(file, "new text")],
  ["deleted", 404, 404, (file) => rmSync(file)],
  ["replaced by a folder", 301, page, (file) => removeAnd(file, mkdirSync)],
  ["replaced by a link that leads out", 404, 404, (file, outside) => leadOut(file, outside)],
  ["replaced by a link to itself", 404, 404, (file) => removeAnd(file, () => symlinkSync(file, file))],
  [
    "its folder replaced by a file",
    404,
    404,
    (file) => removeAnd(dirname(file), (at) => writeFileSync(at, "")),
  ],
  ["its folder moved out, a link left behind", 404, 404, (file, outside) => moveOut(dirname(file), outside)],
];

for (const protocol of ["plain HTTP", "WebDAV"] as const)
  test(
    scaled(`whatever another program does to a file in memory, the next request sees it (${protocol})`),
    async () => {
      await using node = await testNode();
      await using outside = await tempFolder();
      writeFileSync(join(outside.path, "secret"), "secret");
      const pathsOf = (kind: number) =>
        Array.from({ length: tier === "fast" ? 10 : 40 }, (_, at) => `${kind}/${at}/a.txt`);
      const paths = changes.flatMap((_, kind) => pathsOf(kind));
      const plain = await siteWith(node, Object.fromEntries(paths.map((path) => [path, "old text"])));
      const site = protocol === "WebDAV" ? { ...plain, get: davGet(node) } : plain;
      await heat(site, paths);
      expect(await filesInMemory(node)).toBe(paths.length);
      const wrong: Record<string, string> = {};
      for (const [kind, [name, http, webdav, change]] of changes.entries()) {
        const expected = protocol === "WebDAV" ? webdav : http;
        for (const path of pathsOf(kind)) {
          change(join(site.folder, path), outside.path);
          const answer = await site.get(`/${path}`);
          const text = await answer.text();
          const right =
            typeof expected === "number"
              ? answer.status === expected
              : answer.status === 200 && text.startsWith(expected);
          if (!right) wrong[name] = `${answer.status} ${text.slice(0, 20)}`;
        }
      }
      expect(wrong).toEqual({});
    },
  );

eachStore(
  scaled(
    "a file that changes all the time is never answered older than it was when asked for, nor two contents under one tag",
  ),
  async (store) => {
    await using node = await sharedNode(store);
    const site = await siteWith(node, { "n.txt": "00000000" });
    const file = join(site.folder, "n.txt");
    const isDisk = node.store === "disk";
    const tags = new Map<string | null, string>();
    const wrong: unknown[] = [];
    for (let version = 1; version <= (isDisk && tier !== "fast" ? 400 : 100); version += 1) {
      const content = String(version).padStart(8, "0");
      if (isDisk && version % 2 === 1) replace(file, content);
      else await site.stored.write({ "n.txt": content });
      const answers = await Promise.all([site.get("/n.txt"), site.get("/n.txt")]);
      for (const answer of answers) {
        const [text, tag] = [await answer.text(), answer.headers.get("etag")];
        const before = tags.get(tag) ?? text;
        tags.set(tag, text);
        if (text !== content || before !== text) wrong.push({ content, text, tag, before });
      }
      // Now and then long enough for the file to be kept in memory.
      if (version % 20 === 0) await heat(site, ["n.txt"]);
    }
    expect(wrong).toEqual([]);
  },
);

eachStore("compressed neighbours and index.html come and go with the next request", async (store) => {
  await using node = await sharedNode(store);
  const site = await siteWith(node, { "x.js": style, "docs/index.html": "first" });
  const { write, remove, setModified } = site.stored;
  const neighbour = style.toUpperCase();
  /** What the next request sees, and then one from memory. */
  const script = async (text: string) => {
    expect(await seen(site, "/x.js", "br")).toEqual({ encoding: "br", text });
    await heat(site, ["x.js"], { "accept-encoding": "br" });
    expect(await seen(site, "/x.js", "br")).toEqual({ encoding: "br", text });
  };
  for (const round of [1, 2]) {
    for (const [change, text] of [
      [() => setModified("x.js", 2000), style],
      [() => write({ "x.js.br": brotliCompressSync(neighbour) }), neighbour],
      [() => setModified("x.js.br", 1999), style],
      [() => setModified("x.js.br", 2000), neighbour],
      [() => setModified("x.js", 2001), style],
      [() => setModified("x.js.br", 2002), neighbour],
      [() => remove("x.js.br"), style],
    ] as const) {
      await change();
      await script(text);
    }
    await heat(site, ["docs/"]);
    await write({ "docs/index.html": `round ${round}` });
    expect(await (await site.get("/docs/")).text()).toBe(`round ${round}`);
    await heat(site, ["docs/"]);
    await remove("docs/index.html");
    expect((await site.get("/docs/")).status).toBe(404);
    await write({ "docs/index.html": "" });
  }
});

eachStore("nobody gets an encoding that he did not ask for, whoever asked before him", async (store) => {
  await using node = await sharedNode(store);
  const site = await siteWith(node, { "x.js": style, "y.js": style, "y.js.gz": Bun.gzipSync(style) });
  const wishes = ["zstd, br, gzip", "zstd, gzip", "zstd", "br, gzip;q=0.5", "br", "gzip", "gzip;q=0", ""];
  await heat(site, ["x.js", "y.js"]);
  const wrong = new Set<string>();
  for (const wish of [...wishes, ...wishes, ...wishes]) {
    for (const path of ["x.js", "y.js"]) {
      const { encoding, text } = await seen(site, `/${path}`, wish);
      const refused = encoding !== null && (!wish.includes(encoding) || wish.endsWith("q=0"));
      if (refused) wrong.add(`${path}: "${wish}" got ${encoding}`);
      expect(text === style).toBe(true);
    }
  }
  expect([...wrong]).toEqual([]);
});

eachStore(
  "a name as long as a store takes, whose neighbours would be too long, is answered again and again",
  async (store) => {
    await using node = await sharedNode(store);
    const long = `${"n".repeat(250)}.css`;
    const site = await siteWith(node, { [long]: style });
    await heat(site, [long], { "accept-encoding": "zstd, br" });
  },
);

// Only another program can write both forms: the server takes them for one name.
test("a file is seen that appears under the very name for which another Unicode form was in memory", async () => {
  await using node = await sharedNode();
  const site = await siteWith(node, { "e\u0301.txt": "decomposed" });
  await heat(site, ["%C3%A9.txt"]);
  writeFileSync(join(site.folder, "\u00e9.txt"), "composed");
  expect(await (await site.get("/%C3%A9.txt")).text()).toBe("composed");
});

eachStore("a change of the bucket counts at once for a file in memory", async (store) => {
  await using node = await testNode(store);
  const token = node.superToken;
  const site = await siteWith(node, { "a.txt": "first" }, { is_http_root: true });
  for (const name of ["other", "elsewhere"]) {
    await node.call("static-bucket_create", { token, name });
    await storedFiles(node, name).write({ "a.txt": name });
  }
  // Its files stay, for a bucket that gets their path.
  await node.call("static-bucket_delete", { token, name: "elsewhere" });
  const getByDav = davGet(node);
  /** The next answer of all addresses, and one from memory. */
  const expectAll = async (inBucket: string | 404, atRoot: string | 404, origin: string | null = null) => {
    for (const _ of [1, 2, 3]) {
      const answer = await getByDav("/a.txt");
      expect(inBucket === 404 ? answer.status : await answer.text()).toBe(inBucket);
    }
    for (const [at, expected] of [inBucket, inBucket, atRoot, atRoot].entries()) {
      const answer = await (at < 2 ? site.get("/a.txt") : fetch(`${node.url}/a.txt`));
      expect(typeof expected === "number" ? answer.status : await answer.text()).toBe(expected);
      if (expected !== 404) expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    }
  };
  for (let round = 0; round < 4; round += 1) {
    await heat(site, ["a.txt"]);
    await expectAll("first", "first");
    for (const [name, change, inBucket, atRoot, origin] of [
      ["site", { cors: true }, "first", "first", "*"],
      ["site", { cors: false }, "first", "first", null],
      ["site", { path: "elsewhere" }, "elsewhere", "elsewhere", null],
      ["site", { path: "site", enable: false }, 404, 404, null],
      ["site", { enable: true }, "first", "first", null],
      ["site", { is_http_root: false }, "first", 404, null],
      ["other", { is_http_root: true }, "first", "other", null],
      ["other", { is_http_root: false }, "first", 404, null],
      ["site", { is_http_root: true }, "first", "first", null],
    ] as const) {
      await node.call("static-bucket_update", { token, name, ...change });
      await expectAll(inBucket, atRoot, origin);
    }
    await node.call("static-bucket_delete", { token, name: "site" });
    await expectAll(404, 404);
    await node.call("static-bucket_create", { token, name: "site", is_http_root: true });
  }
});
