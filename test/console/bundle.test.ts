import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bundleConsole } from "../../src/bundle.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { everyFile, get } from "./asking.ts";
import { serveFolder } from "./fixture.ts";

const javascript = new Bun.Transpiler({ loader: "js" });

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

test("the first look at the console costs less than 250 kB", async () => {
  const { script, style, files } = await bundleConsole();
  const first = new Set([script, style]);
  for (const name of first) {
    const file = files.get(name);
    if (file === undefined) throw new Error(`there is no ${name}`);
    if (!name.endsWith(".js")) continue;
    for (const { kind, path } of javascript.scanImports(gunzipSync(file.gzip)))
      if (kind === "import-statement") first.add(path.replace("./", ""));
  }
  const sizes = [...first].map((name) => files.get(name)?.gzip.length ?? 0);
  expect(sizes.reduce((sum, size) => sum + size, 1000)).toBeLessThan(250_000);
});

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
