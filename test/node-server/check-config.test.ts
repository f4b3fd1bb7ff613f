import { expect, test } from "bun:test";
import { readdir, stat } from "node:fs/promises";
import { configText, eachDatabase, type TestNode, testNode } from "../support/node.ts";

const asked = (node: TestNode, config_string: unknown) => ({ token: node.superToken, config_string });

eachDatabase(
  "check_config says of a text what edit_config would say, and writes nothing",
  async (database) => {
    await using node = await testNode({ database, logging: 'memory_log_filter = "info"' });
    const good = configText(node.databaseUrl);
    const listing = await readdir(node.folder);
    const before = await stat(node.configPath);
    const quiet = node.node.ring.entries().length;
    for (const text of [good, `${good}# another\n`, `unknown_key = 1\n${good}`])
      expect(await node.call("node-server_check_config", asked(node, text))).toBe(true);
    for (const text of [
      "",
      "ws_listener = \n",
      good.replace("127.0.0.1:0", "nowhere"),
      `${good}\n  sql_timeout_ms = "soon"`,
      good.replace("[logging]", '[logging]\nlog_filter = "info,,db=loud"'),
      `jsonrpc_max_connections = 0\n${good}`,
    ]) {
      const error = await node.refused("node-server_check_config", asked(node, text));
      expect(error).toMatchObject({ code: 101, data: { kind: "ParseError", line: expect.any(Number) } });
      expect(error).toEqual(await node.refused("node-server_edit_config", asked(node, text)));
    }
    expect(await stat(node.configPath)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
    expect(await readdir(node.folder)).toEqual(listing);
    // What is checked is not applied either.
    expect(node.node.ring.entries().length).toBe(quiet);
  },
);

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
    ).toMatchObject({ code: 102, message: "Permission Denied: Super token required" });
});
