import { expect, test } from "bun:test";
import { once } from "node:events";
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { ConfigFile } from "../../src/config/config-file.ts";
import { hookKeys, settings } from "../../src/config/schema.ts";
import { configText, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { newHome, sqliteUrl } from "../support/process.ts";
import { within } from "../support/until.ts";

const read = (node: TestNode) => node.call("node-server_read_config", { token: node.superToken });
const edit = (node: TestNode, config_string: string) =>
  node.call("node-server_edit_config", { token: node.superToken, config_string });
const editRefused = (node: TestNode, config_string: string) =>
  node.refused("node-server_edit_config", { token: node.superToken, config_string });
const messages = (node: TestNode) => node.node.ring.entries().map(({ message }) => message);
const loud = { logging: 'memory_log_filter = "info"' };

test("config_schema lists every key with what a person or a program must know to write it", async () => {
  await using node = await testNode();
  const keys = (await node.call("node-server_config_schema", { token: node.superToken })) as Array<
    Record<string, unknown>
  >;
  expect(keys.map(({ table, is_repeated, name }) => [table, is_repeated, name])).toEqual([
    ...settings.map(({ table, name }) => [table, false, name]),
    ...Object.keys(hookKeys).map((name) => ["hooks", true, name]),
  ]);
  const find = (wanted: string) => keys.find(({ name }) => name === wanted);
  expect(find("ws_listener")).toMatchObject({ type: "address", is_required: true, choices: [] });
  expect(find("drain_seconds")).toMatchObject({ default: "0", minimum: 0, maximum: 3600 });
  expect(find("proxy_header")).toMatchObject({ choices: ['"x-forwarded-for"', '"forwarded"'] });
  expect(find("max_connections")).toMatchObject({ table: "database", minimum: 1, maximum: 10_000 });
  expect((await node.refused("node-server_config_schema", { token: "wrong:token" })).code).toBe(102);
});

test("read_config answers the file as it is on the disk, byte for byte", async () => {
  await using node = await testNode();
  const present = await readFile(node.configPath, "utf8");
  expect(await read(node)).toBe(present);
  for (const text of [
    `# a comment: ü😀 \t\r\n${present.replaceAll("\n", "\r\n")}# no newline at the end`,
    `\ufeff${present}`,
    "not TOML at all [[[\n",
    "",
    "#".repeat(1_000_000),
  ]) {
    await writeFile(node.configPath, text);
    expect((await read(node)) === text).toBe(true);
  }
});

test("edit_config puts the text in place as it was sent, and nothing else", async () => {
  await using node = await testNode();
  const present = await readFile(node.configPath, "utf8");
  const before = (await readdir(node.folder)).sort();
  for (const text of [
    `# ü😀\r\n${present.replaceAll("\n", "\r\n")}# no newline at the end`,
    `${present}\n# ${"long ".repeat(100_000)}\n`,
    present,
  ]) {
    expect(await edit(node, text)).toBe(true);
    expect((await readFile(node.configPath, "utf8")) === text).toBe(true);
    expect((await read(node)) === text).toBe(true);
  }
  expect((await readdir(node.folder)).sort()).toEqual(before);
});

test("the file is replaced whole, with the mode and the owner it had", async () => {
  await using node = await testNode();
  const text = await readFile(node.configPath, "utf8");
  const isRoot = process.getuid?.() === 0;
  for (const mode of [0o600, 0o644, 0o640]) {
    await chmod(node.configPath, mode);
    if (isRoot) await chown(node.configPath, 1234, 2345);
    const before = await stat(node.configPath);
    expect(await edit(node, `${text}# ${mode}\n`)).toBe(true);
    const after = await stat(node.configPath);
    expect({ mode: after.mode, uid: after.uid, gid: after.gid }).toEqual({
      mode: before.mode,
      uid: before.uid,
      gid: before.gid,
    });
    // Another file under the same name: whoever was reading the old one still has it whole.
    expect(after.ino).not.toBe(before.ino);
  }
});

test("a text that is no configuration is refused with line and column, and nothing is written", async () => {
  await using node = await testNode(loud);
  const good = configText(node.databaseUrl);
  const old = new Date(1_000_000_000_000);
  await utimes(node.configPath, old, old);
  const listing = (await readdir(node.folder)).sort();
  const before = await stat(node.configPath);
  const text = await read(node);
  const quiet = messages(node).length;
  for (const [config, line, column] of [
    ["", 1, 1],
    ["ws_listener = \n", 1, 15],
    ['ws_listener = "127.0.0.1:0"\n\n  nonsense\n', 3, undefined],
    [good.replace("127.0.0.1:0", "nowhere"), 1, 15],
    [`${good}\n  sql_timeout_ms = "soon"`, undefined, 20],
    [`jsonrpc_max_connections = 0\n${good}`, 1, 27],
    [`\n   tls_cert = "a.pem"\n${good}`, 2, 15],
    [good.replace("[logging]", '[logging]\nlog_filter = "info,,db=loud"'), 4, 14],
    ["a = 1\na = 2", 2, undefined],
    [`${good}[database]\n`, undefined, undefined],
    ['ws_listener = "127.0.0.1:0"\n[database]\n', 2, 1],
  ] as const) {
    const error = await editRefused(node, config);
    expect(error).toMatchObject({ code: 101, data: { kind: "ParseError" } });
    expect(error.message).toStartWith("ParseError: ");
    const found = { config, line: error.data.line, column: error.data.column };
    expect(found).toEqual({ config, line: line ?? expect.any(Number), column: column ?? expect.any(Number) });
  }
  expect(await read(node)).toBe(text);
  expect(await stat(node.configPath)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  expect((await readdir(node.folder)).sort()).toEqual(listing);
  // No reload was attempted either.
  await Bun.sleep(50);
  expect(messages(node).length).toBe(quiet);
});

test("a missing or ill-typed config_string is named", async () => {
  await using node = await testNode();
  for (const config_string of [undefined, null, 5, ["a"]]) {
    const { code, data } = await node.refused("node-server_edit_config", {
      token: node.superToken,
      config_string,
    });
    expect({ code, field: data.field }).toEqual({ code: -32602, field: "config_string" });
  }
});

test("only the Super Token reads and edits; a refused text is not even looked at", async () => {
  await using node = await testNode();
  const text = await read(node);
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  for (const given of [token, "no:body", "root|wrong"]) {
    for (const [method, more] of [
      ["node-server_read_config", {}],
      ["node-server_edit_config", { config_string: "nonsense" }],
      ["node-server_edit_config", { config_string: `${text}\n# changed` }],
    ] as const) {
      expect(await node.refused(method, { token: given, ...more })).toMatchObject({
        code: 102,
      });
    }
  }
  expect(await read(node)).toBe(text);
});

/** Both methods refuse what stands where the configuration was, with the same words. */
async function refuses(node: TestNode, good: string, code: number, kind: string): Promise<void> {
  const reading = await within(
    "reading is refused",
    node.refused("node-server_read_config", [node.superToken]),
  );
  const editing = await within("editing is refused", editRefused(node, good));
  for (const error of [reading, editing]) {
    expect(error).toMatchObject({ code, data: { kind } });
    expect(error.message).not.toContain(node.folder);
  }
}

test("only a regular file is read and written: no link, no folder, no pipe, no socket", async () => {
  await using node = await testNode();
  const good = await readFile(node.configPath, "utf8");
  const aside = join(node.folder, "aside.toml");
  await rename(node.configPath, aside);
  await refuses(node, good, 107, "ConfigNotFound");

  await symlink(aside, node.configPath);
  await refuses(node, `${good}# through the link`, 108, "InvalidInput");
  expect(await readFile(aside, "utf8")).toBe(good);
  await rm(node.configPath);
  await symlink(join(node.folder, "nowhere"), node.configPath);
  await refuses(node, good, 108, "InvalidInput");
  await rm(node.configPath);

  await mkdir(node.configPath);
  await refuses(node, good, 108, "InvalidInput");
  await rm(node.configPath, { recursive: true });

  expect(await Bun.spawn(["mkfifo", node.configPath]).exited).toBe(0);
  await refuses(node, good, 108, "InvalidInput");
  await rm(node.configPath);

  const listener = createServer().listen(node.configPath);
  await once(listener, "listening");
  await refuses(node, good, 108, "InvalidInput");
  await new Promise((resolve) => listener.close(resolve));

  await rename(aside, node.configPath);
  expect(await edit(node, good)).toBe(true);
  expect(
    (await readdir(node.folder)).filter(
      (name) => !/^(config\.toml|config\.link-key|data|.*uuid.*)$/.test(name),
    ),
  ).toEqual([]);
});

test("a configuration outside the working directory is served from, but neither read nor written", async () => {
  await using elsewhere = await tempFolder();
  await using node = await testNode({ workingDirectory: elsewhere.path });
  const good = await readFile(node.configPath, "utf8");
  await refuses(node, `${good}# changed`, 108, "InvalidInput");
  expect(await readFile(node.configPath, "utf8")).toBe(good);
});

test("a linked folder does not lead outside", async () => {
  await using outside = await tempFolder();
  await using home = await newHome();
  const path = join(outside.path, "config.toml");
  await writeFile(path, configText(sqliteUrl));
  await symlink(outside.path, home.file("conf"));
  const server = await home.launch({}, ["serve", "-c", "conf/config.toml"]).ready();
  const good = await readFile(path, "utf8");
  for (const reply of [
    await server.send("node-server_read_config", [server.superToken]),
    await server.send("node-server_edit_config", [server.superToken, `${good}# changed`]),
  ]) {
    expect(reply.error).toMatchObject({ code: 108, message: expect.stringContaining("working directory") });
  }
  expect(await readFile(path, "utf8")).toBe(good);
  expect(await readdir(outside.path)).not.toContainEqual(expect.stringMatching(/tmp|recovery/));
});

test("inside means below: a folder whose name merely begins the same is outside", async () => {
  await using folder = await tempFolder();
  const [inner, neighbour] = [join(folder.path, "work"), join(folder.path, "workshop")];
  await mkdir(join(inner, "deep", "er"), { recursive: true });
  await mkdir(neighbour);
  const text = configText(sqliteUrl);
  const at = async (...parts: string[]) => {
    const path = join(...parts, "config.toml");
    await writeFile(path, text);
    return path;
  };
  expect(await new ConfigFile(await at(inner), inner).read()).toBe(text);
  expect(await new ConfigFile(await at(inner, "deep", "er"), inner).read()).toBe(text);
  for (const path of [await at(neighbour), await at(folder.path), `${inner}/../config.toml`]) {
    const refused = await new ConfigFile(path, inner).read().catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "InvalidInput" });
  }
});

test("everything is inside the root folder, where a container's server may run", async () => {
  await using node = await testNode({ workingDirectory: "/" });
  const good = await readFile(node.configPath, "utf8");
  expect(await read(node)).toBe(good);
  expect(await edit(node, `${good}# changed`)).toBe(true);
});
