import { expect, test } from "bun:test";
import { symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { chosenFor } from "../support/tier.ts";
import { Consumer } from "./consumer.ts";

const modules = resolve(import.meta.dir, "../../node_modules");

/** How people who use the package compile: Node with its own types, and a page by a bundler. */
const projects = {
  node16: { module: "node16", moduleResolution: "node16", lib: ["ES2022"], types: ["node"] },
  bundler: {
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    types: [],
  },
};

const right = `
import { type BucketEntry, type LogEntry, type LogEvent, NodeServerClient, NotFound, PermissionDenied, Unreachable, type Content, type DenialReason, type UnreachableReason } from "node-server-client";
const server = new NodeServerClient("https://node.example.com", { token: "a:b", timeoutMs: 1000, fetch, WebSocket });
export const hello: "Node Server Is Running!" = await server.call("node-server_hello");
export const names: string[] = await server.call("static-bucket_list");
await server.call("static-bucket_list", {}, { signal: AbortSignal.timeout(5), timeoutMs: 5 });
const bucket = await server.call("static-bucket_read", { name: "site" });
export const path: string | undefined = bucket?.path;
const [sizes, made] = await server.batch([["node-server_database_storage"], ["static-bucket_create", { name: "x" }]]);
if (!(sizes instanceof Error)) sizes.total.toFixed();
if (made instanceof NotFound) made.data.field;
else if (!(made instanceof Error)) made.cors satisfies boolean;
for await (const entry of server.subscribe("node-server_stream_log", { log_filter: "info" }, { reconnect: false }))
  entry satisfies LogEntry;
for await (const event of server.followLog({ log_filter: "info", buffer: 5 })) {
  event satisfies LogEvent;
  if (event.kind === "entries") event.entries.map(({ message }) => message) satisfies string[];
  else if (event.kind === "gap") event.before satisfies string | undefined;
  else if (event.kind === "broken") event.why.message satisfies string;
  else if (event.kind === "missed") event.by satisfies "server" | "client";
  else event.again satisfies boolean;
}
const entries: BucketEntry[] = await server.bucket("site").list("a", { signal: AbortSignal.timeout(5) });
for (const entry of entries) {
  entry.modified.getTime();
  if (!entry.folder) entry.size.toFixed() + entry.etag.slice(1);
}
const { etag } = await server.bucket("site").upload("a", "b", { onlyNew: true });
await server.bucket("site").upload("a", "b", { ifMatch: etag });
const contents: Content[] = ["text", new Uint8Array(3), new ArrayBuffer(2), new Blob(["x"]), new Blob([]).stream()];
for (const content of contents) await server.bucket("site").upload("a", content, { makeFolders: true });
export const size: number = (await server.bucket("site").download("a", { onProgress: (bytes) => bytes.toFixed() })).size;
const denied = await server.call("static-bucket_list").catch((error: unknown) => error);
if (denied instanceof PermissionDenied) denied.reason satisfies DenialReason | undefined;
if (denied instanceof Unreachable) denied.reason satisfies UnreachableReason | undefined;
new NodeServerClient("https://node.example.com", { integers: "number" });
export const anything: unknown = await server.callAny("some_method", { a: 1 });
`;

/** Each is wrong on its own line. */
const wrong = [
  'await server.call("node-server_helo");',
  'await server.call("static-bucket_read");',
  'await server.call("static-bucket_read", { nam: "site" });',
  'await server.call("static-bucket_read", { name: 7 });',
  'await server.call("static-bucket_read", { name: "site", more: 1 });',
  'await server.call("node-server_hello", {}, { timeout: 5 });',
  'export const list: number[] = await server.call("static-bucket_list");',
  '(await server.call("static-bucket_read", { name: "site" })).path;',
  'await server.batch([["static-bucket_read", { name: false }]]);',
  'await server.batch([["node-server_helo"]]);',
  '(await server.batch([["node-server_hello"]]))[0].length;',
  'server.subscribe("node-server_hello", {});',
  'server.subscribe("node-server_stream_log", {});',
  'for await (const entry of server.subscribe("node-server_stream_log", { log_filter: "" })) entry.massage;',
  'await server.bucket("site").upload("a", 5);',
  'await server.bucket("site").upload("a", "b", { onProgress: (bytes: string) => bytes });',
  "server.followLog({});",
  'for await (const event of server.followLog({ log_filter: "" })) event.entries;',
  '(await server.bucket("site").list())[0]?.size.toFixed();',
  'await server.bucket("site").upload("a", "b", { ifMatch: true });',
  "new BucketFiles();",
];
const wrongHead = `import { type BucketFiles, NodeServerClient } from "node-server-client";
const server = new NodeServerClient("https://node.example.com");`;

async function compile(consumer: Consumer, project: object): Promise<string> {
  const compilerOptions = {
    target: "ES2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    // The declarations of the package are looked at as well.
    skipLibCheck: false,
    ...project,
  };
  await writeFile(consumer.file("tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const run = Bun.spawn([join(modules, ".bin/tsc"), "--pretty", "false"], {
    cwd: consumer.path,
    stdout: "pipe",
  });
  await run.exited;
  return run.stdout.text();
}

for (const [name, project] of chosenFor("right programs compile", Object.entries(projects))) {
  test(`right programs compile, and each wrong line is an error of its own (${name})`, async () => {
    await using consumer = await Consumer.open();
    for (const types of ["@types", "undici-types"])
      await symlink(join(modules, types), consumer.file(`node_modules/${types}`));
    await writeFile(consumer.file("right.ts"), right);
    await writeFile(consumer.file("wrong.ts"), [wrongHead, ...wrong].join("\n"));
    // Errors of the whole program have no file.
    const lines = [...(await compile(consumer, project)).matchAll(/^(?:(\S+)\((\d+),\d+\): )?error/gm)];
    const first = wrongHead.split("\n").length + 1;
    expect([...new Set(lines.map(([, file, line]) => `${file}:${line}`))]).toEqual(
      wrong.map((_, i) => `wrong.ts:${first + i}`),
    );
  });
}
