import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { SQL } from "bun";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

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
  await using node = await testNode({ database });
  await node.newToken([], { username: "anna", password: "same-word" });
  await node.newToken([], { username: "mia", password: "same-word" });
  const change = () =>
    node.call("token_change_password", {
      token: node.superToken,
      target_token: "anna",
      new_password: "same-word",
    });
  const hashes = new Set((await storedTokens(node)).map(({ password_hash }) => password_hash));
  await change();
  hashes.add((await storedTokens(node))[1]?.password_hash ?? null);
  expect(hashes.size).toBe(4);
});

eachDatabase("a token without user name and password has neither stored", async (database) => {
  await using node = await testNode({ database });
  await node.newToken([], { username: null, password: null, timestamp_from: null, timestamp_to: null });
  expect((await storedTokens(node))[1]).toMatchObject({
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
  await using node = await testNode({ database });
  const token = await node.newToken([], { username: "anna", password: "right-word" });
  await node.newToken([], { username: "mia", password: "right-word" });
  const before = await storedTokens(node);
  const { superToken } = node;
  const rolled = (await node.call("token_roll_token_secret", {
    token: superToken,
    target_token: token.split(":")[0],
  })) as {
    secret: string;
  };
  const after = await storedTokens(node);
  expect(after[1]).toEqual({ ...(before[1] as StoredToken), token_hash: sha256(rolled.secret) });
  expect([after[0], after[2]]).toEqual([before[0], before[2]]);
});

eachDatabase(
  "rights that somebody wrote into the row by hand and that are not understood grant nothing",
  async (database) => {
    await using node = await testNode({ database });
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
      await node.sql(`UPDATE token SET token_limit = '${json}' WHERE id = 2`);
      expect({ json, code: (await node.refused("node-server_get_database_type", { token })).code }).toEqual({
        json,
        code: 102,
      });
    }
    await node.sql(
      `UPDATE token SET token_limit = '[{"scopes":["global"],"permissions":[{"node":"get_database_type"}]}]' WHERE id = 2`,
    );
    await node.call("node-server_get_database_type", { token });
  },
);
