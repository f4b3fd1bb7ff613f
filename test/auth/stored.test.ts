import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { SQL } from "bun";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

interface StoredToken {
  readonly id: number | string;
  readonly version: number;
  readonly token_key: string;
  readonly token_hash: string;
  readonly time_stamp_from: number | string | null;
  readonly time_stamp_to: number | string | null;
  readonly token_limit: unknown;
  readonly username: string | null;
  readonly password_hash: string | null;
}

/** Straight from the database, past the server. */
async function storedTokens(node: TestNode): Promise<StoredToken[]> {
  await using sql = new SQL({ url: node.databaseUrl, max: 1 });
  return [...((await sql.unsafe("SELECT * FROM token ORDER BY id")) as StoredToken[])];
}

/** The row of a token, which is named as text. */
async function storedToken(node: TestNode, token: string): Promise<StoredToken | undefined> {
  const [key] = token.split(":");
  return (await storedTokens(node)).find(({ token_key }) => token_key === key);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const argon2 = /^\$argon2id\$v=19\$m=\d{5,},t=[2-9],p=\d\$[\w+/]+\$[\w+/]+$/;

eachDatabase(
  "a secret is stored as its SHA-256 in hex and a password as argon2id, and neither as it is",
  async (database) => {
    await using node = await testNode({ database, realPasswordCost: true });
    const limits = [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }];
    const token = await node.newToken(limits, {
      username: "anna",
      password: "right-word",
      timestamp_from: 7,
      timestamp_to: 4_102_444_800_000,
    });
    const [root, anna, ...others] = await storedTokens(node);
    expect(others).toEqual([]);
    const [superKey = "", superSecret = ""] = node.superToken.split(":");
    expect(root).toMatchObject({ token_key: superKey, token_hash: sha256(superSecret), username: "root" });
    expect(root?.password_hash).toMatch(argon2);
    const [key = "", secret = ""] = token.split(":");
    expect(anna).toMatchObject({ version: 1, token_key: key, token_hash: sha256(secret), username: "anna" });
    expect([Number(anna?.time_stamp_from), Number(anna?.time_stamp_to)]).toEqual([7, 4_102_444_800_000]);
    expect(anna?.password_hash).toMatch(argon2);
    expect(typeof anna?.token_limit === "string" ? JSON.parse(anna.token_limit) : anna?.token_limit).toEqual(
      limits,
    );
    const everything = JSON.stringify([root, anna]);
    for (const word of [superSecret, node.rootPassword, secret, "right-word"])
      expect(everything).not.toContain(word);
  },
);

eachDatabase("the same password is stored differently each time", async (database) => {
  await using node = await sharedNode({ database });
  const password = "same-word";
  const anna = await node.newToken([], { username: node.own("anna"), password });
  const mia = await node.newToken([], { username: node.own("mia"), password });
  const hashOf = async (token: string) => (await storedToken(node, token))?.password_hash;
  const hashes = new Set([await hashOf(anna), await hashOf(mia)]);
  const change = { token: node.superToken, target_token: node.own("anna"), new_password: password };
  await node.call("token_change_password", change);
  hashes.add(await hashOf(anna));
  expect([...hashes]).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
});

eachDatabase("a token without user name and password has neither stored", async (database) => {
  await using node = await sharedNode({ database });
  const nothing = { username: null, password: null, timestamp_from: null, timestamp_to: null };
  expect(await storedToken(node, await node.newToken([], nothing))).toMatchObject({
    username: null,
    password_hash: null,
    time_stamp_from: null,
    time_stamp_to: null,
  });
});

eachDatabase("the Super Token is row 1 and the next token is row 2", async (database) => {
  await using node = await testNode({ database });
  await node.newToken([]);
  await node.newToken([]);
  expect((await storedTokens(node)).map(({ id, username }) => [Number(id), username])).toEqual([
    [1, "root"],
    [2, null],
    [3, null],
  ]);
});

eachDatabase("a changed token changes in its row alone", async (database) => {
  await using node = await sharedNode({ database });
  const { superToken } = node;
  const password = "right-word";
  const anna = await node.newToken([], { username: node.own("anna"), password });
  const mia = await node.newToken([], { username: node.own("mia"), password });
  const rows = () => Promise.all([anna, mia, superToken].map((token) => storedToken(node, token)));
  const [before, ...others] = await rows();
  const roll = { token: superToken, target_token: anna.split(":")[0] };
  const { secret } = (await node.call("token_roll_token_secret", roll)) as { secret: string };
  expect(await rows()).toEqual([{ ...(before as StoredToken), token_hash: sha256(secret) }, ...others]);
});

eachDatabase(
  "rights that somebody wrote into the row by hand and that are not understood grant nothing",
  async (database) => {
    await using node = await sharedNode({ database });
    const token = await node.newToken([]);
    for (const json of [
      '"global"',
      "null",
      "{}",
      '[{"scopes":"global","permissions":[{"node":"get_database_type"}]}]',
      '[{"scopes":["GLOBAL"],"permissions":[{"node":"get_database_type"}]}]',
      '[{"scopes":[{"global":"x"}],"permissions":[{"node":"get_database_type"}]}]',
      '[{"scopes":["global"],"permissions":["node.get_database_type"]}]',
      '[{"scopes":["global"],"permissions":[{"node":{"get_database_type":"*"}}]}]',
      "[[]]",
      "[null]",
    ]) {
      await node.sql(`UPDATE token SET token_limit = '${json}' WHERE token_key = '${token.split(":")[0]}'`);
      expect({ json, code: (await node.refused("node-server_get_database_type", { token })).code }).toEqual({
        json,
        code: 102,
      });
    }
    await node.sql(
      `UPDATE token SET token_limit = '[{"scopes":["global"],"permissions":[{"node":"get_database_type"}]}]' WHERE token_key = '${token.split(":")[0]}'`,
    );
    await node.call("node-server_get_database_type", { token });
  },
);
