import { expect } from "bun:test";
import { eachDatabase, testNode } from "./support/node.ts";

eachDatabase("a server answers hello and makes a token", async (database) => {
  await using node = await testNode({ database });
  expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  expect(await node.call("token_get", { token })).toMatchObject({
    token_limit: [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }],
  });
  await using socket = await node.socket();
  expect(await socket.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
});
