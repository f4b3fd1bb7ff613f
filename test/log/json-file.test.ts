import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { JsonFileSink } from "../../src/log/sinks.ts";
import { openNode } from "../../src/node.ts";
import { configText, tempFolder, testNode } from "../support/node.ts";

const source = new URL("../../src/log/", import.meta.url).pathname;

function entry(message: string): LogEntry {
  return { timestamp: "t", level: "INFO", target: "server", message, fields: { n: 1 }, spans: [] };
}

async function entriesIn(path: string): Promise<LogEntry[]> {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogEntry);
}

const messagesIn = async (path: string) => (await entriesIn(path)).map(({ message }) => message);

test("every entry is one JSON object on one line, appended in order", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "logs", "server.json");
  const sink = new JsonFileSink(path, parseFilter("info"));
  const odd = entry("two\nlines, \u2028 \x1b[31m and \ud800");
  sink.write(entry("one"));
  sink.write(odd);
  sink.close();
  const again = new JsonFileSink(path, parseFilter("info"));
  again.write(entry("three"));
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(await entriesIn(path)).toEqual([entry("one"), odd, entry("three")]);
  expect((await readFile(path, "utf8")).split("\n")).toHaveLength(4);
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  again.close();
});

test("after the file was moved away, the sink goes on in a new one and loses nothing", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "server.json");
  const sink = new JsonFileSink(path, parseFilter("info"));
  sink.write(entry("one"));
  sink.flush();
  await rename(path, `${path}.1`);
  sink.write(entry("two"));
  sink.write(entry("three"));
  sink.close();
  expect(await messagesIn(`${path}.1`)).toEqual(["one"]);
  expect(await messagesIn(path)).toEqual(["two", "three"]);
});

/** Lines are written at the end of the turn of the event loop that they belong to. */
const written = () => new Promise((resolve) => setImmediate(resolve));

test("a server writes its log to json_log_file by json_log_filter, and goes on in a new file when it is moved away", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "server.json");
  const logging = `json_log_file = ${JSON.stringify(path)}\njson_log_filter = "token,server=info"\n`;
  await using node = await testNode({ logging });
  await node.refused("token_get", { token: "first:wrong" });
  await node.call("node-server_hello");
  await written();
  const before = await entriesIn(path);
  expect(before.map(({ level, target }) => `${level} ${target}`)).toEqual([
    "INFO server",
    "INFO server",
    "WARN token",
  ]);
  expect(before[2]).toMatchObject({ message: "refused credentials", fields: { token_key: "first" } });
  for (const entry of before)
    expect(Object.keys(entry)).toEqual(["timestamp", "level", "target", "message", "fields", "spans"]);

  await rename(path, `${path}.1`);
  await node.refused("token_get", { token: "second:wrong" });
  await written();
  expect((await entriesIn(path)).at(-1)).toMatchObject({ fields: { token_key: "second" } });
  expect(await messagesIn(`${path}.1`)).not.toContain("second");
});

test("a reload moves the log to another file, and a file that cannot be opened leaves the old one in use", async () => {
  await using folder = await tempFolder();
  const [one = "", two = ""] = ["one.json", "two.json"].map((name) => join(folder.path, name));
  const logging = (path: string) =>
    `json_log_file = ${JSON.stringify(path)}\njson_log_filter = "token,server=error"\n`;
  await using node = await testNode({ logging: logging(one) });
  const move = async (path: string) => {
    await writeFile(node.configPath, configText(node.databaseUrl, { logging: logging(path) }));
    return node.node.reload();
  };
  expect(await move(two)).toBe("applied");
  await node.refused("token_get", { token: "a:wrong" });
  await written();
  expect(await messagesIn(one)).toEqual([]);
  expect(await messagesIn(two)).toEqual(["refused credentials"]);
  await mkdir(join(folder.path, "folder"));
  expect(await move(join(folder.path, "folder"))).toBe("refused");
  await node.refused("token_get", { token: "b:wrong" });
  await written();
  const [, refused, later] = await entriesIn(two);
  expect(refused).toMatchObject({ level: "ERROR", target: "server" });
  expect(refused?.message).toContain("the previous one stays in effect");
  expect(later).toMatchObject({ fields: { token_key: "b" } });
});

test("a log file that cannot be opened stops the start with a clear error", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  const logging = `json_log_file = ${JSON.stringify(folder.path)}\n`;
  await writeFile(configPath, configText(`sqlite://${folder.path}/node.db?mode=rwc`, { logging }));
  await expect(
    openNode({ configPath, workingDirectory: folder.path, env: { RUST_LOG: "off" }, show: () => {} }),
  ).rejects.toMatchObject({
    kind: "ParseError",
    detail: expect.stringContaining(`the log file ${folder.path} is a folder, not a file`),
  });
});

test("a full disk does not stop the work: it is told once on the terminal, and again only after it had passed", async () => {
  if (!existsSync("/dev/full")) {
    console.log("SKIPPED: the full disk needs /dev/full (a Linux kernel)");
    return;
  }
  const script = `
    import { JsonFileSink } from ${JSON.stringify(`${source}sinks.ts`)};
    import { parseFilter } from ${JSON.stringify(`${source}filter.ts`)};
    const sink = new JsonFileSink("/dev/full", parseFilter("info"));
    for (let i = 0; i < 3; i += 1) {
      sink.write(${JSON.stringify(entry("x"))});
      await Bun.sleep(5);
    }
    sink.close();
    console.log("alive");
  `;
  const run = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  expect(out).toBe("alive\n");
  expect(err).toMatch(/^The log file \/dev\/full cannot be written: ENOSPC.*\n$/);
  expect(await run.exited).toBe(0);
});

test("a server whose log disk is full goes on answering", async () => {
  if (!existsSync("/dev/full")) return;
  await using node = await testNode({ logging: 'json_log_file = "/dev/full"\njson_log_filter = "trace"\n' });
  for (let i = 0; i < 5; i += 1) expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
});
