import { describe, expect } from "bun:test";
import { deploySite } from "../support/deploys.ts";
import { eachStore, type StoreOptions, type TestNode, testNode } from "../support/node.ts";

type Headers = Readonly<Record<string, string>>;

const host = "site.example";
const navigation = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const ended = /^node_server_preview\S*=; Path=\/; Max-Age=0; /;

/** What a browser and other clients see of a bucket at the root of `host`, and of a deploy that is being prepared. */
async function previewed(store: StoreOptions, settings: object = {}) {
  const node = await testNode(store);
  const site = await deploySite(node);
  const update = (more: object) =>
    node.call("static-bucket_update", { token: node.superToken, name: "site", ...more });
  await update({ hosts: [host], ...settings });
  const get = (path: string, headers: Headers = {}, method = "GET") =>
    fetch(node.url + path, { method, headers: { host, ...headers }, redirect: "manual" });
  return {
    node,
    site,
    update,
    get,
    /** Follows the address of a preview as a browser does. */
    async enter(deploy: string, { token = node.superToken, path = "", ...more }: EnterOptions = {}) {
      const address = await addressOf(node, { token, deploy, ...more });
      const response = await get(address + path, navigation);
      return { address, response, cookie: cookieIn(response) };
    },
    async text(path: string, headers: Headers = {}) {
      return (await get(path, headers)).text();
    },
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

interface EnterOptions {
  readonly token?: string;
  readonly path?: string;
  readonly expires_in?: number;
}

async function addressOf(node: TestNode, params: { readonly token: string; readonly deploy: string }) {
  const made = await node.call("static-bucket_deploy_preview", { name: "site", ...params });
  return (made as { readonly address: string }).address;
}

/** The cookie of a response, as a browser sends it back. */
function cookieIn({ headers }: Response): Headers {
  return { cookie: headers.get("set-cookie")?.split(";", 1)[0] ?? "" };
}

describe("a preview in a browser", () => {
  eachStore("is at the root of the bucket's host, and looks as the published site will", async (store) => {
    await using see = await previewed(store);
    const { site, get, text } = see;
    await site.write({ "index.html": "published", "old.html": "old", "app.js": "published script" });
    const { deploy } = await site.prepare({
      "index.html": "prepared",
      "app.js": "prepared script",
      "docs/index.html": "docs",
      "sw.js": "worker",
      "sub/sw.js": "worker",
      "404.html": "nothing here",
      _redirects: "/moved /docs/ 302\n/app/* /index.html 200\n",
      _headers: "/*\n  X-Version: prepared\n  Cache-Control: public, max-age=600\n",
    });
    // So often that it is in memory, by its address.
    for (let at = 0; at < 4; at += 1) expect(await text("/")).toBe("published");
    const published = await get("/");

    const { address, response, cookie } = await see.enter(deploy, { path: "docs/?q=1" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/docs/?q=1"]);
    expect(response.headers.get("set-cookie")).toMatch(
      new RegExp(
        `^node_server_preview=[\\w-]{42}/site@${deploy}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax$`,
      ),
    );
    expect(response.headers.get("cache-control")).toBe("private, no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");

    const page = await get("/", cookie);
    expect([page.status, await page.text()]).toEqual([200, "prepared"]);
    expect(page.headers.get("x-version")).toBe("prepared");
    expect(page.headers.get("cache-control")).toBe("private, no-store");
    expect(page.headers.get("x-robots-tag")).toBe("noindex, nofollow");
    expect(page.headers.get("vary")).toContain("cookie");
    expect(page.headers.get("set-cookie")).toBeNull();
    expect(await text("/app.js", cookie)).toBe("prepared script");
    expect(await text("/app/route", cookie)).toBe("prepared");
    expect((await get("/moved", cookie)).headers.get("location")).toBe("/docs/");
    expect((await get("/docs", cookie)).headers.get("location")).toBe("/docs/");
    const missing = await get("/old.html", cookie);
    expect([missing.status, await missing.text()]).toEqual([404, "nothing here"]);
    expect(missing.headers.get("cache-control")).toBe("private, no-store");
    const head = await get("/", cookie, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "8", ""]);
    const range = await get("/app.js", { ...cookie, range: "bytes=0-7" });
    expect([range.status, await range.text()]).toEqual([206, "prepared"]);

    // What the browser has of the published file is no answer.
    for (const known of [
      { "if-none-match": published.headers.get("etag") ?? "" },
      { "if-none-match": page.headers.get("etag") ?? "" },
      { "if-modified-since": new Date(Date.now() + 60_000).toUTCString() },
    ])
      expect((await get("/", { ...cookie, ...known })).status).toBe(200);

    // A worker would stay in the browser after the preview.
    for (const path of ["/sw.js", "/sub/sw.js"])
      expect((await get(path, { ...cookie, "service-worker": "script" })).status).toBe(403);
    expect(await text("/sub/sw.js", cookie)).toBe("worker");

    // Everybody else sees what is published, and so does this browser at addresses of the server.
    expect(await text("/")).toBe("published");
    expect(await text("/", { cookie: "theme=dark; other=1" })).toBe("published");
    expect(await text("/node/static/site/", cookie)).toBe("published");
    expect((await get("/node/health", cookie)).status).toBe(200);
    expect((await get("/", cookie, "POST")).headers.get("set-cookie")).toBeNull();

    // Programs, and what pages load, get the files at the address itself.
    for (const headers of [{}, { ...navigation, "sec-fetch-dest": "iframe" }, { accept: "text/html" }])
      expect([(await get(address, headers)).status, await text(address, headers)]).toEqual([200, "prepared"]);
    const browser = { "user-agent": "Mozilla/5.0 Firefox/130.0", accept: "text/html,*/*" };
    expect((await get(address, browser)).status).toBe(303);

    const left = await get("/node/preview/", cookie);
    expect([left.status, left.headers.get("location")]).toEqual([303, "/"]);
    expect(left.headers.get("set-cookie")).toMatch(ended);
  });

  eachStore("ends with its publication, its deploy, its link or its token", async (store) => {
    await using see = await previewed(store, { is_http_root: true, hosts: [] });
    const { node, site, get, text } = see;
    await site.write({ "index.html": "first" });
    const seesPublished = async (cookie: Headers, content: string) => {
      const page = await get("/", cookie);
      expect([page.status, await page.text()]).toEqual([200, content]);
      expect(page.headers.get("set-cookie")).toMatch(ended);
      expect(page.headers.get("cache-control")).toBe("private, no-store");
    };

    // Published, and also when another one is published after it.
    const second = (await site.prepare({ "index.html": "second" })).deploy;
    const { cookie, address } = await see.enter(second);
    expect(await text("/", cookie)).toBe("second");
    await site.publish(second);
    await seesPublished(cookie, "second");
    const published = await get(address, navigation);
    expect([published.status, published.headers.get("location")]).toEqual([303, "/"]);
    expect(published.headers.get("set-cookie")).toMatch(ended);
    await site.deploy({ "index.html": "third" });
    await seesPublished(cookie, "third");
    expect((await get(address, navigation)).status).toBe(410);

    // A former deploy can be looked at as well, before it is published again.
    const former = await see.enter(second);
    expect(await text("/", former.cookie)).toBe("second");
    await site.publish(second);
    await site.rollback();
    await seesPublished(former.cookie, "third");

    // Deleted; all links of the bucket revoked; the token deleted.
    const removed = (await site.prepare({ "index.html": "removed" })).deploy;
    const gone = await see.enter(removed);
    expect(await text("/", gone.cookie)).toBe("removed");
    await site.remove(removed);
    await seesPublished(gone.cookie, "third");
    const kept = (await site.prepare({ "index.html": "kept" })).deploy;
    const revoked = await see.enter(kept);
    await node.call("static-bucket_unlink", { token: node.superToken, name: "site" });
    await seesPublished(revoked.cookie, "third");
    const limits = [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }];
    const token = await node.newToken(limits);
    const owned = await see.enter(kept, { token, expires_in: 60 });
    const seconds = /Max-Age=(\d+)/.exec(owned.response.headers.get("set-cookie") ?? "")?.[1];
    expect(Number(seconds)).toBeLessThanOrEqual(60);
    expect(await text("/", owned.cookie)).toBe("kept");
    await node.call("token_delete", [node.superToken, token.split(":")[0]]);
    await seesPublished(owned.cookie, "third");

    // The bucket is not at this root any more.
    const last = await see.enter(kept);
    await see.update({ is_http_root: false });
    const placeholder = await get("/", last.cookie);
    expect(await placeholder.text()).not.toContain("kept");
    expect(placeholder.headers.get("set-cookie")).toMatch(ended);
    const direct = await get(last.address, navigation);
    expect([direct.status, await direct.text()]).toEqual([200, "kept"]);
  });

  eachStore("opens the deploy of a private bucket and nothing else, whatever is sent", async (store) => {
    await using see = await previewed(store, { public: false });
    const { node, site, get, text } = see;
    await site.write({ "index.html": "published" });
    await node.call("static-bucket_create", {
      token: node.superToken,
      name: "other",
      hosts: ["other.example"],
    });
    const { deploy } = await site.prepare({ "index.html": "prepared", "a b/c.html": "spaced" });
    const { cookie, address } = await see.enter(deploy);
    expect(await text("/", cookie)).toBe("prepared");
    expect(await text("/a%20b/c.html", cookie)).toBe("spaced");
    expect((await get("/", cookie)).headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect((await get("/")).status).toBe(401);

    const [name = "", value = ""] = cookie.cookie?.split("=") ?? [];
    const [code = "", target = ""] = value.split("/");
    for (const wrong of [
      `${code}/other@${deploy}`,
      `${code}/site@0000000000`,
      `${code.startsWith("A") ? "B" : "A"}${code.slice(1)}/${target}`,
      `${code.slice(0, -2)}AA/${target}`,
      `${value}/1`,
      `${value}/${"9".repeat(400)}`,
      `${code}/site%40${deploy}`,
      `${code}/../${target}`,
      `"${value}"`,
      `${value}=`,
      "x".repeat(4000),
      "/".repeat(4000),
      "",
    ]) {
      const page = await get("/", { cookie: `${name}=${wrong}` });
      expect([wrong.slice(0, 80), page.status]).toEqual([wrong.slice(0, 80), 401]);
      expect(page.headers.get("set-cookie")).toMatch(ended);
    }
    // A cookie of another name or port, and one that plain http, or another host of the domain, has set for https.
    for (const other of [`x${name}=${value}`, `${name}0=${value}`, `a=${name}=${value}`])
      expect((await get("/", { cookie: other })).status).toBe(401);
    const https = { "x-forwarded-proto": "https" };
    expect((await get("/", { ...cookie, ...https })).status).toBe(401);
    const secure = await get(address, { ...navigation, ...https });
    expect(secure.headers.get("set-cookie")).toMatch(/^__Host-node_server_preview=.*; Secure$/);
    expect(await text("/", { ...cookieIn(secure), ...https })).toBe("prepared");
    expect((await get("/", cookieIn(secure))).status).toBe(401);

    // At another host it shows nothing; a preview of the bucket is not opened there.
    expect((await get("/", { ...cookie, host: "other.example" })).status).toBe(404);
    expect((await get(address, { ...navigation, host: "other.example" })).status).toBe(421);
    const elsewhere = await get(address, { ...navigation, host: "unknown.example" });
    expect([elsewhere.status, elsewhere.headers.get("set-cookie")]).toEqual([200, null]);

    // No path leads to another host, or to an address of the server other than the preview's own.
    for (const path of ["/evil.example", "%2Fevil.example", "\\evil.example", "node/console/", "jsonrpc"]) {
      const response = await get(address + path, navigation);
      const location = response.headers.get("location");
      expect([
        path,
        location === null || new URL(location, node.url).host === new URL(node.url).host,
      ]).toEqual([path, true]);
      expect(location ?? "").not.toMatch(/^\/(?:node\/(?!preview\/)|jsonrpc)/);
    }
  });
});
