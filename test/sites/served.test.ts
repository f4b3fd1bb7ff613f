import { expect } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { deployClient } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const redirects = `
# comment
/old            /new.html             301
/blog/:year/:slug   /posts/:slug?from=:year   302
/docs/*         https://docs.example.org/:splat   308
/shadowed.html  /new.html             301
/forced.html    /new.html             301!
/app/*          /app/index.html       200
/hidden/*       /gone.html            404!
/wiki/*         /wiki/:splat.html     200
/loop/*         /loop/:splat          301
/rules          /_redirects           200
/_headers       /new.html             301!
`;

eachStore(
  "the rules of _redirects answer where no file is, at both addresses, and forced ones always",
  async (store) => {
    await using node = await testNode(store);
    const files = {
      _redirects: redirects,
      "new.html": "new",
      "shadowed.html": "a file",
      "forced.html": "never seen",
      "app/index.html": "the app",
      "app/real.txt": "real",
      "hidden/secret.txt": "secret",
      "gone.html": "gone",
      "wiki/a b.html": "wiki",
      "é.html": "unicode",
    };
    const { get } = await siteWith(node, files, { is_http_root: true });
    const atRoot = (path: string) => fetch(`${node.url}${path}`, { redirect: "manual" });
    const location = async (path: string) => {
      const [below, root] = [await get(path), await atRoot(path)];
      expect(below.status).toBe(root.status);
      const [one, other] = [below.headers.get("location") ?? "", root.headers.get("location") ?? ""];
      if (other.startsWith("/")) expect(one).toBe(`/node/static/site${other}`);
      else expect(one).toBe(other);
      return `${root.status} ${other}`;
    };
    expect(await location("/old")).toBe("301 /new.html");
    expect(await location("/old/?a=1&b=2")).toBe("301 /new.html?a=1&b=2");
    expect(await location("/blog/2024/h%C3%A9llo%20%26?x=1")).toBe("302 /posts/h%C3%A9llo%20%26?from=2024");
    expect(await location("/docs/a/b%3Fc")).toBe("308 https://docs.example.org/a/b%3Fc");
    expect(await location("/docs")).toBe("308 https://docs.example.org/");
    expect(await location("/forced.html")).toBe("301 /new.html");
    expect(await location("/loop/a")).toBe("404 ");
    expect((await atRoot("/old")).headers.get("cache-control")).toBe("no-cache");
    for (const page of [get, atRoot]) {
      expect(await (await page("/shadowed.html")).text()).toBe("a file");
      expect(await (await page("/app/real.txt")).text()).toBe("real");
      for (const path of ["/app", "/app/deep/link", "/app/deep/link?x=1"]) {
        const answer = await page(path);
        if (path === "/app") expect(answer.status).toBe(301);
        else expect([answer.status, await answer.text()]).toEqual([200, "the app"]);
      }
      expect(await (await page("/wiki/a%20b")).text()).toBe("wiki");
      const hidden = await page("/hidden/secret.txt");
      expect([hidden.status, await hidden.text()]).toEqual([404, "gone"]);
      for (const path of [
        "/_redirects",
        "/%5Fredirects",
        "/_redirects/",
        "/_REDIRECTS",
        "/rules",
        "/_headers",
      ]) {
        const rules = await page(path);
        expect([path, rules.status, (await rules.text()).trim()]).toEqual([
          path,
          404,
          "404 Not Found: there is no such file.",
        ]);
      }
    }
    const post = await fetch(`${node.url}/node/static/site/old`, { method: "POST", redirect: "manual" });
    expect(post.status).toBe(405);
  },
);

const headers = `
/*
  X-Frame-Options: DENY
  Content-Security-Policy: default-src 'self'
  Strict-Transport-Security: max-age=63072000
  Set-Cookie: stolen=1
/*.html
  Cache-Control: public, max-age=60
/downloads/*
  Content-Disposition: attachment
  Vary: Accept-Language
/.well-known/apple-app-site-association
  Content-Type: application/json
`;

eachStore(
  "_headers are sent with files, 304 and the 404 page, from memory too, and never weaken the server",
  async (store) => {
    await using node = await testNode(store);
    const big = new Uint8Array(3 * 1024 * 1024);
    const { get, settled, stored } = await siteWith(
      node,
      {
        _headers: headers,
        "index.html": "home",
        "app.3f9a8b2c.js": "1;",
        "page.html": "page",
        "downloads/a.txt": "text ".repeat(200),
        ".well-known/apple-app-site-association": "{}",
        "404.html": "not here",
      },
      { is_http_root: true, hosts: ["www.example.org"] },
    );
    await stored.write({ "downloads/big.bin": big });
    await settled();
    const atHost = (path: string, host: string) =>
      fetch(`${node.url}${path}`, { headers: { host, "accept-encoding": "identity" }, redirect: "manual" });
    for (let round = 0; round < 3; round += 1) {
      const page = await get("/page.html");
      expect(Object.fromEntries(page.headers)).toMatchObject({
        "x-frame-options": "DENY",
        "content-security-policy": "default-src 'self'",
        "cache-control": "public, max-age=60",
        "x-content-type-options": "nosniff",
      });
      expect(page.headers.has("set-cookie")).toBe(false);
      const unchanged = await get("/page.html", { "if-none-match": page.headers.get("etag") ?? "" });
      expect([unchanged.status, unchanged.headers.get("x-frame-options")]).toEqual([304, "DENY"]);
      const script = await get("/app.3f9a8b2c.js");
      expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect((await get("/")).headers.get("cache-control")).toBe("no-cache");
      const download = await get("/downloads/a.txt", { "accept-encoding": "gzip" });
      expect(Object.fromEntries(download.headers)).toMatchObject({
        "content-disposition": "attachment",
        vary: "accept-encoding, Accept-Language",
        "content-encoding": "gzip",
      });
      expect((await get("/downloads/big.bin")).headers.get("content-disposition")).toBe("attachment");
      const association = await get("/.well-known/apple-app-site-association");
      expect(association.headers.get("content-type")).toBe("application/json");
      const missing = await get("/missing.html");
      expect([
        missing.status,
        missing.headers.get("cache-control"),
        missing.headers.get("x-frame-options"),
      ]).toEqual([404, "no-cache", "DENY"]);
      const rules = [
        await get("/_headers", { range: "bytes=0-3" }),
        await atHost("/_headers", "www.example.org"),
      ];
      expect(rules.map(({ status }) => status)).toEqual([404, 404]);
      // Strict-Transport-Security concerns the whole host: only the bucket's own may be made so.
      expect(page.headers.has("strict-transport-security")).toBe(false);
      expect((await atHost("/page.html", "other.example.org")).headers.has("strict-transport-security")).toBe(
        false,
      );
      const own = await atHost("/page.html", "www.example.org");
      expect(own.headers.get("strict-transport-security")).toBe("max-age=63072000");
    }
    await stored.write({ _headers: "/*\n  X-Frame-Options: SAMEORIGIN\n" });
    const changed = await get("/page.html", { "cache-control": "no-cache" });
    expect([changed.headers.get("x-frame-options"), changed.headers.get("cache-control")]).toEqual([
      "SAMEORIGIN",
      "no-cache",
    ]);
    await settled();
    await get("/page.html", { "cache-control": "no-cache" });
    await stored.remove("_headers");
    const removed = await get("/page.html", { "cache-control": "no-cache" });
    expect(removed.headers.has("x-frame-options")).toBe(false);
  },
);

eachStore(
  "WebDAV's GET has the headers that are about no content, keeps its sandbox, and knows no redirects",
  async (store) => {
    await using node = await sharedNode(store);
    await siteWith(node, {
      _headers: `${headers}/*\n  Cache-Control: max-age=99\n  Content-Type: text/plain\n  X-Robots-Tag: none\n`,
      _redirects: "/page.html /other 301!\n/* /page.html 200",
      "page.html": "page",
    });
    const dav = (path: string) =>
      fetch(`${node.url}/node/static-webdav/${node.bucket}/${path}`, {
        headers: { authorization: `Bearer ${node.superToken}` },
        redirect: "manual",
      });
    const page = await dav("page.html");
    expect([page.status, await page.text()]).toEqual([200, "page"]);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-robots-tag": "none",
      "content-security-policy": "sandbox, default-src 'self'",
    });
    expect((await dav("nothing")).status).toBe(404);
    expect((await dav("_redirects")).status).toBe(200);
  },
);

eachStore(
  "with clean_urls every page has one address, and what exists under another name keeps it",
  async (store) => {
    await using node = await sharedNode(store);
    const { get, settled, stored } = await siteWith(
      node,
      {
        "index.html": "home",
        "about.html": "about",
        "docs.html": "docs",
        "docs/a.html": "a",
        "blog/index.html": "blog",
        "blog.html": "hidden by the folder",
        both: "a file without an ending",
        "both.html": "with it",
        "ä b.html": "umlaut",
        ".html": "nameless",
        _redirects: "/about /index.html 301\n/x /docs 200\n",
      },
      { clean_urls: true },
    );
    await settled();
    const answer = async (path: string) => {
      const response = await get(path, { "cache-control": "no-cache" });
      const location = response.headers.get("location")?.replace(`/node/static/${node.bucket}`, "") ?? "";
      return `${response.status} ${location || (await response.text())}`;
    };
    for (let round = 0; round < 3; round += 1) {
      expect(await answer("/about")).toBe("200 about");
      expect(await answer("/about.html?a=1")).toBe("308 /about?a=1");
      expect(await answer("/about/")).toBe("308 /about");
      expect(await answer("/index.html")).toBe("308 /");
      expect(await answer("/blog/index.html")).toBe("308 /blog/");
      expect(await answer("/docs")).toBe("200 docs");
      expect(await answer("/docs/")).toBe("308 /docs");
      expect(await answer("/docs/a")).toBe("200 a");
      expect(await answer("/blog")).toBe("301 /blog/");
      expect(await answer("/blog/")).toBe("200 blog");
      expect(await answer("/blog.html")).toBe("200 hidden by the folder");
      expect(await answer("/both")).toBe("200 a file without an ending");
      expect(await answer("/both.html")).toBe("200 with it");
      expect(await answer("/%C3%A4%20b")).toBe("200 umlaut");
      expect(await answer("/%C3%A4%20b.html")).toBe("308 /%C3%A4%20b");
      expect(await answer("/x")).toBe("200 docs");
      expect(await answer("/.html")).toBe("200 nameless");
      expect((await answer("/nothing")).slice(0, 3)).toBe("404");
    }
    await stored.write({ about: "now a file", "docs/index.html": "now a folder with a page" });
    expect(await answer("/about")).toBe("200 now a file");
    expect(await answer("/about.html")).toBe("200 about");
    expect(await answer("/docs")).toBe("301 /docs/");
    await settled();
    await answer("/about.html");
    await stored.remove("about");
    expect(await answer("/about.html")).toBe("308 /about");
    expect(await answer("/about")).toBe("200 about");
    await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, clean_urls: false });
    expect(await answer("/about.html")).toBe("200 about");
    expect(await answer("/about")).toBe("301 /index.html");
  },
);

eachStore(
  "however many addresses a rule rewrites, its page is in memory once for each set of headers",
  async (store) => {
    await using node = await testNode(store);
    const { get, settled, stored } = await siteWith(node, {
      _redirects: "/* /index.html 200",
      _headers: "/a/*\n  X-Part: a\n",
      "index.html": `<!doctype html>${"text ".repeat(400)}`,
    });
    await settled();
    const files = async () => {
      const { text } = {
        text: await (
          await fetch(`${node.url}/node/metrics`, { headers: { authorization: `Bearer ${node.superToken}` } })
        ).text(),
      };
      return Number(/node_server_static_cache_files(?:\{[^}]*\})? (\d+)/.exec(text)?.[1]);
    };
    for (let at = 0; at < 40; at += 1) {
      const page = await get(`/${at % 2 === 0 ? "a" : "b"}/${at}`, { "accept-encoding": "gzip" });
      expect([page.status, page.headers.get("content-encoding"), page.headers.get("x-part")]).toEqual([
        200,
        "gzip",
        at % 2 === 0 ? "a" : null,
      ]);
      expect(page.headers.get("cache-control")).toBe("no-cache");
    }
    expect(await files()).toBe(2);
    await stored.write({ "index.html": "second", "b/1": "a file now" });
    expect(await (await get("/a/0", { "cache-control": "no-cache" })).text()).toBe("second");
    expect(await (await get("/b/1", { "cache-control": "no-cache" })).text()).toBe("a file now");
  },
);

eachStore(
  "a private bucket's rules tell strangers nothing and let no shared cache keep a file",
  async (store) => {
    await using node = await sharedNode(store);
    const { get, settled } = await siteWith(
      node,
      {
        _redirects: "/old /new 301\n/forced /new 301!\n/app/* /index.html 200",
        _headers:
          "/*\n  Cache-Control: public, s-maxage=600, max-age=60\n  CDN-Cache-Control: max-age=600\n  Surrogate-Control: max-age=600\n  X-Frame-Options: DENY\n/app.3f9a8b2c.js\n  ! Cache-Control\n",
        "index.html": "home",
        "app.3f9a8b2c.js": "1;",
      },
      { public: false },
    );
    await settled();
    const strangers = new Set<string>();
    for (const path of ["/old", "/forced", "/app/x", "/index.html", "/nothing", "/_headers"]) {
      const answer = await get(path);
      strangers.add(`${answer.status} ${await answer.text()} ${answer.headers.get("x-frame-options")}`);
    }
    expect(strangers.size).toBe(1);
    const authorization = `Bearer ${node.superToken}`;
    for (let round = 0; round < 2; round += 1) {
      const page = await get("/app/x", { authorization });
      expect([await page.text(), page.headers.get("cache-control")]).toEqual(["home", "private, max-age=60"]);
      expect([page.headers.get("cdn-cache-control"), page.headers.get("surrogate-control")]).toEqual([
        null,
        null,
      ]);
      const script = await get("/app.3f9a8b2c.js", { authorization });
      expect(script.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
      expect((await get("/old", { authorization })).headers.get("cache-control")).toBe("private, no-cache");
    }
  },
);

const gone = `
/old/*      /gone.html   410
/secret/*   /missing     403!
/admin/*    /gone.html   401!
/api/*      https://api.example.org/:splat   200
/hook/*     /.netlify/functions/:splat   200
/docs/*     200
/*          /index.html  200
`;

eachStore(
  "rules for errors have their status, and what cannot be fetched is no page of the site",
  async (store) => {
    await using node = await sharedNode(store);
    const { get } = await siteWith(node, {
      _redirects: gone,
      "index.html": "app",
      "gone.html": "gone",
      "secret/plan.txt": "plan",
      "admin/a.txt": "a",
      "docs/a.txt": "docs",
    });
    const answer = async (path: string) => {
      const response = await get(path);
      return `${response.status} ${(await response.text()).trim()}`;
    };
    expect(await answer("/old/x")).toBe("410 gone");
    expect(await answer("/secret/plan.txt")).toBe("403 403 Forbidden");
    expect(await answer("/admin/a.txt")).toBe("403 gone");
    expect(await answer("/api/users")).toBe("404 404 Not Found: there is no such file.");
    expect(await answer("/hook/send")).toBe("404 404 Not Found: there is no such file.");
    expect(await answer("/docs/a.txt")).toBe("200 docs");
    expect(await answer("/docs/b.txt")).toBe("404 404 Not Found: there is no such file.");
    expect(await answer("/any")).toBe("200 app");
  },
);

eachStore(
  "files for which _headers wants a password are not public, and neither are the passwords",
  async (store) => {
    await using node = await sharedNode(store);
    const { get } = await siteWith(
      node,
      {
        _headers:
          "/team/*\n  Basic-Auth: ann:secret\n/plan.html\n  Basic-Auth: ann:secret\n/*\n  X-Part: a\n",
        _redirects: "/copy /plan.html 200\n",
        "index.html": "home",
        "team/a.txt": "team",
        "plan.html": "plan",
      },
      { clean_urls: true },
    );
    for (let round = 0; round < 2; round += 1) {
      for (const path of ["/team/a.txt", "/plan", "/copy"]) {
        const answer = await get(path);
        expect([path, answer.status]).toEqual([path, 403]);
        expect(answer.headers.has("basic-auth")).toBe(false);
      }
      const home = await get("/");
      expect([await home.text(), home.headers.get("x-part")]).toEqual(["home", "a"]);
      expect((await get("/_headers")).status).toBe(404);
    }
    await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, public: false });
    const mine = await get("/team/a.txt", { authorization: `Bearer ${node.superToken}` });
    expect(await mine.text()).toBe("team");
    expect((await get("/team/a.txt")).status).toBe(401);
  },
);

test("a _headers or _redirects that is a link out of the bucket is missing, also for a rollback", async () => {
  await using node = await testNode();
  const { get } = await siteWith(node, { "index.html": "page" });
  const site = deployClient(node);
  const outside = join(node.folder, "outside");
  writeFileSync(outside, "/* /index.html 200!\n");
  for (const name of ["_headers", "_redirects"]) symlinkSync(outside, join(node.folder, "static/site", name));
  expect([(await get("/index.html")).status, (await get("/other.html")).status]).toEqual([200, 404]);
  const authorization = `Bearer ${node.superToken}`;
  const dav = await fetch(`${node.url}/node/static-webdav/site/index.html`, { headers: { authorization } });
  expect(await dav.text()).toBe("page");
  const problems = () =>
    node.call("static-bucket_site_problems", { token: node.superToken, name: node.bucket });
  expect(await problems()).toEqual([]);
  await site.deploy({ "index.html": "newer" });
  expect((await site.rollback()).problems).toEqual([]);
  expect(await site.page("index.html")).toBe("page");
});

eachStore("placeholders in values of _headers are replaced by what the path has, encoded", async (store) => {
  await using node = await sharedNode(store);
  const { get } = await siteWith(node, {
    _headers: [
      "/v/:name",
      "  Link: </assets/:name/main.js>; rel=preload, </x/:other>",
      "/w/*",
      "  X-Rest: at :splat:8080",
      "/w/*/c*",
      "  X-Two: :splat",
      "/*",
      "  X-Plain: a:name",
      "",
    ].join("\n"),
    "v/one": "1",
    "v/a\"b>, <c\u00e9'\n": "2",
    "w/b/c d": "3",
  });
  const header = async (path: string, name: string) => (await get(path)).headers.get(name);
  for (let at = 0; at < 2; at += 1) {
    expect(await header("/v/one", "link")).toBe("</assets/one/main.js>; rel=preload, </x/:other>");
    expect(await header("/v/a%22b%3E,%20%3Cc%C3%A9'%0A", "link")).toBe(
      "</assets/a%22b%3E%2C%20%3Cc%C3%A9%27%0A/main.js>; rel=preload, </x/:other>",
    );
    expect(await header("/w/b/c%20d", "x-rest")).toBe("at b/c%20d:8080");
    expect(await header("/w/b/c%20d", "x-two")).toBe(":splat");
    expect(await header("/v/one", "x-plain")).toBe("a:name");
  }
});

test("a redirect whose address would be above 16 KiB is not found", async () => {
  await using node = await testNode();
  const { get } = await siteWith(node, {
    _redirects: "/go/* https://docs.example.org/:splat/:splat/:splat 301\n/page/* /:splat/:splat/:splat 200",
  });
  const long = "x".repeat(6000);
  const went = await get("/go/a", { redirect: "manual" });
  expect([went.status, went.headers.get("location")]).toEqual([301, "https://docs.example.org/a/a/a"]);
  for (const path of [`/go/${long}`, `/page/${long}`]) {
    const response = await get(path, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([404, null]);
  }
});
