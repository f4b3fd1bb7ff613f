import { expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { testNode } from "../support/node.ts";
import { newHome, story } from "../support/process.ts";
import { besiegedSite, disguises, secrets, sendRaw, targets } from "../support/traversal.ts";
import { everyFile, get, namesIn, setConsole } from "./asking.ts";

test("the console's page stands at one address and says how strictly it is to be taken", async () => {
  await using node = await testNode();
  for (const [path, location] of [
    ["/node/console", "/node/console/"],
    ["/node/console?a=/b", "/node/console/?a=/b"],
  ]) {
    const answer = await get(node, path ?? "");
    expect([answer.status, answer.headers.get("location")]).toEqual([301, location ?? ""]);
  }
  const answer = await get(node, "/node/console/?any");
  const text = await answer.text();
  const nonce = /<script type="module" src="assets\/main-\w+\.js" nonce="([^"]{20,})">/.exec(text)?.[1] ?? "";
  expect(nonce).not.toBe("");
  const told = (name: string) => answer.headers.get(name);
  expect(told("content-security-policy")).toBe(
    `default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; frame-src blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
  );
  expect({
    type: told("content-type"),
    cache: told("cache-control"),
    sniff: told("x-content-type-options"),
    frame: told("x-frame-options"),
    opener: told("cross-origin-opener-policy"),
    resource: told("cross-origin-resource-policy"),
    referrer: told("referrer-policy"),
    cors: told("access-control-allow-origin"),
  }).toEqual({
    type: "text/html; charset=utf-8",
    cache: "no-store",
    sniff: "nosniff",
    frame: "DENY",
    opener: "same-origin",
    resource: "same-origin",
    referrer: "no-referrer",
    cors: null,
  });
  for (const part of [
    'lang="en"',
    'name="viewport"',
    'name="color-scheme"',
    "<title>node-server console<",
    "<noscript>",
    '<div id="app">',
    'rel="icon"',
  ])
    expect(text).toContain(part);
  // Nothing of the page is written into it: no style, no handler, no script text.
  expect(text).not.toMatch(/<style|style=|\son\w+=|<script[^>]*>[^<]/);
  expect(await (await get(node, "/node/console/")).text()).not.toContain(nonce);
  const head = await get(node, "/node/console/", { method: "HEAD" });
  expect([head.status, head.headers.get("cache-control"), await head.text()]).toEqual([200, "no-store", ""]);
});

test("an asset is kept for ever, in the form that the browser takes", async () => {
  await using node = await testNode();
  const [name = ""] = namesIn(await (await get(node, "/node/console/")).text()).filter((one) =>
    one.endsWith(".js"),
  );
  const path = `/node/console/assets/${name}`;
  const plain = await (await get(node, path, { headers: { "accept-encoding": "identity" } })).text();
  const forms = {
    "": [null, (bytes: Uint8Array) => Buffer.from(bytes)],
    identity: [null, (bytes: Uint8Array) => Buffer.from(bytes)],
    "zstd;q=0.5": [null, (bytes: Uint8Array) => Buffer.from(bytes)],
    "gzip, deflate, br, zstd": ["br", brotliDecompressSync],
    "br;q=0.2, gzip": ["gzip", gunzipSync],
    "br;q=0, *": ["gzip", gunzipSync],
  } as const;
  const tags = new Set<string | null>();
  for (const [accepted, [encoding, unpack]] of Object.entries(forms)) {
    const headers = { "accept-encoding": accepted };
    const answer = await get(node, path, { headers });
    const told = (header: string) => answer.headers.get(header);
    expect([accepted, answer.status, told("content-encoding")]).toEqual([accepted, 200, encoding]);
    expect(unpack(await answer.bytes()).toString()).toBe(plain);
    expect([
      told("cache-control"),
      told("vary"),
      told("content-type"),
      told("x-content-type-options"),
      told("cross-origin-resource-policy"),
    ]).toEqual([
      "public, max-age=31536000, immutable",
      "accept-encoding",
      "text/javascript; charset=utf-8",
      "nosniff",
      "same-origin",
    ]);
    const etag = told("etag") ?? "";
    tags.add(etag);
    const again = await get(node, path, { headers: { ...headers, "if-none-match": etag } });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    const head = await get(node, path, { method: "HEAD", headers });
    expect([head.status, head.headers.get("etag")]).toEqual([200, etag]);
  }
  expect(tags.size).toBe(3);
  const encoded = path.replace("main", "%6dain");
  expect((await get(node, encoded)).status).toBe(200);
});

test("what is read takes GET and HEAD alone, and nothing else is there", async () => {
  await using node = await testNode();
  const [name = ""] = namesIn(await (await get(node, "/node/console/")).text());
  for (const path of ["/node/console", "/node/console/", `/node/console/assets/${name}`]) {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]) {
      const answer = await get(node, path, { method });
      expect([path, method, answer.status, answer.headers.get("allow")]).toEqual([
        path,
        method,
        405,
        "GET, HEAD",
      ]);
    }
  }
  for (const path of [
    ...[
      "/node/consolex",
      "/node/console../x",
      "/node/console/x",
      "/node/console/index.html",
      "/node/console//",
    ],
    ...[
      "/node/console/assets",
      "/node/console/assets/",
      `/node/console/assets//${name}`,
      `/node/console/assets/x/${name}`,
    ],
    ...[
      `/node/console/assets/${name}/`,
      `/node/console/assets/${name}%00`,
      "/node/console/assets/%",
      `/node/console/${name}`,
    ],
    ...[
      "/node/console/assets/__proto__",
      "/node/console/assets/constructor",
      "/node/console/%2e%2e/console.ts",
    ],
    ...[
      "/node/console/assets/%2e%2e%2fremember",
      "/node/console/assets/..%2f..%2f..%2fpackage.json",
      `/node/Console/assets/${name}`,
    ],
  ])
    expect([path, (await get(node, path)).status]).toEqual([path, 404]);
});

test("no spelling of an address below the console leads to a file of the disk", async () => {
  await using node = await testNode();
  await besiegedSite(node);
  const { host } = new URL(node.url);
  expect((await get(node, "/node/console/")).status).toBe(200);
  const odd: string[] = [];
  for (const prefix of [
    "/node/console/",
    "/node/console/assets/",
    "/node/console",
    "/node/console/assets/%2e%2e/",
  ]) {
    const paths = targets(node).flatMap((target) => disguises.map((disguise) => prefix + disguise(target)));
    for (let at = 0; at < paths.length; at += 100) {
      await Promise.all(
        paths.slice(at, at + 100).map(async (path) => {
          const answer = await sendRaw(
            node.url,
            `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
          );
          const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";
          if (secrets.test(answer) || !/^(301|400|404|414|431|505)$/.test(status))
            odd.push(`${path}: ${answer.slice(0, 200)}`);
        }),
      );
    }
  }
  expect(odd).toEqual([]);
});

test("the console can be turned off and on while the server runs", async () => {
  await using node = await testNode({ top: "console = false\n" });
  const link = '<a href="node/console/">';
  const paths = [
    "/node/console",
    "/node/console/",
    "/node/console/remember",
    "/node/console/resume",
    "/node/console/assets/x.js",
  ];
  const statuses = () => Promise.all(paths.map(async (path) => (await get(node, path)).status));
  expect(await statuses()).toEqual([404, 404, 404, 404, 404]);
  expect(await (await get(node, "/")).text()).not.toContain(link);
  await setConsole(node, true);
  expect(await statuses()).toEqual([301, 200, 405, 303, 404]);
  expect(await (await get(node, "/")).text()).toContain(link);
  await setConsole(node, false);
  expect(await statuses()).toEqual([404, 404, 404, 404, 404]);
});

story("the compiled server serves the whole console, without its sources", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const files = await everyFile(server);
  expect(
    [...files.keys()].filter((name) => /^main-\w+\.js$|^style-\w+\.css$/.test(name)).length,
  ).toBeGreaterThanOrEqual(2);
  for (const [name, text] of files) expect([name, text.length > 0]).toEqual([name, true]);
});
