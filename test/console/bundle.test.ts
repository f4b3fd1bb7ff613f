import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bundleConsole } from "../../src/bundle.ts";
import { siteWith } from "../support/bucket.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { everyFile, get } from "./asking.ts";
import { inBrowser, openConsole } from "./browser.ts";
import { serveFolder } from "./fixture.ts";

const javascript = new Bun.Transpiler({ loader: "js" });

let bundled: ReturnType<typeof bundleConsole> | undefined;

/** The console as it is released, which takes seconds to compress. */
function releasedConsole() {
  bundled ??= bundleConsole();
  return bundled;
}

test("nothing of the console is loaded from elsewhere", async () => {
  await using node = await testNode();
  const loading =
    /(?:fetch|import|Worker|WebSocket|EventSource|importScripts|open|\bsrc|srcset|poster)\s*[:=(]\s*["'`](?:https?|wss?)?:?\/\//g;
  const elsewhere = /url\((?!["']?(?:data:|#))|@import/g;
  for (const [name, text] of await everyFile(node)) {
    const imports = name.endsWith(".js") ? javascript.scanImports(text).map(({ path }) => path) : [];
    expect([name, imports.filter((path) => !path.startsWith("./"))]).toEqual([name, []]);
    expect([name, text.match(name.endsWith(".css") ? elsewhere : loading)]).toEqual([name, null]);
    expect([name, text.includes("sourceMappingURL")]).toEqual([name, false]);
  }
});

test("the first look at the console costs less than 48 kB, in any language", async () => {
  const { script, modules, style, files } = await releasedConsole();
  const first = [script, style, ...modules];
  // Nothing is fetched in a second round trip because the list lacks it.
  for (const name of [script, ...modules])
    for (const { kind, path } of javascript.scanImports(gunzipSync(files.get(name)?.gzip ?? "")))
      if (kind === "import-statement") expect(modules).toContain(path.replace("./", ""));
  const sizeOf = (name: string) => files.get(name)?.br.length ?? 0;
  // The texts of the frame are fetched before anything is shown, those of one language.
  const texts = [...files.keys()].filter((name) => name.startsWith("frame-")).map(sizeOf);
  expect(texts).toHaveLength(2);
  const code = first.map(sizeOf).reduce((sum, size) => sum + size, 0);
  console.log(`first load: ${code} bytes of code and style, ${texts.join(" or ")} bytes of texts`);
  expect(code + Math.max(...texts)).toBeLessThan(48_000);
});

/** Pages, with a text that is shown once everything has arrived. */
const pages: Readonly<Record<string, string>> = {
  "/overview": "Buckets by size",
  "/activity": "Bucket created",
  "/logs": "Live",
  "/buckets": "/node/static/site/",
  "/buckets/site": "a.txt",
  "/buckets/site/deploys": "node-server deploy",
  "/buckets/site/links": "No links yet",
  "/buckets/site/trash": "The trash is empty",
  "/buckets/site/settings": "Headers and redirects",
  "/sql": "seaql_migrations",
  "/config": "No problems found",
  "/tokens": "Last used",
  "/tokens?preset=webdav": "Choose a bucket first.",
  "/update": "Updates are off",
  "/api": "Find a method",
};

inBrowser(
  "every page costs less than 110 kB, the first load included, without editor and charts",
  async () => {
    const { files } = await releasedConsole();
    const editor = [...files.keys()].find((name) => name.startsWith("code-editor-")) ?? "";
    const modes = javascript
      .scanImports(gunzipSync(files.get(editor)?.gzip ?? ""))
      .filter(({ kind }) => kind === "dynamic-import")
      .map(({ path }) => path.replace("./", ""));
    const isExtra = (name: string) => name === editor || modes.includes(name) || name.startsWith("chart-");
    await using node = await testNode({
      top: "keep_removed_days = 30\n",
      logging: 'memory_log_filter = "info"\n',
    });
    await siteWith(node, { "a.txt": "a" });
    await using tab = await openConsole(node);
    const { page } = tab;
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    const fetched = new Set<string>();
    page.on("request", (request) => {
      const [, name] = /\/assets\/([^/?]+)$/.exec(request.url()) ?? [];
      if (name !== undefined) fetched.add(name);
    });
    const sizes: Record<string, number> = {};
    for (const [at, arrived] of Object.entries(pages)) {
      await page.goto(`${node.url}/node/console/#${at}`);
      fetched.clear();
      await page.reload();
      await page.getByText(arrived).first().waitFor();
      sizes[at] = [...fetched]
        .filter((name) => !isExtra(name))
        .reduce((sum, name) => sum + (files.get(name)?.br.length ?? Number.NaN), 0);
    }
    console.log(`bytes by page: ${JSON.stringify(sizes)}`);
    expect(Object.entries(sizes).filter(([, size]) => !(size > 30_000 && size < 110_000))).toEqual([]);
  },
  // 15 pages, each loaded twice.
  60_000,
);

test("a console that cannot be bundled is told in the log, and tried again with the next request", async () => {
  await using folder = await tempFolder();
  await using server = serveFolder(folder.path);
  await mkdir(join(folder.path, "parts"));
  await writeFile(join(folder.path, "style.css"), "body { color: red }");
  await writeFile(join(folder.path, "main.tsx"), 'import "./parts/missing.ts";');
  const answers = await Promise.all([get(server, "/node/console/"), get(server, "/node/console/")]);
  expect(answers.map(({ status }) => status)).toEqual([500, 500]);
  expect(await answers[0]?.text()).toContain("the server's log says why");
  expect(server.logged).toHaveLength(1);
  expect(server.logged[0]).toContain("missing.ts");
  await writeFile(join(folder.path, "parts/missing.ts"), "document.title = 'found';");
  expect((await get(server, "/node/console/")).status).toBe(200);
});
