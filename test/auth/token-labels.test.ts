import { expect } from "bun:test";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const keyOf = (token: string) => token.split(":")[0] ?? "";

eachDatabase("a token has the name that it was created with, and token_edit changes it", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken } = node;
  const token = await node.newToken([], { name: "Резервная копия NAS 📦" });
  const target_token = keyOf(token);
  const name = async () => ((await node.call("token_get", { token })) as { name: string | null }).name;
  const edit = (more: object) =>
    node.call("token_edit", { token: superToken, target_token, limit: [], ...more });
  expect(await name()).toBe("Резервная копия NAS 📦");
  await edit({ name: "nightly backup" });
  expect(await name()).toBe("nightly backup");
  await edit({});
  expect(await name()).toBe("nightly backup");
  await edit({ name: null });
  expect(await name()).toBeNull();
  expect(await node.call("token_get", { token: superToken })).toMatchObject({ name: null });
});

eachDatabase("names need not be unique, and no token is found by its name", async (database) => {
  await using node = await testNode({ database });
  for (const name of ["backup", "backup", "root"]) await node.newToken([], { name });
  const { tokens } = (await node.call("token_list_all_tokens", [node.superToken])) as {
    tokens: { name: string | null }[];
  };
  expect(tokens.map(({ name }) => name)).toEqual([null, "backup", "backup", "root"]);
  expect(await node.refused("token_delete", [node.superToken, "backup"])).toMatchObject({ code: 105 });
});

eachDatabase("a name that cannot be shown, or is a token, is refused with its field", async (database) => {
  await using node = await sharedNode({ database });
  const token = await node.newToken([], { name: "x".repeat(100) });
  for (const name of [
    "",
    "x".repeat(101),
    "two\nlines",
    "a\u0000b",
    "a\u200bb",
    "a\u202eb",
    "\ud800",
    "\ue000",
    " edge",
    "edge ",
    token,
    7,
  ]) {
    const made = await node.refused("token_create", [node.superToken, { token_limit: [], name }]);
    expect([name, made.code, made.data.field]).toEqual([name, -32602, "token_creation.name"]);
    expect(made.message).not.toContain(token);
    const params = { token: node.superToken, target_token: keyOf(token), limit: [], name };
    const edited = await node.refused("token_edit", params);
    expect([name, edited.code, edited.data.field]).toEqual([name, -32602, "name"]);
  }
  expect(await node.call("token_get", { token })).toMatchObject({ name: "x".repeat(100) });
});
