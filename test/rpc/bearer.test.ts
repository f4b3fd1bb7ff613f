import { expect, test } from "bun:test";
import { sharedNodes } from "../support/shared-node.ts";

const open = sharedNodes();

async function post(url: string, authorization: string, call: object) {
  const response = await fetch(`${url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...call }),
  });
  return (await response.json()) as { result?: unknown; error?: { code: number; data: object } };
}

test("a call without a token in its params has that of the Bearer header, named or in order", async () => {
  await using node = await open();
  const bearer = `Bearer ${node.superToken}`;
  await node.call("static-bucket_create", [node.superToken, node.bucket]);
  const read = { method: "static-bucket_read" };
  for (const params of [{ name: node.bucket }, { name: node.bucket, token: null }, [null, node.bucket]])
    expect(await post(node.url, bearer, { ...read, params })).toMatchObject({
      result: { name: node.bucket },
    });
  expect(await post(node.url, bearer, { method: "token_get" })).toMatchObject({
    result: { username: "root" },
  });
  // `token_create` has another name for the param.
  const token_creation = { token_limit: [{ scopes: ["global"], permissions: [{ node: "read_logs" }] }] };
  expect(await post(node.url, bearer, { method: "token_create", params: { token_creation } })).toMatchObject({
    result: { key: expect.any(String) },
  });
});

test("a token in the params wins over the header", async () => {
  await using node = await open();
  const reader = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
  const list = { method: "static-bucket_list", params: { token: reader } };
  expect(await post(node.url, `Bearer ${node.superToken}`, list)).toMatchObject({
    error: { code: 102, data: { reason: "missing_permission" } },
  });
  const own = { method: "token_get", params: { token: reader } };
  expect(await post(node.url, "Bearer wrong:secret", own)).toMatchObject({ result: { username: null } });
});

test("what a browser adds by itself to requests of other pages is not a token of a call", async () => {
  await using node = await open();
  const basic = `Basic ${Buffer.from(node.superToken).toString("base64")}`;
  for (const authorization of [basic, "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc"])
    expect(await post(node.url, authorization, { method: "static-bucket_list", params: {} })).toMatchObject({
      error: { code: -32602, data: { field: "token" } },
    });
});
