import { expect, test } from "bun:test";
import { readdir, stat } from "node:fs/promises";
import { configText, eachDatabase, type TestNode, testNode } from "../support/node.ts";

const asked = (node: TestNode, config_string: unknown) => ({ token: node.superToken, config_string });

eachDatabase(
  "check_config says of a text what edit_config would say, and writes nothing",
  async (database) => {
    await using node = await testNode({ database, logging: 'memory_log_filter = "info"' });
    const good = configText(node.databaseUrl);
    const listing = (await readdir(node.folder)).sort();
    const before = await stat(node.configPath);
    const quiet = node.node.ring.entries().length;
    for (const text of [good, `${good}# another\n`])
      expect(await node.call("node-server_check_config", asked(node, text))).toEqual({
        valid: true,
        warnings: [],
      });
    for (const text of [
      "",
      "ws_listener = \n",
      good.replace("127.0.0.1:0", "nowhere"),
      `${good}\n  sql_timeout_ms = "soon"`,
      good.replace("[logging]", '[logging]\nlog_filter = "info,,db=loud"'),
      good.replace("[logging]", `[logging]\naccess_log = "${node.folder}/config.link-key"`),
      `jsonrpc_max_connections = 0\n${good}`,
    ]) {
      const error = await node.refused("node-server_check_config", asked(node, text));
      expect(error).toMatchObject({ code: 101, data: { kind: "ParseError", line: expect.any(Number) } });
      expect(error).toEqual(await node.refused("node-server_edit_config", asked(node, text)));
    }
    expect(await stat(node.configPath)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
    expect((await readdir(node.folder)).sort()).toEqual(listing);
    // What is checked is not applied either.
    expect(node.node.ring.entries().length).toBe(quiet);
  },
);

test("check_config names every mistake of a text in data.problems, misspelt keys beside what is missing", async () => {
  await using node = await testNode();
  const text = configText(node.databaseUrl).replace("ws_listener", "  ws_listner");
  const error = await node.refused("node-server_check_config", asked(node, `max_upload_size = "x"\n${text}`));
  expect(error.data).toEqual({
    kind: "ParseError",
    detail: expect.any(String),
    line: 1,
    column: 1,
    field: "ws_listener",
    problems: [
      {
        file: "config.toml",
        line: 1,
        column: 1,
        field: "ws_listener",
        why: expect.stringContaining("is missing; "),
      },
      {
        file: "config.toml",
        line: 1,
        column: 19,
        field: "max_upload_size",
        why: expect.stringContaining("whole number"),
      },
      {
        file: "config.toml",
        line: 2,
        column: 3,
        field: "ws_listner",
        why: "is unknown and has no effect; did you mean ws_listener?",
      },
    ],
  });
  const broken = await node.refused("node-server_check_config", asked(node, 'a = 1\nb = "\n'));
  expect(broken.data.problems).toEqual([
    { file: "config.toml", line: 2, column: 5, why: expect.stringContaining("closing quote") },
  ]);
});

test("check_config warns of what is valid and probably not meant, with its place", async () => {
  await using node = await testNode({ env: { RUST_LOG: "" } });
  const text = configText(node.databaseUrl, { top: "colour = 1\n", logging: 'log_filter = "inof"' });
  const line = (start: string) => text.split("\n").findIndex((row) => row.startsWith(start)) + 1;
  expect(await node.call("node-server_check_config", asked(node, text))).toEqual({
    valid: true,
    warnings: [
      { field: "colour", why: "is unknown and has no effect", line: line("colour"), column: 1 },
      {
        field: "logging.log_filter",
        why: "names the target `inof`, under which nothing is logged; did you mean `info`?",
        line: line("log_filter"),
        column: 14,
      },
    ],
  });
});

test("check_config warns of keys that have no effect, because the server was started with other values", async () => {
  await using node = await testNode({ env: { NODE_SERVER_MAX_UPLOAD_SIZE: "5", RUST_LOG: "warn" } });
  const warned = async (top: string, logging = "") => {
    const text = configText(node.databaseUrl, { top, logging });
    const { warnings } = (await node.call("node-server_check_config", asked(node, text))) as {
      readonly warnings: ReadonlyArray<{ readonly field: string; readonly why: string }>;
    };
    return warnings.map(({ field, why }) => [field, /\b(RUST_LOG|NODE_SERVER_[A-Z_]+)\b/.exec(why)?.[1]]);
  };
  expect(await warned("max_upload_size = 7\n", 'log_filter = "info"')).toEqual([
    ["max_upload_size", "NODE_SERVER_MAX_UPLOAD_SIZE"],
    ["logging.log_filter", "RUST_LOG"],
  ]);
  // The same value is in effect, and so is what the text does not set.
  expect(await warned("max_upload_size = 5\n")).toEqual([]);
  expect(await warned("")).toEqual([]);
});

test("check_config names a missing or ill-typed text, and is for the Super Token alone", async () => {
  await using node = await testNode();
  for (const text of [undefined, null, 5, ["a"]])
    expect(await node.refused("node-server_check_config", asked(node, text))).toMatchObject({
      code: -32602,
      data: { field: "config_string" },
    });
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  for (const given of [token, "no:body"])
    expect(
      await node.refused("node-server_check_config", { token: given, config_string: "nonsense" }),
    ).toMatchObject({ code: 102 });
});
