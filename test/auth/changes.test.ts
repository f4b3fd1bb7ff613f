import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openNode } from "../../src/node.ts";
import {
  configText,
  eachDatabase,
  type TestNode,
  tempFolder,
  testNode,
  type WireReply,
} from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { openSocket } from "../support/socket.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const databaseType = [{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }];
const allowed = { result: { success: true, data: expect.any(String) } };
const missing = { error: { code: 102, data: { reason: "missing_permission" } } };
const invalid = { error: { code: 102, data: { reason: "invalid_credentials" } } };

type Ask = (method: string, params: unknown) => Promise<WireReply>;

/** Asks through every door: each must give the same answer. */
async function everywhere(doors: readonly Ask[], token: string): Promise<WireReply> {
  const replies = await Promise.all(doors.map((ask) => ask("node-server_get_database_type", { token })));
  const told = replies.map(({ result, error }) => JSON.stringify(result ?? error));
  expect(new Set(told).size).toBe(1);
  return replies[0] as WireReply;
}

/** What the owner of the servers changes, and what a token may do after it. */
async function liveThroughChanges(node: TestNode, doors: readonly Ask[]): Promise<void> {
  const { superToken } = node;
  const anna = node.own("anna");
  const change = (method: string, more: Record<string, unknown> = {}) =>
    node.call(method, { token: superToken, target_token: anna, ...more });
  const token = await node.newToken([], { username: anna, password: "first-word" });

  expect(await everywhere(doors, token)).toMatchObject(missing);
  expect(await everywhere(doors, `${anna}|first-word`)).toMatchObject(missing);
  await change("token_edit", { limit: databaseType });
  expect(await everywhere(doors, token)).toMatchObject(allowed);
  expect(await everywhere(doors, `${anna}|first-word`)).toMatchObject(allowed);

  await change("token_change_password", { new_password: "second-word" });
  expect(await everywhere(doors, `${anna}|first-word`)).toMatchObject(invalid);
  expect(await everywhere(doors, `${anna}|second-word`)).toMatchObject(allowed);
  expect(await everywhere(doors, token)).toMatchObject(allowed);

  const rolled = (await change("token_roll_token_secret")) as { key: string; secret: string };
  expect(await everywhere(doors, token)).toMatchObject(invalid);
  expect(await everywhere(doors, `${rolled.key}:${rolled.secret}`)).toMatchObject(allowed);
  expect(await everywhere(doors, `${anna}|second-word`)).toMatchObject(allowed);

  await change("token_edit", { limit: [] });
  expect(await everywhere(doors, `${rolled.key}:${rolled.secret}`)).toMatchObject(missing);
  await change("token_edit", { limit: databaseType });

  await change("token_delete");
  expect(await everywhere(doors, `${rolled.key}:${rolled.secret}`)).toMatchObject(invalid);
  expect(await everywhere(doors, `${anna}|second-word`)).toMatchObject(invalid);

  await node.newToken(databaseType, { username: anna, password: "third-word" });
  expect(await everywhere(doors, `${anna}|second-word`)).toMatchObject(invalid);
  expect(await everywhere(doors, `${anna}|third-word`)).toMatchObject(allowed);
}

eachDatabase(
  "a changed token is changed for the next call, over HTTP and on a WebSocket that was open before",
  async (database) => {
    await using node = await sharedNode({ database });
    await using socket = await node.socket();
    await liveThroughChanges(node, [node.send, socket.call]);
  },
);

test("a token changed on one server is changed for the next call on another server of the same PostgreSQL", async () => {
  await using node = await testNode({ database: "postgres" });
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  await writeFile(configPath, configText(node.databaseUrl));
  let shown = 0;
  await using second = await openNode({
    configPath,
    workingDirectory: folder.path,
    env: { RUST_LOG: "off" },
    show: () => {
      shown += 1;
    },
  });
  expect(shown).toBe(0);
  await using socket = await node.socket();
  await using far = await openSocket(second.url);
  const farPost: Ask = async (method, params) => {
    const reply = await fetch(`${second.url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }),
    });
    return (await reply.json()) as WireReply;
  };
  expect((await farPost("token_list_all_tokens", { token: node.superToken })).result).toMatchObject({
    tokens: [{ username: "root" }],
  });
  await liveThroughChanges(node, [node.send, socket.call, farPost, far.call]);
});

eachDatabase("a row that is changed past the server counts for the next call", async (database) => {
  await using node = await sharedNode({ database });
  const anna = node.own("anna");
  const token = await node.newToken([], { username: anna, password: "right-word" });
  await node.call("token_get", { token: `${anna}|right-word` });
  await node.sql(`UPDATE token SET password_hash = NULL WHERE username = '${anna}'`);
  expect(await node.refused("token_get", { token: `${anna}|right-word` })).toMatchObject(invalid.error);
  await node.sql(`UPDATE token SET time_stamp_to = 1 WHERE username = '${anna}'`);
  expect((await node.refused("token_get", { token })).data.reason).toBe("expired");
  await node.sql(`DELETE FROM token WHERE username = '${anna}'`);
  expect(await node.refused("token_get", { token })).toMatchObject(invalid.error);
});

eachDatabase("a change within a batch counts for the batch's next call", async (database) => {
  await using node = await sharedNode({ database });
  const anna = node.own("anna");
  const token = await node.newToken([], { username: anna });
  const calls = [
    ["token_get", { token }],
    ["token_edit", { token: node.superToken, target_token: anna, limit: databaseType }],
    ["node-server_get_database_type", { token }],
    ["token_delete", { token: node.superToken, target_token: anna }],
    ["token_get", { token }],
  ] as const;
  const reply = await node.post(
    JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: "2.0", method, params, id }))),
  );
  expect(await reply.json()).toMatchObject([
    { result: { username: anna } },
    { result: { success: true } },
    allowed,
    { result: { rows_affected: 1 } },
    invalid,
  ]);
});
