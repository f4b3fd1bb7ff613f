import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../support/certificate.ts";
import { Wire } from "../support/hostile.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  eachDatabase,
  eachStore,
  type StoreOptions,
  type TestNode,
  tempFolder,
  testNode,
} from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedFiles } from "../support/stored-site.ts";
import { test } from "../support/test.ts";
import { basic, inSite } from "../webdav/auth-requests.ts";

const sharedNode = sharedNodes();
/** What another server has changed is in effect after this time. */
const maxAgeMs = 1000;

const ask = (node: TestNode, host: string, path: string, init: RequestInit = {}) =>
  fetch(`${node.url}${path}`, {
    redirect: "manual",
    ...init,
    headers: { "accept-encoding": "identity", ...init.headers, host },
  });
/** What is seen at a path of a host: the text, or the status. */
const seen = async (node: TestNode, host: string, path: string, init?: RequestInit) => {
  const answer = await ask(node, host, path, init);
  return answer.status === 200 ? answer.text() : answer.status;
};

/** Buckets `docs` with a host name, `shop` with two, and `main`, which is the HTTP root. Each has a page that names it. */
async function hostedSites(store: StoreOptions) {
  const node = await sharedNode(store);
  const token = node.superToken;
  const settings = {
    docs: { hosts: ["Docs.Example.org"] },
    shop: { hosts: ["shop.example.org", "www.shop.example.org"] },
    main: { is_http_root: true },
  };
  for (const [name, more] of Object.entries(settings)) {
    await node.call("static-bucket_create", { token, name, ...more });
    await storedFiles(node, name).write({
      "index.html": `page of ${name}`,
      "a.txt": `text of ${name}`,
      "folder/index.html": `folder of ${name}`,
      jsonrpc: "no answer",
      "node/console/index.html": "no console",
      "sw.js": "self.skipWaiting()",
    });
  }
  await Bun.sleep(node.store === "disk" ? 120 : 0);
  return {
    node,
    update: (name: string, more: object) => node.call("static-bucket_update", { token, name, ...more }),
    /** Host names and the HTTP root are free for the next story. */
    async [Symbol.asyncDispose]() {
      const left = (await node.call("static-bucket_list", { token })) as string[];
      for (const name of left) await node.call("static-bucket_delete", { token, name });
      await node[Symbol.asyncDispose]();
    },
  };
}

eachStore("a host name shows its bucket at its root, every other one the HTTP root", async (store) => {
  await using sites = await hostedSites(store);
  const { node } = sites;
  const hosts = {
    docs: ["docs.example.org", "DOCS.example.org:8443", "docs.example.org."],
    shop: ["shop.example.org", "www.shop.example.org:80"],
    main: [
      "localhost",
      "127.0.0.1:2211",
      "[::1]:80",
      "example.org",
      "x.docs.example.org",
      "docs.example.org.evil.org",
    ],
  };
  for (let at = 0; at < 3; at += 1)
    for (const [bucket, names] of Object.entries(hosts))
      for (const host of names) {
        expect([host, await seen(node, host, "/")]).toEqual([host, `page of ${bucket}`]);
        expect([host, await seen(node, host, "/a.txt")]).toEqual([host, `text of ${bucket}`]);
        expect([host, await seen(node, host, "/%61.txt?x")]).toEqual([host, `text of ${bucket}`]);
        expect([host, await seen(node, host, "/missing")]).toEqual([host, 404]);
        expect([host, (await ask(node, host, "/folder")).headers.get("location")]).toEqual([
          host,
          "/folder/",
        ]);
        expect([
          host,
          await seen(node, host, "/a.txt", { headers: { "cache-control": "no-cache" } }),
        ]).toEqual([host, `text of ${bucket}`]);
      }
});

const headers = { "content-type": "application/json" };
const call = { method: "POST", headers, body: '{"jsonrpc":"2.0","method":"node-server_hello","id":1}' };
const handshake = {
  headers: {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  },
};

eachStore("health, metrics, WebDAV and OPTIONS are the same at every host name", async (store) => {
  await using sites = await hostedSites(store);
  const { node } = sites;
  for (const host of ["docs.example.org", "localhost"]) {
    expect(await seen(node, host, "/node/health")).toContain("ok");
    expect(await seen(node, host, "/node/metrics")).toBe(401);
    expect(await seen(node, host, "/node/nothing")).toBe(404);
    expect(await seen(node, host, "/terminal")).toBe(426);
    expect((await ask(node, host, "/", { method: "OPTIONS" })).headers.get("dav")).toBe("1, 2, 3");
    expect((await ask(node, host, "/node/static-webdav/shop/a.txt")).status).toBe(401);
  }
});

eachStore("the console and JSON-RPC answer everywhere but at host names of buckets", async (store) => {
  await using sites = await hostedSites(store);
  const { node, update } = sites;
  const pages = ["/node/console", "/node/console/", "/node/console/assets/x.js", "/node/console/resume"];
  const misdirected = async (host: string) => {
    for (const path of ["/jsonrpc", "/node/rpc", "/"]) {
      const answer = await ask(node, host, path, call);
      expect([path, answer.status, await answer.json()]).toEqual([
        path,
        421,
        { jsonrpc: "2.0", error: expect.objectContaining({ code: -32600 }), id: null },
      ]);
      expect([path, (await ask(node, host, path, handshake)).status]).toEqual([path, 421]);
    }
    for (const path of pages)
      for (const method of ["GET", "HEAD", "POST"])
        expect([path, (await ask(node, host, path, { method })).status]).toEqual([path, 421]);
    expect((await ask(node, host, "/node/console/remember", { method: "POST" })).status).toBe(421);
  };
  const answered = async (host: string) => {
    for (const path of ["/jsonrpc", "/node/rpc", "/"]) {
      expect([path, await seen(node, host, path, call)]).toEqual([path, expect.stringContaining('"result"')]);
      using wire = await Wire.open(node.url);
      const lines = Object.entries(handshake.headers).map(([name, value]) => `${name}: ${value}`);
      wire.write([`GET ${path} HTTP/1.1`, `Host: ${host}`, ...lines, "\r\n"].join("\r\n"));
      await wire.hears(/^HTTP\/1\.1 101 /);
    }
    expect(await seen(node, host, "/node/console/")).toContain("<!doctype html>");
  };
  for (const host of ["docs.example.org", "DOCS.example.org.:8443"]) await misdirected(host);
  for (const host of ["localhost", "127.0.0.1", "x.docs.example.org"]) await answered(host);
  // A bucket that is off keeps its host name.
  await update("docs", { enable: false });
  await misdirected("docs.example.org");
  await update("docs", { hosts: [] });
  await answered("docs.example.org");
});

eachDatabase(
  "the console and JSON-RPC leave a host name that another server gives to a bucket",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    await node.call("static-bucket_create", { token: node.superToken, name: "docs" });
    await node.sql(`UPDATE static_file SET hosts = '["docs.example.org"]' WHERE name = 'docs'`);
    for (const [path, init] of [["/node/console/"], ["/jsonrpc", call]] as const)
      await clock.until(
        `the host name is known at ${path}`,
        maxAgeMs,
        async () => (await ask(node, "docs.example.org", path, init)).status === 421,
      );
  },
);

/** What Host headers a client may write that are all one of the server's own names, or none of them. */
const ownHosts = [
  "node.example.org",
  "NODE.example.ORG.:8443",
  "n1.internal:2211",
  "127.0.0.1",
  "10.1.2.3:443",
  "[::1]:2211",
  "[fe80::1]",
  "localhost:1",
  "a.localhost",
];
const otherHosts = [
  "docs.example.org",
  "DOCS.example.org.:8443",
  "unknown.example.org",
  "node.example.org.evil.org",
  "x.node.example.org",
  "node.example.org..",
  "127.0.0.1.evil.org",
  "localhost.evil.org",
  "my_host",
  "%6eode.example.org",
];
/** The heads of requests that name two hosts, each refused or answered as one for `node.example.org` alone. */
const forged = [
  "GET /node/console/ HTTP/1.1\r\nHost: docs.example.org\r\nHost: node.example.org\r\n",
  "GET /node/console/ HTTP/1.1\r\nHost: docs.example.org, node.example.org\r\n",
  "GET http://node.example.org/node/console/ HTTP/1.1\r\nHost: docs.example.org\r\n",
  "GET /node/console/ HTTP/1.1\r\nHost: docs.example.org\r\nX-Forwarded-Host: node.example.org\r\n",
  "GET /node/console/ HTTP/1.1\r\nHost: docs.example.org\r\nForwarded: host=node.example.org\r\n",
  "GET /node/console/ HTTP/1.1\r\nHost: docs.example.org/@node.example.org\r\n",
  "GET /node/console/ HTTP/1.1\r\nHost: node.example.org@docs.example.org\r\n",
  "GET /node/console/ HTTP/1.0\r\nHost: docs.example.org\r\n",
];

const named = '[tls]\nserver_name = "Node.example.org"\n';

test("with server_name, the console and JSON-RPC answer at the server's own names and addresses alone", async () => {
  await using node = await testNode({ top: `node_url = "http://n1.internal:2211"\n${named}` });
  const token = node.superToken;
  await node.call("static-bucket_create", { token, name: "docs", hosts: ["docs.example.org"] });
  const paths = ["/jsonrpc", "/node/rpc", "/"];
  const statusOf = async (host: string, path: string, init?: RequestInit) =>
    (await ask(node, host, path, init)).status;
  for (const host of ownHosts) {
    for (const path of paths)
      expect([host, path, await statusOf(host, path, call)]).toEqual([host, path, 200]);
    expect([host, await statusOf(host, "/node/console/")]).toEqual([host, 200]);
  }
  for (const host of otherHosts) {
    for (const path of paths) {
      expect([host, path, await statusOf(host, path, call)]).toEqual([host, path, 421]);
      expect([host, path, await statusOf(host, path, handshake)]).toEqual([host, path, 421]);
    }
    for (const path of ["/node/console", "/node/console/", "/node/console/remember"])
      expect([host, await statusOf(host, path)]).toEqual([host, 421]);
    // Over plain http a proxy may have any name: files, WebDAV and health stay as they are.
    expect(await statusOf(host, "/node/health")).toBe(200);
    expect(await statusOf(host, "/node/static-webdav/docs/")).toBe(401);
  }
  for (const head of forged) {
    using wire = await Wire.open(node.url);
    wire.write(`${head}Connection: close\r\n\r\n`);
    await wire.hears(/\r\n\r\n/);
    expect([head, wire.heard.slice(9, 12)]).toEqual([head, expect.stringMatching(/^4(?:00|21)$/)]);
  }
  using old = await Wire.open(node.url);
  old.write("GET /node/console/ HTTP/1.0\r\n\r\n");
  await old.hears(/^HTTP\/1\.[01] 200 /);
});

test("a bucket cannot take the server's own name, and a reload changes that name", async () => {
  await using node = await testNode({ top: named });
  const token = node.superToken;
  const taking = { token, name: "docs", hosts: ["NODE.example.org"] };
  expect((await node.refused("static-bucket_create", taking)).data).toMatchObject({ field: "hosts" });
  await node.call("static-bucket_create", { token, name: "docs" });
  expect((await node.refused("static-bucket_update", taking)).data).toMatchObject({ field: "hosts" });
  const text = await readFile(node.configPath, "utf8");
  await node.editConfig(text.replace("Node.example.org", "other.example.org"));
  expect((await ask(node, "node.example.org", "/jsonrpc", call)).status).toBe(421);
  expect((await ask(node, "other.example.org", "/jsonrpc", call)).status).toBe(200);
  await node.call("static-bucket_update", taking);
});

test("a bucket cannot take a name that is for S3", async () => {
  await using node = await testNode({ env: { NODE_SERVER_S3_HOST: "s3.example.org" } });
  const token = node.superToken;
  for (const host of ["s3.example.org", "Docs.S3.example.org"]) {
    const refused = await node.refused("static-bucket_create", { token, name: "docs", hosts: [host] });
    expect(refused.data).toMatchObject({ field: "hosts" });
  }
  await node.call("static-bucket_create", { token, name: "docs", hosts: ["docs-s3.example.org"] });
});

test("over TLS nothing but health is served at a name that neither the server nor a bucket has", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node"))) return;
  const at = (name: string) => JSON.stringify(join(folder.path, name));
  const top = `tls_cert = ${at("cert.pem")}\ntls_key = ${at("key.pem")}\n`;
  await using node = await testNode({ top });
  const trusting = { tls: { rejectUnauthorized: false } } as RequestInit;
  const status = async (host: string, path: string, init: RequestInit = {}) =>
    (await ask(node, host, path, { ...trusting, ...init })).status;
  const token = node.superToken;
  const rpc = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    expect(await status("127.0.0.1", "/jsonrpc", { method: "POST", headers, body })).toBe(200);
  };
  await rpc("static-bucket_create", { token, name: "docs", hosts: ["docs.example.org"] });
  await rpc("static-bucket_create", { token, name: "main", is_http_root: true });
  for (const name of ["docs", "main"])
    await rpc("static-bucket-file_upload", { token, name, path: "a.txt", body: "text" });
  const anywhere = ["/a.txt", "/node/static/main/a.txt"];
  // Several times, so that the file is answered from memory, too.
  const all = async (host: string, expected: number) => {
    for (let round = 0; round < 3; round += 1)
      for (const path of anywhere)
        expect([host, path, await status(host, path)]).toEqual([host, path, expected]);
  };
  await Bun.sleep(120);
  await all("unknown.example.org", 200);
  await writeFile(
    node.configPath,
    (await readFile(node.configPath, "utf8")).replace("[logging]", `${named}[logging]`),
  );
  expect(await node.node.reload()).toBe("applied");
  await all("unknown.example.org", 421);
  await all("node.example.org", 200);
  await all("127.0.0.1", 200);
  expect(await status("docs.example.org", "/a.txt")).toBe(200);
  for (const path of [
    "/node/static-webdav/docs/",
    "/node/link/x/docs/a.txt",
    "/node/preview/x/docs@1/",
    "/nothing",
  ])
    expect([path, await status("unknown.example.org", path)]).toEqual([path, 421]);
  expect(await status("docs.example.org", "/node/console/")).toBe(421);
  expect(await status("docs.example.org", "/jsonrpc", call)).toBe(421);
  expect(await status("unknown.example.org", "/jsonrpc", handshake)).toBe(421);
  for (const path of ["/node/health", "/node/ready"])
    expect(await status("unknown.example.org", path)).toBe(200);
  expect(await status("unknown.example.org", "/node/metrics")).toBe(401);
});

eachStore(
  "a site at a host name may have a service worker in its top folder, one at the HTTP root not",
  async (store) => {
    await using sites = await hostedSites(store);
    const { node } = sites;
    const script = { headers: { "service-worker": "script", "sec-fetch-dest": "serviceworker" } };
    for (let at = 0; at < 3; at += 1) {
      expect(await seen(node, "docs.example.org", "/sw.js", script)).toBe("self.skipWaiting()");
      expect(await seen(node, "localhost", "/sw.js", script)).toBe(403);
      for (const host of ["docs.example.org", "localhost"])
        expect(await seen(node, host, "/sw.js")).toBe("self.skipWaiting()");
    }
  },
);

eachStore("at a host name of one bucket no other bucket has pages", async (store) => {
  await using sites = await hostedSites(store);
  const { node } = sites;
  const paths = [
    "/node/static/shop/",
    "/node/static/shop/a.txt",
    "/node/static/shop",
    "/node/static/nothing/x",
  ];
  for (let at = 0; at < 3; at += 1) {
    for (const path of paths) {
      for (const method of ["GET", "HEAD", "OPTIONS", "PUT"])
        expect([path, (await ask(node, "docs.example.org", path, { method })).status]).toEqual([path, 421]);
      await ask(node, "localhost", path);
    }
    expect(await seen(node, "docs.example.org", "/node/static/docs/a.txt")).toBe("text of docs");
    expect(await seen(node, "localhost", "/node/static/docs/a.txt")).toBe("text of docs");
    expect(await seen(node, "localhost", "/node/static/shop/a.txt")).toBe("text of shop");
  }
});

eachStore("a change of host names is seen by the next request, also of pages in memory", async (store) => {
  await using sites = await hostedSites(store);
  const { node, update } = sites;
  const host = "docs.example.org";
  const hot = async (expected: string | number) => {
    for (let at = 0; at < 4; at += 1) expect(await seen(node, host, "/a.txt")).toBe(expected);
  };
  await hot("text of docs");
  await update("docs", { hosts: [] });
  await hot("text of main");
  await update("shop", { hosts: [host] });
  await hot("text of shop");
  expect(await seen(node, "shop.example.org", "/a.txt")).toBe("text of main");
  expect(
    await node.refused("static-bucket_update", { token: node.superToken, name: "docs", hosts: [host] }),
  ).toMatchObject({
    data: { field: "hosts" },
  });
  // A bucket that is off does not give its host name to the HTTP root.
  await update("shop", { enable: false });
  await hot(404);
  expect(await seen(node, host, "/")).toBe(404);
  await update("shop", { enable: true, hosts: [] });
  await update("docs", { hosts: [host] });
  await hot("text of docs");
  await node.call("static-bucket_delete", { token: node.superToken, name: "docs" });
  await hot("text of main");
});

eachStore(
  "a private bucket may ask browsers for a password at its own host name, for its own pages",
  async (store) => {
    await using sites = await hostedSites(store);
    const { node, update } = sites;
    const reader = await node.newToken(inSite(["read"], "docs"));
    await update("docs", { public: false });
    const agent = { "user-agent": "Mozilla/5.0 Chrome/140.0.0.0 Safari/537.36" };
    const fetched = (site: string, mode: string, dest: string) => ({
      ...agent,
      "sec-fetch-site": site,
      "sec-fetch-mode": mode,
      "sec-fetch-dest": dest,
    });
    const challengeOf = async (host: string, headers: Record<string, string>, path = "/a.txt") => {
      const { status, headers: answered } = await ask(node, host, path, { headers });
      return [status, answered.get("www-authenticate")?.split(" ")[0], answered.get("cache-control")];
    };
    const keptBy = (headers: Record<string, string>) => ({ ...headers, authorization: basic(reader) });
    for (const own of [
      fetched("none", "navigate", "document"),
      fetched("cross-site", "navigate", "document"),
      fetched("same-origin", "no-cors", "image"),
      fetched("same-origin", "cors", "empty"),
      agent,
    ]) {
      for (const path of ["/a.txt", "/missing", "/node/static/docs/a.txt"])
        expect(await challengeOf("docs.example.org", own, path)).toEqual([401, "Basic", "private, no-cache"]);
      expect(await seen(node, "docs.example.org", "/a.txt", { headers: keptBy(own) })).toBe("text of docs");
      // At the server's own address pages of all buckets are of one origin.
      expect(await challengeOf("localhost", keptBy(own), "/node/static/docs/a.txt")).toEqual([
        401,
        "Bearer",
        "private, no-store",
      ]);
      const [status] = await challengeOf("docs.example.org", keptBy(own), "/node/static-webdav/docs/a.txt");
      expect(status).toBe(401);
    }
    // Other sites must not embed what the browser's credentials open.
    for (const embedded of [
      fetched("cross-site", "no-cors", "script"),
      fetched("same-site", "no-cors", "image"),
      fetched("cross-site", "navigate", "iframe"),
    ]) {
      expect(await challengeOf("docs.example.org", embedded)).toEqual([401, "Bearer", "private, no-cache"]);
      expect(await challengeOf("docs.example.org", keptBy(embedded))).toEqual([
        401,
        "Bearer",
        "private, no-cache",
      ]);
    }
  },
);

eachDatabase(
  "host names are given by who may write all buckets, not by who may write one",
  async (database) => {
    await using node = await testNode({ database });
    const permissions = [{ static_bucket: "write" }];
    const one = await node.newToken([{ scopes: [{ static_bucket: "mine" }], permissions }]);
    const all = await node.newToken([{ scopes: ["global"], permissions }]);
    const refused = await node.refused("static-bucket_create", {
      token: one,
      name: "mine",
      hosts: ["example.org"],
    });
    expect(refused.data).toMatchObject({ permissions: [{ static_bucket: "write" }], scope: "global" });
    await node.call("static-bucket_create", { token: one, name: "mine", public: false });
    for (const hosts of [["example.org"], []])
      expect((await node.refused("static-bucket_update", { token: one, name: "mine", hosts })).code).toBe(
        102,
      );
    expect(
      await node.call("static-bucket_update", { token: all, name: "mine", hosts: ["example.org"] }),
    ).toMatchObject({
      hosts: ["example.org"],
    });
    await node.call("static-bucket_update", { token: one, name: "mine", cors: true });
    for (const wrong of ["", "a b", "127.0.0.1", "x:80", "*.example.org", "http://x", "-a.org", "localhost"])
      expect(
        (await node.refused("static-bucket_update", { token: all, name: "mine", hosts: [wrong] })).data,
      ).toMatchObject({
        field: "hosts",
      });
  },
);

eachDatabase(
  "what another server changes about access and host names is in effect within its second",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    const token = node.superToken;
    await node.call("static-bucket_create", { token, name: "docs" });
    await storedFiles(node, "docs").write({ "a.txt": "text of docs" });
    expect(await seen(node, "docs.example.org", "/a.txt")).toBe(404);
    expect(await seen(node, "localhost", "/node/static/docs/a.txt")).toBe("text of docs");
    await node.sql(`UPDATE static_file SET hosts = '["docs.example.org"]' WHERE name = 'docs'`);
    await clock.until(
      "the host name is known",
      maxAgeMs,
      async () => (await seen(node, "docs.example.org", "/a.txt")) === "text of docs",
    );
    await node.sql("UPDATE static_file SET public = false WHERE name = 'docs'");
    await clock.until(
      "the bucket is private",
      maxAgeMs,
      async () => (await seen(node, "docs.example.org", "/a.txt")) === 401,
    );
    expect(await seen(node, "localhost", "/node/static/docs/a.txt")).toBe(401);
    // A row that is not of this server's making gives no host name.
    await node.sql(`UPDATE static_file SET hosts = '{"a": 1}', public = true WHERE name = 'docs'`);
    await clock.until(
      "the host name is gone",
      maxAgeMs,
      async () => (await seen(node, "docs.example.org", "/a.txt")) === 404,
    );
  },
);
