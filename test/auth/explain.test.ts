import { expect } from "bun:test";
import { eachDatabase } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

const read = { static_bucket_file: "read" };
const write = { static_bucket_file: "write" };
const site = { static_bucket: "site" };

eachDatabase("a token is told what it may do, and by which of its limits", async (database) => {
  await using node = await sharedNode({ database });
  const alice = node.own("alice");
  const limits = [
    { scopes: [{ static_bucket: "docs" }], permissions: [write] },
    { scopes: [{ static_bucket: "si*" }], permissions: [read, { static_bucket_file: "list" }] },
  ];
  const made = (await node.call("token_create", {
    father_token: node.superToken,
    token_creation: { username: alice, password: "long enough", token_limit: limits },
  })) as { key: string; secret: string };
  const token = `${made.key}:${made.secret}`;
  const explain = (params: object) => node.call("token_explain", { token, ...params });

  expect(await explain({ permission: read, scope: site })).toEqual({
    token_key: made.key,
    allowed: true,
    reason: "granted",
    limit: 1,
    elsewhere: [],
  });
  const refused = { token_key: made.key, allowed: false, reason: "not_granted", limit: null };
  expect(await explain({ permission: write, scope: site })).toEqual({ ...refused, elsewhere: [0] });
  expect(await explain({ permission: read, scope: "global" })).toEqual({ ...refused, elsewhere: [1] });
  expect(await explain({ permission: read, scope: { static_bucket: "s*" } })).toMatchObject(refused);
  expect(await explain({ permission: { node: "metrics" }, scope: "global" })).toEqual({
    ...refused,
    elsewhere: [],
  });

  const ofAlice = { target_token: alice, permission: read, scope: site };
  expect(await node.refused("token_explain", { token, ...ofAlice })).toMatchObject({
    data: { reason: "missing_permission" },
  });
  expect(await explain({ token: node.superToken, ...ofAlice })).toMatchObject({ allowed: true, limit: 1 });
  expect(await explain({ token: node.superToken, permission: read, scope: site })).toMatchObject({
    allowed: true,
    reason: "super_token",
    limit: null,
  });
});

eachDatabase("a token that is not valid now may do nothing, whatever its limits grant", async (database) => {
  await using node = await sharedNode({ database });
  const ask = async (lifetime: object) => {
    const { key } = (await node.call("token_create", {
      father_token: node.superToken,
      token_creation: { token_limit: [{ scopes: [site], permissions: [read] }], ...lifetime },
    })) as { key: string };
    return node.call("token_explain", {
      token: node.superToken,
      target_token: key,
      permission: read,
      scope: site,
    });
  };
  const ended = { allowed: false, limit: 0 };
  expect(await ask({ timestamp_to: 1 })).toMatchObject({ ...ended, reason: "expired" });
  expect(await ask({ timestamp_from: Date.now() + 60_000 })).toMatchObject({
    ...ended,
    reason: "not_yet_valid",
  });
  expect(await ask({})).toMatchObject({ allowed: true, reason: "granted" });
});

eachDatabase("what is no permission or no scope is refused by its name", async (database) => {
  await using node = await sharedNode({ database });
  const token = node.superToken;
  for (const [params, field] of [
    [{ permission: { node: "nothing" }, scope: "global" }, "permission"],
    [{ permission: read, scope: { bucket: "site" } }, "scope"],
    [{ permission: read, scope: { static_bucket: "a*b" } }, "scope"],
  ] as const)
    expect(await node.refused("token_explain", { token, ...params })).toMatchObject({ data: { field } });
  expect(
    await node.refused("token_explain", { token, permission: read, scope: site, target_token: "nobody" }),
  ).toMatchObject({ data: { kind: "NotFound" } });
});
