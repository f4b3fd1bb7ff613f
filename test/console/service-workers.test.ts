import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { isSettled } from "../../src/buckets/ports.ts";
import { DiskStats } from "../../src/buckets/trees/disk/entry.ts";
import { siteWith } from "../support/bucket.ts";
import { testNode } from "../support/node.ts";
import { get, setConsole } from "./asking.ts";
import { inBrowser } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { Siege, sharedSieges, text } from "./hostile-site.ts";

test("a worker's script in the top folder is refused while the console is on, from the disk and from memory", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "sw.js": "1", "app/sw.js": "2" }, { is_http_root: true });
  const script = { "service-worker": "script" };
  const modern = { "sec-fetch-dest": "serviceworker", "sec-fetch-mode": "same-origin" };
  const imported = { "sec-fetch-dest": "serviceworker", "sec-fetch-mode": "cors" };
  const ask = async (path: string, headers: Record<string, string>) =>
    (await get(node, path, { headers })).status;
  const isOld = () => isSettled(new DiskStats(statSync(join(folder, "sw.js"))));
  for (const from of ["disk", "memory"]) {
    // A new file is not kept in memory.
    if (from === "memory") await eventually("the files are kept in memory", isOld);
    for (let round = 0; round < 2; round++) {
      expect([
        await ask("/sw.js", {}),
        await ask("/sw.js", imported),
        await ask("/app/sw.js", script),
      ]).toEqual([200, 200, 200]);
      expect([
        await ask("/sw.js", script),
        await ask("/%73w.js?x", script),
        await ask("/sw.js", modern),
      ]).toEqual([403, 403, 403]);
      expect(await ask("/node/static/site/sw.js", script)).toBe(200);
    }
  }
  expect(await (await get(node, "/sw.js", { headers: script })).text()).toMatch(
    /web console.*\/app\/sw\.js.*console = false/,
  );
  await setConsole(node, false);
  expect(await ask("/sw.js", script)).toBe(200);
});

const openSiege = sharedSieges();

const register = (script: string, options: object = {}) =>
  `navigator.serviceWorker.register(${JSON.stringify(script)}, ${JSON.stringify(options)}).then(({ scope }) => scope, String)`;
const registered =
  "navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => new URL(scope).pathname))";

inBrowser("no service worker of a bucket sees the console", async () => {
  await using siege = await openSiege();
  const page = await siege.evil("/evil.html");
  const scripts = [
    "/sw.js",
    "/sw.js?again",
    "/sw.js#x",
    "/%73w.js",
    "/./sw.js",
    "/app/../sw.js",
    "/app/%2e%2e/sw.js",
  ];
  for (const script of [
    ...scripts,
    "//sw.js",
    "/.//sw.js",
    "/app%2f..%2fsw.js",
    "/%2fsw.js",
    "/\\sw.js",
    "/",
  ]) {
    for (const options of [{}, { scope: "/" }, { scope: "/node/console/" }, { type: "module" }])
      expect([script, await text(page, register(script, options))]).toEqual([
        script,
        expect.stringContaining("Error"),
      ]);
  }
  for (const script of ["/app/sw.js", "/node/static/site/sw.js"]) {
    for (const scope of ["/", "/node/", "/node/console/"])
      expect([script, await text(page, register(script, { scope }))]).toEqual([
        script,
        expect.stringContaining("Error"),
      ]);
  }
  expect(await page.evaluate(registered)).toEqual([]);
  await siege.console(page);
  await eventually("the console is shown", async () => (await page.title()) === "Overview · 127.0.0.1");
});

inBrowser("a service worker in a folder works for that folder, beside the console", async () => {
  await using siege = await openSiege();
  const page = await siege.evil("/evil.html");
  for (const script of ["/app/sw.js", "/node/static/site/sw.js"]) {
    expect(await text(page, register(script))).toEndWith(script.replace("sw.js", ""));
    await page.evaluate(`navigator.serviceWorker.getRegistration("${script}").then(async ({ active, installing, waiting }) => {
      const worker = active ?? waiting ?? installing;
      while (worker.state !== "activated") await new Promise((resolve) => worker.addEventListener("statechange", resolve, { once: true }));
    })`);
  }
  for (const [address, caught] of [
    ["/app/page.html", true],
    ["/node/static/site/app/page.html", true],
    ["/evil.html", false],
    ["/node/console/", false],
  ] as const) {
    await page.goto(siege.node.url + address);
    const shown = await text(page, "document.body.textContent");
    expect([address, shown.includes("caught by the worker")]).toEqual([address, caught]);
  }
});

inBrowser("a service worker in a folder may import from the top folder", async () => {
  await using siege = await openSiege();
  const page = await siege.evil("/evil.html");
  expect(await text(page, register("/app/module.js", { type: "module" }))).toEndWith("/app/");
});

inBrowser("with the console off, a service worker may have the whole root", async () => {
  await using siege = await Siege.open();
  const page = await siege.evil("/evil.html");
  expect(await text(page, register("/sw.js"))).toContain("403");
  await setConsole(siege.node, false);
  expect(await text(page, register("/sw.js"))).toBe(`${siege.node.url}/`);
});
