import { resolve } from "node:path";

// Prints what requests cross in src/: `bun scripts/flows.ts [-v]`. A file counts if one of its functions runs between the
// request and its answer, each time; a return, if such a function has it before its end, throws included. Functions are found
// by the layout that biome writes. Files of base/, log/, db/ and auth/ are shared by every flow; the second pair of figures
// leaves them out. `-v` lists the files.

const shared = /^(?:base|log|db|auth|metrics|monitor)\//;
const isVerbose = process.argv.includes("-v");
const source = resolve(import.meta.dir, "../src");

interface CountedFunction {
  readonly file: string;
  readonly name: string;
  readonly earlyReturns: number;
}

const functions: CountedFunction[] = [];
let ran = new Set<number>();
Object.assign(globalThis, { __ran: (id: number) => ran.add(id) });

Bun.plugin({
  name: "count functions",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => ({
      contents: path.startsWith(source)
        ? instrumented(path, await Bun.file(path).text())
        : await Bun.file(path).text(),
      loader: "ts",
    }));
  },
});

const head =
  /^( *)(?:export )?(?:async )?(?:function\*? (\w+)|(?:static |async |get |set |\*)*(#?\w+)(?:<.*>)?\()/;

function instrumented(path: string, text: string): string {
  const file = path.slice(source.length + 1);
  const lines = text.split("\n");
  const out = [...lines];
  for (const [at, line] of lines.entries()) {
    const [, indent = "", declared, method] = head.exec(line) ?? [];
    const name = declared ?? method;
    if (name === undefined || /^(?:if|for|while|switch|return|catch|super|constructor|await)$/.test(name))
      continue;
    const open = openingOf(lines, at);
    if (open === undefined) continue;
    const end = lines.findIndex(
      (one, index) => index > open && (one === `${indent}}` || one === `${indent}},`),
    );
    if (end < 0) continue;
    const body = lines.slice(open + 1, end);
    const all = body.join("\n").match(/\b(?:return|throw)\b/g)?.length ?? 0;
    const last = body.findLastIndex(
      (one) => one.startsWith(`${indent}  `) && !one.startsWith(`${indent}   `) && !/^ *[)}\]]/.test(one),
    );
    const endsInReturn = /^ *(?:return|throw)\b/.test(body[last] ?? "");
    functions.push({ file, name, earlyReturns: all - (endsInReturn ? 1 : 0) });
    out[open] += ` globalThis.__ran(${functions.length - 1});`;
  }
  return out.join("\n");
}

/** openingOf returns the line that opens the body of the function whose head begins at `at`; undefined for a call or a type. */
function openingOf(lines: readonly string[], at: number): number | undefined {
  let depth = 0;
  for (let line = at; line < lines.length; line += 1) {
    const text = (lines[line] ?? "").replace(/"[^"]*"|`[^`]*`/g, "");
    depth += (text.match(/\(/g)?.length ?? 0) - (text.match(/\)/g)?.length ?? 0);
    if (depth > 0) continue;
    return /(?:=> |<|: )\{$/.test(text) || !text.endsWith("{") ? undefined : line;
  }
  return undefined;
}

const { testNode } = await import("../test/support/node.ts");
const { webdavSite } = await import("../test/support/webdav.ts");
await using node = await testNode({ store: "disk" });
const { dav } = await webdavSite(node);
const token = node.superToken;
const body = "x".repeat(4096);
const config = await Bun.file(node.configPath).text();
let count = 0;
await dav("PUT", "/page.html", {}, "<h1>page</h1>");
await Bun.sleep(2100);
const url = `${node.url}/node/static/${node.bucket}/page.html`;

const flows: Readonly<Record<string, () => Promise<unknown>>> = {
  "a call": async () => {
    const call = { jsonrpc: "2.0", id: 1, method: "static-bucket_list", params: { token } };
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${node.url}/jsonrpc`, {
      method: "POST",
      headers,
      body: JSON.stringify(call),
    });
    if (!("result" in ((await response.json()) as object))) throw new Error("the call failed");
  },
  "a WebDAV PUT of 4 KiB": async () => {
    const response = await dav("PUT", `/put-${count++}`, {}, body);
    if (response.status !== 201) throw new Error(`PUT answered ${response.status}`);
  },
  "a reload": async () => {
    await Bun.write(node.configPath, `jsonrpc_max_connections = ${100 + count++}\n${config}`);
    if ((await node.node.reload()) === "refused") throw new Error("the reload was refused");
  },
  "a static GET from memory": async () => (await fetch(url)).text(),
};

for (const [flow, run] of Object.entries(flows)) {
  for (let round = 0; round < 3; round += 1) await run();
  let each: Set<number> | undefined;
  for (let round = 0; round < 5; round += 1) {
    await Bun.sleep(50);
    ran = new Set();
    await run();
    const now = ran;
    each = each === undefined ? now : each.intersection(now);
  }
  const used = [...(each ?? [])].flatMap((id) => functions[id] ?? []);
  const own = used.filter(({ file }) => !shared.test(file));
  console.log(`${flow}: ${summary(used)}; without the shared modules ${summary(own)}`);
  if (isVerbose)
    for (const [file, of] of Object.entries(Object.groupBy(used, ({ file }) => file)).sort())
      console.log(
        `    ${file}: ${of?.map(({ name, earlyReturns }) => `${name} ${earlyReturns}`).join(", ")}`,
      );
}
process.exit(0);

function summary(used: readonly CountedFunction[]): string {
  const files = new Set(used.map(({ file }) => file)).size;
  const returns = used.reduce((sum, { earlyReturns }) => sum + earlyReturns, 0);
  return `${files} files, ${used.length} functions, ${returns} early returns`;
}
