import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachDatabase, eachStore, type StoreOptions, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { basic, inSite } from "../webdav/auth-requests.ts";

const sharedNode = sharedNodes();

const page = "<!doctype html><title>private words</title>".padEnd(900, " ");
const files = {
  "index.html": page,
  "a.txt": "private words",
  "folder/index.html": page,
  "404.html": "<title>there is no such page</title>",
};
/** Paths of files and folders that exist, of some that do not, and of none. */
const paths = [
  "",
  "/",
  "/a.txt",
  "/missing.txt",
  "/folder",
  "/folder/",
  "/a.txt/",
  "/%zz",
  "/..%2fx",
  "/404.html",
];
const chrome =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
/** What Chromium sends when its user opens an address, and for the `fetch` of a page of the same origin. */
const browsers = {
  address: {
    "user-agent": chrome,
    "sec-fetch-site": "none",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  },
  fetch: {
    "user-agent": chrome,
    "sec-fetch-site": "same-origin",
    "sec-fetch-mode": "cors",
    "sec-fetch-dest": "empty",
  },
  "plain http": { "user-agent": chrome },
};
const basicChallenge = 'Basic realm="Node Static Files", charset="UTF-8"';
const bearerChallenge = 'Bearer realm="Node Static Files"';

/** The story's bucket, which is private, and a token that may read it. */
async function privateSite(store: StoreOptions) {
  const node = await sharedNode(store);
  return siteOn(node);
}

async function siteOn(node: TestNode, more: Record<string, unknown> = {}) {
  const site = await siteWith(node, files, { public: false, ...more });
  return {
    ...site,
    node,
    reader: await node.newToken(inSite(["read"], node.bucket)),
    update: (settings: object) =>
      node.call("static-bucket_update", { token: node.superToken, name: node.bucket, ...settings }),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

/** An answer without what differs between any two. */
async function seen(response: Response) {
  const { date: _, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

eachStore("a stranger cannot tell what a private bucket contains", async (store) => {
  await using site = await privateSite(store);
  // Files that are in memory are no exception.
  await site.settled();
  for (let at = 0; at < 3; at += 1)
    expect((await site.get("/a.txt", { authorization: `Bearer ${site.reader}` })).status).toBe(200);
  for (const headers of [
    {},
    ...Object.values(browsers),
    { range: "bytes=0-1" },
    { "cache-control": "no-cache" },
  ])
    for (const method of ["GET", "HEAD"]) {
      const [first, ...others] = await Promise.all(
        paths.map(async (path) => seen(await site.get(path, headers, method))),
      );
      expect(first).toMatchObject({
        status: 401,
        headers: {
          "cache-control": expect.stringMatching(/^private, no-(?:cache|store)$/),
          vary: "authorization",
        },
      });
      for (const other of others) expect(other).toEqual(first as typeof other);
    }
  for (const wrong of ["Basic eDp5", "Bearer abc", "Bearer aaaaaaaaaaaaaaaa:bbbb", "Negotiate x", ""])
    for (const path of ["/a.txt", "/missing.txt"])
      expect([wrong, (await site.get(path, { authorization: wrong })).status]).toEqual([wrong, 401]);
  expect((await site.get("/a.txt", {}, "PUT")).status).toBe(405);
});

eachStore(
  "a token that may read the bucket reads its files, by Basic and Bearer, and no other does",
  async (store) => {
    await using site = await privateSite(store);
    const { node } = site;
    const status = async (authorization: string, path = "/a.txt") =>
      (await site.get(path, { authorization })).status;
    const ann = node.own("ann");
    await node.call("token_create", {
      father_token: node.superToken,
      token_creation: {
        username: ann,
        password: "a long password",
        token_limit: inSite(["read"], node.bucket),
      },
    });
    for (const right of [
      `Bearer ${site.reader}`,
      basic(site.reader),
      basic(`${ann}:a long password`),
      `Bearer ${encodeURIComponent(`${ann}|a long password`)}`,
      basic(node.superToken),
    ]) {
      expect([right, await status(right)]).toEqual([right, 200]);
      expect([right, await status(right, "/missing.txt")]).toEqual([right, 404]);
      expect([right, await status(right, "/folder")]).toEqual([right, 301]);
    }
    for (const limits of [inSite(["write", "delete", "list"], node.bucket), inSite(["read"], "other")]) {
      const other = await node.newToken(limits);
      for (const path of ["/a.txt", "/missing.txt"]) {
        const refused = await site.get(path, { authorization: basic(other) });
        expect([refused.status, refused.headers.get("x-error-reason")]).toEqual([403, "missing_permission"]);
      }
    }
    const expired = await node.newToken(inSite(["read"], node.bucket), { timestamp_to: 1 });
    expect(await status(basic(expired))).toBe(401);
    // A token that has ended opens nothing, whatever is in memory.
    await node.call("token_delete", { token: node.superToken, target_token: site.reader.split(":")[0] });
    expect(await status(basic(site.reader))).toBe(401);
  },
);

eachStore(
  "answers of a private bucket are for their client alone, from the store and from memory",
  async (store) => {
    await using site = await privateSite(store);
    await site.settled();
    const authorization = basic(site.reader);
    for (let at = 0; at < 4; at += 1) {
      const whole = await site.get("/a.txt", { authorization });
      expect(Object.fromEntries(whole.headers)).toMatchObject({
        "cache-control": "private, no-cache",
        vary: expect.stringMatching(/^(?:accept-encoding, )?authorization$/),
        "cross-origin-resource-policy": "same-origin",
      });
      expect(await whole.text()).toBe("private words");
      const etag = whole.headers.get("etag") ?? "";
      const same = await site.get("/a.txt", { authorization, "if-none-match": etag });
      expect([same.status, same.headers.get("cache-control")]).toEqual([304, "private, no-cache"]);
      const part = await site.get("/a.txt", { authorization, range: "bytes=0-6" });
      expect([part.status, await part.text()]).toEqual([206, "private"]);
      const missing = await site.get("/missing.txt", { authorization });
      expect([missing.status, missing.headers.get("cache-control")]).toEqual([404, "private, no-cache"]);
    }
    // Pages of other buckets share the browser's cache.
    const page = await site.get("/a.txt", { ...browsers.fetch, authorization: `Bearer ${site.reader}` });
    expect([page.status, page.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
  },
);

eachStore(
  "a bucket that becomes private is so for the next request, and one that becomes public too",
  async (store) => {
    await using site = await privateSite(store);
    await site.settled();
    for (const isPublic of [true, false, true, false]) {
      await site.update({ public: isPublic });
      for (let at = 0; at < 4; at += 1)
        for (const path of ["/a.txt", "/"]) {
          const answer = await site.get(path);
          expect([path, isPublic, answer.status]).toEqual([path, isPublic, isPublic ? 200 : 401]);
          if (isPublic) expect(answer.headers.get("cache-control")).not.toContain("private");
        }
    }
    expect(
      await site.node.call("static-bucket_read", { token: site.node.superToken, name: site.node.bucket }),
    ).toMatchObject({
      public: false,
    });
  },
);

eachStore("a browser is not asked for a password that pages of other buckets could use", async (store) => {
  await using site = await privateSite(store);
  for (const [kind, headers] of Object.entries(browsers)) {
    const asked = await site.get("/a.txt", headers);
    expect([kind, asked.status, asked.headers.get("www-authenticate")]).toEqual([kind, 401, bearerChallenge]);
    expect(await asked.text()).toContain("/node/console/");
    // Basic credentials may be those that the browser keeps; Bearer ones are the page's own.
    const kept = await site.get("/a.txt", { ...headers, authorization: basic(site.reader) });
    expect([kind, kept.status, kept.headers.get("www-authenticate")]).toEqual([kind, 401, bearerChallenge]);
    const own = await site.get("/a.txt", { ...headers, authorization: `Bearer ${site.reader}` });
    expect([kind, own.status, await own.text()]).toEqual([kind, 200, "private words"]);
  }
  const program = await site.get("/a.txt", { "user-agent": "curl/8.5.0" });
  expect(program.headers.get("www-authenticate")).toBe(basicChallenge);
});

eachStore(
  "CORS preflights of a private bucket need no credentials, and its refusals can be read",
  async (store) => {
    await using site = await privateSite(store);
    const preflight = { origin: "https://elsewhere.example", "access-control-request-method": "GET" };
    expect((await site.get("/a.txt", preflight, "OPTIONS")).status).toBe(204);
    await site.update({ cors: true });
    const answered = await site.get("/a.txt", preflight, "OPTIONS");
    expect([answered.status, answered.headers.get("access-control-allow-headers")]).toEqual([204, "*"]);
    const cross = {
      origin: "https://elsewhere.example",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "cors",
    };
    for (const [headers, status] of [
      [cross, 401],
      [{ ...cross, authorization: `Bearer ${site.reader}` }, 200],
    ] as const) {
      const answer = await site.get("/a.txt", headers);
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([status, "*"]);
      expect(answer.headers.has("cross-origin-resource-policy")).toBe(false);
    }
  },
);

eachStore(
  "a private HTTP root asks at the root as well; a bucket that is off is not there",
  async (store) => {
    await using node = await testNode(store);
    const site = await siteOn(node, { is_http_root: true });
    const authorization = basic(site.reader);
    for (const path of ["/", "/a.txt", "/missing.txt", "/folder"]) {
      const refused = await fetch(`${node.url}${path}`, { redirect: "manual" });
      expect([path, refused.status, refused.headers.get("www-authenticate")]).toEqual([
        path,
        401,
        basicChallenge,
      ]);
    }
    expect(await (await fetch(`${node.url}/a.txt`, { headers: { authorization } })).text()).toBe(
      "private words",
    );
    expect((await fetch(`${node.url}/`, { method: "OPTIONS" })).status).toBe(204);
    expect((await fetch(`${node.url}/node/health`)).status).toBe(200);
    expect(await node.call("node-server_hello")).toBeDefined();
    await site.update({ enable: false });
    for (const path of ["/a.txt", "/missing.txt"])
      for (const headers of [{}, { authorization }]) expect((await site.get(path, headers)).status).toBe(404);
    expect(await (await fetch(`${node.url}/`)).text()).toContain("Node Server Is Running!");
  },
);

eachDatabase(
  "a bucket cannot be private while a node runs that would serve it to anybody",
  async (database) => {
    await using node = await testNode({ database });
    const token = node.superToken;
    const effect = async () => {
      const sql = "SELECT value FROM kv WHERE namespace = 'migrations' AND key LIKE 'm20261117_000001%'";
      const found = await node.call("node-server_exec_sql", { token, sql });
      return JSON.stringify(found).includes("contracts") ? "contracts" : "expands";
    };
    const row = {
      name: "old-node",
      version: "0.1.0",
      at: Date.now(),
      schema: "m20261116_000002_token_name_and_times",
    };
    const key = "5d2f0f3e-8f0e-4f0e-9d59-0c8c7a3d8a11/5d2f0f3e-8f0e-4f0e-9d59-0c8c7a3d8a12";
    await node.sql(
      `INSERT INTO kv (namespace, key, value) VALUES ('nodes', '${key}', '${JSON.stringify(row)}')`,
    );
    await node.call("static-bucket_create", { token, name: "site" });
    for (const [method, name] of [
      ["create", "other"],
      ["update", "site"],
    ] as const) {
      const refused = await node.refused(`static-bucket_${method}`, { token, name, public: false });
      expect(refused.data).toMatchObject({
        field: "public",
        reason: "older_nodes",
        nodes: ["old-node (0.1.0)"],
      });
      expect(refused.message).toContain("old-node (0.1.0)");
    }
    expect(await effect()).toBe("expands");
    await node.sql(`DELETE FROM kv WHERE namespace = 'nodes' AND key = '${key}'`);
    // From then on an older version refuses to start, until no bucket is private.
    await node.call("static-bucket_update", { token, name: "site", public: false });
    await node.call("static-bucket_create", { token, name: "other", public: false });
    expect(await effect()).toBe("contracts");
    await node.call("static-bucket_update", { token, name: "site", public: true });
    expect(await effect()).toBe("contracts");
    await node.call("static-bucket_delete", { token, name: "other" });
    expect(await effect()).toBe("expands");
  },
);
