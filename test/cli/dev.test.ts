import { expect } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Invocation } from "../support/invocation.ts";
import { tempFolder } from "../support/node.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

test("a folder is served with its rules as a bucket would be, and nothing is stored", async () => {
  await using home = await tempFolder();
  const write = (files: Readonly<Record<string, string>>) => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home.path, "dist", path)), { recursive: true });
      writeFileSync(join(home.path, "dist", path), content);
    }
  };
  write({
    "index.html": "home",
    "about.html": "about us",
    "404.html": "not here",
    "docs/index.html": "docs",
    ".env": "secret",
    "node_modules/a.js": "secret",
    "draft.md": "secret",
    _headers: "/*\n  X-Version: one\n",
    _redirects:
      "/old /about 301\n/a /b 999\n/env /.env 200\n/draft-of-today /draft.md 200\n/gone /draft.md 404\n/about/mod/* /node_modules/:splat 200!\n",
  });
  symlinkSync(".env", join(home.path, "dist", "linked.txt"));
  const args = ["dev", "dist", "--listen", "127.0.0.1:0", "--clean-urls", "--exclude", "*.md"];
  await using serving = new Invocation(home.path, args);
  const urlIn = () => /^(http:\/\/127\.0\.0\.1:\d+)\/$/m.exec(serving.stdout)?.[1];
  await until("the address is printed", () => urlIn() !== undefined);
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${urlIn()}${path}`, { headers, redirect: "manual" });
    return [answer.status, answer.headers.get("location") ?? (await answer.text()).trim()];
  };
  expect(await get("/")).toEqual([200, "home"]);
  expect(await get("/about")).toEqual([200, "about us"]);
  expect(await get("/about.html")).toEqual([308, "/about"]);
  expect(await get("/docs")).toEqual([301, "/docs/"]);
  expect(await get("/old?x=1")).toEqual([301, "/about?x=1"]);
  expect(await get("/nothing")).toEqual([404, "not here"]);
  expect(await get("/about", { range: "bytes=0-4" })).toEqual([206, "about"]);
  const skipped = ["/.env", "/%2Eenv", "/node_modules/a.js", "/draft.md", "/_headers", "/linked.txt"];
  const byRule = ["/env", "/draft-of-today", "/gone", "/about/mod/a.js"];
  for (const path of [...skipped, ...byRule])
    expect([path, ...(await get(path))]).toEqual([path, 404, "not here"]);
  // A page elsewhere, whose name was made to lead to this machine.
  expect((await get("/", { host: "elsewhere.example" }))[0]).toBe(403);
  expect((await get("/", { host: "site.localhost" }))[0]).toBe(200);
  expect(serving.stderr).toContain("_redirects:2: ");

  write({ _headers: "/*\n  X-Version: two\n", _redirects: "/old /docs/ 302\n" });
  await until("the new rules apply", async () => (await get("/old"))[0] === 302);
  const changed = await fetch(`${urlIn()}/`);
  expect(changed.headers.get("x-version")).toBe("two");
  expect(serving.stderr).toContain("no problems any more");
  serving.signal("SIGINT");
  expect((await serving.exited).code).toBe(0);
  expect(serving.stdout).toMatch(/ GET \/old\?x=1 301\n/);
  expect(readdirSync(home.path)).toEqual(["dist"]);

  for (const [given, why] of [
    [["dev", "nowhere"], "does not exist"],
    [["dev", "dist", "--listen", "nonsense"], "--listen must be"],
  ] as const) {
    await using refused = new Invocation(home.path, given);
    expect((await refused.exited).code).not.toBe(0);
    expect(refused.stderr).toContain(why);
  }
});
