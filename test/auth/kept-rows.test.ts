import { expect } from "bun:test";
import { eachDatabase, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { lockInfo, locksNamespace } from "../support/webdav-locks.ts";

const sharedNode = sharedNodes();

const limits = [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }];
const keyOf = (token: string) => token.split(":")[0] ?? "";

/** Uses the token until its row is kept, where rows are kept. */
async function use(node: TestNode, token: string): Promise<void> {
  for (let round = 0; round < 3; round += 1)
    expect(await node.call("token_get", { token })).toMatchObject({ token_key: keyOf(token) });
}

eachDatabase("a token that another program deletes is refused by the very next call", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken(limits);
  await use(node, token);
  await node.sql(`DELETE FROM token WHERE token_key = '${keyOf(token)}'`);
  expect(await node.refused("token_get", { token })).toMatchObject({ code: 102 });
});

eachDatabase("a secret that another program changes is refused by the very next call", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken(limits);
  await use(node, token);
  await node.sql(`UPDATE token SET token_hash = 'none' WHERE token_key = '${keyOf(token)}'`);
  expect(await node.refused("token_get", { token })).toMatchObject({ code: 102 });
});

eachDatabase("limits that another program changes hold for the very next call", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken(limits);
  const run = () => node.send("node-server_exec_sql", { token, sql: "SELECT 1 AS one" });
  for (let round = 0; round < 3; round += 1) expect((await run()).error).toBeUndefined();
  await node.sql(`UPDATE token SET token_limit = '[]' WHERE token_key = '${keyOf(token)}'`);
  expect((await run()).error).toMatchObject({ code: 102 });
});

eachDatabase("a wrong secret for a key whose row is kept is refused", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken(limits);
  await use(node, token);
  expect(await node.refused("token_get", { token: `${keyOf(token)}:wrong` })).toMatchObject({ code: 102 });
  await use(node, token);
});

eachDatabase(
  "a lock that another program makes or removes holds for the very next change",
  async (database) => {
    await using node = await sharedNode({ database });
    await node.call("static-bucket_create", { token: node.superToken, name: node.bucket });
    const address = `${node.url}/node/static-webdav/${node.bucket}/a.txt`;
    const authorization = `Basic ${btoa(node.superToken)}`;
    const put = async () =>
      (await fetch(address, { method: "PUT", headers: { authorization }, body: "a" })).status;
    expect([await put(), await put()]).toEqual([201, 204]);
    const lock = { method: "LOCK", headers: { authorization }, body: lockInfo };
    expect((await fetch(address, lock)).status).toBe(200);
    expect(await put()).toBe(423);
    await node.sql(`DELETE FROM kv WHERE namespace = '${locksNamespace(node.bucket)}'`);
    expect(await put()).toBe(204);
  },
);
