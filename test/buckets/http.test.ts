import { expect } from "bun:test";
import { utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

eachStore(
  "a file is served with its type, its validators and the right length, for GET and HEAD",
  async (store) => {
    await using node = await sharedNode(store);
    const { get } = await siteWith(node, {
      "a b/é.css": "p { }",
      "app.mjs": "1",
      "x.unknown": "?",
      "m.wasm": "\0asm",
    });
    const response = await get("/a%20b/%C3%A9.css");
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/css; charset=utf-8",
      "content-length": "5",
      "accept-ranges": "bytes",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      etag: expect.stringMatching(/^"[^"]+"$/),
      "last-modified": expect.stringMatching(/GMT$/),
    });
    const head = await get("/a%20b/%C3%A9.css", {}, "HEAD");
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["5", ""]);
    expect(head.headers.get("etag")).toBe(response.headers.get("etag"));
    expect((await get("/app.mjs")).headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect((await get("/m.wasm")).headers.get("content-type")).toBe("application/wasm");
    expect((await get("/x.unknown")).headers.get("content-type")).toBe("application/octet-stream");
  },
);

test("a change on the disk is seen by the next request, with a new validator, also when size and time stay", async () => {
  await using node = await testNode();
  const { get, folder } = await siteWith(node, { "a.txt": "one" });
  const tags = new Set<string | null>();
  for (const content of ["one", "two", "six", "ten"]) {
    await writeFile(join(folder, "a.txt"), content);
    await utimes(join(folder, "a.txt"), 1_700_000_000, 1_700_000_000);
    await Bun.sleep(20);
    const response = await get("/a.txt");
    tags.add(response.headers.get("etag"));
    expect(await response.text()).toBe(content);
  }
  expect(tags.size).toBe(4);
});

eachStore("conditions are judged in the order of the standard", async (store) => {
  await using node = await sharedNode(store);
  const { get } = await siteWith(node, { "a.txt": "hello" });
  const first = await get("/a.txt");
  const etag = first.headers.get("etag") ?? "";
  const date = first.headers.get("last-modified") ?? "";
  const status = async (headers: Record<string, string>) => (await get("/a.txt", headers)).status;
  expect(await status({ "if-none-match": etag })).toBe(304);
  expect(await status({ "if-none-match": `W/${etag}, "x"` })).toBe(304);
  // The prefix of a weak tag is a capital letter: this is not a tag.
  expect(await status({ "if-none-match": `w/${etag}` })).toBe(200);
  expect(await status({ "if-match": `w/${etag}` })).toBe(412);
  expect(await status({ "if-none-match": "*" })).toBe(304);
  expect(await status({ "if-none-match": '"x"', "if-modified-since": date })).toBe(200);
  expect(await status({ "if-modified-since": date })).toBe(304);
  expect(await status({ "if-modified-since": "Sat, 01 Jan 2000 00:00:00 GMT" })).toBe(200);
  expect(await status({ "if-match": '"x"' })).toBe(412);
  expect(await status({ "if-match": etag })).toBe(200);
  expect(await status({ "if-unmodified-since": "Sat, 01 Jan 2000 00:00:00 GMT" })).toBe(412);
  const unchanged = await get("/a.txt", { "if-none-match": etag });
  expect([unchanged.headers.get("etag"), await unchanged.text()]).toEqual([etag, ""]);
});

eachStore(
  "ranges: single, open, from the end, several, impossible, and bound to a validator",
  async (store) => {
    await using node = await sharedNode(store);
    const { get } = await siteWith(node, { "a.bin": "0123456789" });
    const etag = (await get("/a.bin")).headers.get("etag") ?? "";
    const piece = async (range: string, more: Record<string, string> = {}) => {
      const response = await get("/a.bin", { range, ...more });
      return [response.status, response.headers.get("content-range"), await response.text()];
    };
    expect(await piece("bytes=0-0")).toEqual([206, "bytes 0-0/10", "0"]);
    expect(await piece("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await piece("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await piece("bytes=-3")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await piece("bytes=5-100")).toEqual([206, "bytes 5-9/10", "56789"]);
    expect(await piece("bytes=10-")).toEqual([416, "bytes */10", ""]);
    expect(await piece("bytes=-0")).toEqual([416, "bytes */10", ""]);
    expect((await get("/a.bin", { range: "bytes=10-" })).headers.has("content-type")).toBe(false);
    for (const ignored of ["bytes=4-2", "bytes=a-b", "lines=1-2", "bytes=0-5,3-7"])
      expect(await piece(ignored)).toEqual([200, null, "0123456789"]);
    expect(await piece("bytes=1-2", { "if-range": etag })).toEqual([206, "bytes 1-2/10", "12"]);
    expect(await piece("bytes=1-2", { "if-range": '"old"' })).toEqual([200, null, "0123456789"]);
    const several = await get("/a.bin", { range: "bytes=0-1,8-9" });
    expect(several.headers.get("content-type")).toMatch(/^multipart\/byteranges; boundary=/);
    expect(await several.text()).toMatch(/bytes 0-1\/10\r\n\r\n01\r\n--.*bytes 8-9\/10\r\n\r\n89\r\n--.*--/s);
  },
);

eachStore(
  "text is compressed as the client prefers, small and large, and a compressed neighbour is used while it is not older",
  async (store) => {
    await using node = await sharedNode(store);
    const small = "body { color: red }\n".repeat(100);
    const large = "0123456789abcdef".repeat(400_000);
    const { get, stored } = await siteWith(node, {
      "a.css": small,
      "big.txt": large,
      "pic.png": small,
      "x.js": small,
    });
    const open = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };
    for (const [accept, encoding] of [
      ["gzip", "gzip"],
      ["br;q=1, gzip;q=0.5", "br"],
      ["gzip;q=0.2, zstd", "zstd"],
    ] as const) {
      for (const [path, content] of [
        ["/a.css", small],
        ["/big.txt", large],
      ] as const) {
        const response = await fetch(`${node.url}/node/static/${node.bucket}${path}`, {
          headers: { "accept-encoding": accept },
          decompress: false,
        });
        expect([path, response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
          path,
          encoding,
          "accept-encoding",
        ]);
        expect(open[encoding](Buffer.from(await response.arrayBuffer())).toString() === content).toBe(true);
      }
    }
    expect(
      (await get("/a.css", { "accept-encoding": "gzip;q=0" })).headers.get("content-encoding"),
    ).toBeNull();
    expect((await get("/pic.png", { "accept-encoding": "gzip" })).headers.get("content-encoding")).toBeNull();
    await stored.write({ "x.js.br": "ready-made" });
    const neighbour = await fetch(`${node.url}/node/static/${node.bucket}/x.js`, {
      headers: { "accept-encoding": "br" },
      decompress: false,
    });
    expect([
      neighbour.headers.get("content-encoding"),
      neighbour.headers.get("content-type"),
      await neighbour.text(),
    ]).toEqual(["br", "text/javascript; charset=utf-8", "ready-made"]);
    await stored.setModified("x.js.br", 1);
    const fresh = await fetch(`${node.url}/node/static/${node.bucket}/x.js`, {
      headers: { "accept-encoding": "br" },
      decompress: false,
    });
    expect(brotliDecompressSync(Buffer.from(await fresh.arrayBuffer())).toString()).toBe(small);
  },
);

eachStore("folders: slash form, index.html, the bucket's own 404 page, methods, CORS", async (store) => {
  await using node = await sharedNode(store);
  const { get } = await siteWith(
    node,
    { "index.html": "<h1>root</h1>", "docs/index.html": "docs", "empty/.keep": "", "404.html": "own" },
    { cors: true },
  );
  const bare = await get("?q=1");
  expect([bare.status, bare.headers.get("location")]).toEqual([301, `/node/static/${node.bucket}/?q=1`]);
  expect(await (await get("/")).text()).toBe("<h1>root</h1>");
  expect((await get("/docs")).headers.get("location")).toBe(`/node/static/${node.bucket}/docs/`);
  expect(await (await get("/docs/")).text()).toBe("docs");
  for (const path of ["/nope", "/empty/", "/index.html/"]) {
    const missing = await get(path);
    expect([path, missing.status, await missing.text()]).toEqual([path, 404, "own"]);
    expect(missing.headers.get("access-control-allow-origin")).toBe("*");
  }
  const refused = await get("/index.html", {}, "PUT");
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  const preflight = await get("/index.html", {}, "OPTIONS");
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD, OPTIONS",
    "access-control-allow-headers": "*",
  });
});

eachStore(
  "a bucket that is the root answers whatever nobody else owns, and shadows nothing",
  async (store) => {
    await using node = await testNode(store);
    const files = {
      "index.html": "home",
      "a/b.txt": "deep",
      jsonrpc: "shadow",
      "node/x": "shadow",
      terminal: "shadow",
    };
    await siteWith(node, files, { is_http_root: true });
    const text = async (path: string) => (await fetch(node.url + path)).text();
    expect(await text("/")).toBe("home");
    expect(await text("/a/b.txt")).toBe("deep");
    expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
    for (const [path, status] of [
      ["/jsonrpc", 405],
      ["/terminal", 426],
      ["/node/x", 404],
      ["/nope", 404],
    ] as const) {
      expect([path, (await fetch(node.url + path)).status]).toEqual([path, status]);
    }
    await node.call("static-bucket_update", { token: node.superToken, name: "site", is_http_root: false });
    expect(await text("/")).toContain("Node Server Is Running!");
  },
);

eachStore("no spelling of a path leads out of the bucket", async (store) => {
  await using node = await testNode(store);
  await siteWith(node, { "a.txt": "a" }, { is_http_root: true });
  const attempts = [
    "../config.toml",
    "%2e%2e/config.toml",
    "..%2fconfig.toml",
    "%252e%252e%252fconfig.toml",
    "..%5cconfig.toml",
    "..\\config.toml",
    "%c0%ae%c0%ae/config.toml",
    "a.txt%00.html",
    "c:/config.toml",
    "//etc/passwd",
    "....//config.toml",
    ".../config.toml",
    "%2e%2e%2f%2e%2e%2fetc/passwd",
    "..;/config.toml",
    "a.txt/../../../config.toml",
    "\\\\server\\share",
  ];
  for (const prefix of [
    "/node/static/site/",
    "/",
    "/node/static/site/x/",
    "http://127.0.0.1/node/static/site/",
  ]) {
    for (const attempt of attempts) {
      const answer = await raw(
        node.url,
        `GET ${prefix}${attempt} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect({ attempt, leaked: /ws_listener|root:/.test(answer) }).toEqual({ attempt, leaked: false });
      expect(answer).toMatch(/^HTTP\/1\.1 (400|404|301|308|405|200) /);
    }
  }
});

eachStore(
  "two slashes in a path of a GET or HEAD are redirected to one, and lead to no other host",
  async (store) => {
    await using node = await testNode(store);
    const { get } = await siteWith(node, { "d/b c.txt": "b" }, { is_http_root: true });
    const site = `/node/static/${node.bucket}`;
    // Bun's own client sends one slash for two at the beginning of a path.
    const rootAnswer = async (path: string, rest = "HTTP/1.1\r\nHost: x\r\nConnection: close") => {
      const answer = await raw(node.url, `GET ${path} ${rest}\r\n\r\n`);
      return [Number(answer.split(" ", 2)[1]), /^location: (.*)\r$/im.exec(answer)?.[1]];
    };
    for (const [path, to] of [
      ["//a.txt", "/a.txt"],
      ["//d///b%20c.txt?x=//1&y", "/d/b%20c.txt?x=//1&y"],
      ["/d//", "/d/"],
      ["//", "/"],
      ["//evil.example/..;/x", "/evil.example/..%3B/x"],
      ["///%65vil.example%3A80//", "/evil.example%3A80/"],
    ] as const) {
      for (const method of ["GET", "HEAD"]) {
        const moved = await get(path, {}, method);
        expect([path, moved.status, moved.headers.get("location")]).toEqual([path, 308, site + to]);
        expect(moved.headers.get("cache-control")).toBe("no-cache");
      }
      expect([path, await rootAnswer(path)]).toEqual([path, [308, to]]);
      expect((await get(path, {}, "PUT")).status).toBe(405);
    }
    expect(await (await fetch(`${node.url}${site}//d//b%20c.txt?x`)).text()).toBe("b");
    // With single slashes these are not paths of files either.
    for (const path of ["//evil.example%2f", "//%5cevil.example", "//a%00", "//%zz", "///%2fevil.example"]) {
      expect([path, (await get(path)).status]).toEqual([path, 400]);
      expect([path, await rootAnswer(path)]).toEqual([path, [400, undefined]]);
    }
    // Without a Host header the server knows the path alone, which here looks like an address of another host.
    expect(await rootAnswer("//evil.example:x/a?q", "HTTP/1.0")).toEqual([308, "/evil.example%3Ax/a?q"]);
  },
);

eachStore("a redirect has a line for people, and its length also for HEAD", async (store) => {
  await using node = await testNode(store);
  const { get } = await siteWith(
    node,
    { "d/index.html": "d", "about.html": "a", _redirects: "/old /new 302\n" },
    { clean_urls: true },
  );
  for (const [path, status, to] of [
    ["", 301, "/"],
    ["/d", 301, "/d/"],
    ["/about.html", 308, "/about"],
    ["/old?q", 302, "/new?q"],
  ] as const) {
    const moved = await get(path);
    const text = await moved.text();
    expect([path, moved.status]).toEqual([path, status]);
    expect(text).toEndWith(`: see /node/static/${node.bucket}${to}\n`);
    expect(moved.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const head = await get(path, {}, "HEAD");
    const lengths = [moved, head].map(({ headers }) => headers.get("content-length"));
    expect([lengths, await head.text()]).toEqual([[String(text.length), String(text.length)], ""]);
  }
  const toConsole = await fetch(`${node.url}/node/console`, { redirect: "manual" });
  expect(await toConsole.text()).toEndWith(": see /node/console/\n");
});

function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.on("data", (chunk) => {
      heard += chunk;
    });
    socket.on("close", () => resolve(heard)).on("error", () => resolve(heard));
  });
}

eachStore(
  "a missing path of many segments costs no more in letters of any language than in plain ones",
  async (store) => {
    await using node = await sharedNode(store);
    const { get } = await siteWith(node, { "a.txt": "hello" });
    const processorTime = async (segment: string) => {
      const before = process.cpuUsage();
      for (let round = 0; round < 20; round += 1)
        expect((await get(`/${`${segment}/`.repeat(1500)}`)).status).toBe(404);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await processorTime("e");
    // It was 400 times as much while every segment after the first missing one was tried in three forms.
    expect((await processorTime("%C3%A9")) / (await processorTime("e-e-e-"))).toBeLessThan(40);
  },
);
