import { expect } from "bun:test";
import { hashSecret } from "../../src/auth/credentials.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { eachDatabase, migratedDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";

/** A refusal must not take longer for a key whose token has much to read: that would tell that the key exists. */
eachDatabase("the limits of a token are read for the right secret only", async (kind) => {
  await using folder = await tempFolder();
  const place = await migratedDatabase(kind, folder.path);
  const database = await openDatabase(settingsFor(place.url), new LogHub(), { create: true });
  const limits = [{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }];
  const secretHash = hashSecret("right");
  await database.tokens.insert({
    key: "k",
    secretHash,
    from: null,
    to: null,
    limits,
    username: "u",
    passwordHash: "hash",
    createdBy: null,
    name: null,
  });
  expect(await database.tokens.byKeyWithSecret("k", secretHash)).toMatchObject({ key: "k", limits });
  expect(await database.tokens.byKeyWithSecret("k", hashSecret("wrong"))).toMatchObject({
    key: "k",
    secretHash,
    limits: null,
  });
  expect(await database.tokens.byKeyWithSecret("other", secretHash)).toBeUndefined();
  expect(await database.tokens.passwordOf("u")).toEqual({ key: "k", passwordHash: "hash" });
  await database.close();
  await place.drop();
});

/** The statements that the server has sent about tokens since the last call of this. */
function statementsOf({ node }: TestNode): () => string[] {
  let seen = 0;
  return () => {
    const all = node.ring.entries().map(({ message }) => message);
    const fresh = all.slice(seen).filter((message) => message.includes('"token"'));
    seen = all.length;
    return fresh;
  };
}

/** Whether a statement may read the limits of a token without comparing its secret. */
const readsLimits = (statement: string) =>
  statement
    .replace(/case when "token_hash" = (\?|\$1) then "token_limit" end as "token_limit"/, "")
    .match(/select \*|"token_limit"/) !== null;

eachDatabase("no wrong key, secret, name or password makes the server read limits", async (database) => {
  await using node = await testNode({ database, logging: 'memory_log_filter = "off,sqlx=trace"\n' });
  const token = await node.newToken([], { username: "anna", password: "right-word" });
  const statements = statementsOf(node);
  const [key = ""] = token.split(":");
  statements();
  for (const wrong of [`${key}:wrong`, "unknown:wrong", "anna|wrong", "nobody|wrong"]) {
    expect((await node.refused("token_get", { token: wrong })).code).toBe(102);
    const sent = statements();
    expect(sent.length).toBeGreaterThan(0);
    expect([wrong, sent.filter(readsLimits)]).toEqual([wrong, []]);
  }
  for (const name of [key, "anna", "nobody"]) {
    const authorization = `Basic ${btoa(`${name}:wrong`)}`;
    const answer = await fetch(`${node.url}/node/static-webdav/site/`, { headers: { authorization } });
    expect(answer.status).toBe(401);
    const sent = statements();
    expect(sent.length).toBeGreaterThan(0);
    expect([name, sent.filter(readsLimits)]).toEqual([name, []]);
  }
  // The right ones do, so the statements are what this looks for.
  expect(await node.call("token_get", { token: "anna|right-word" })).toMatchObject({ username: "anna" });
  expect(statements().filter(readsLimits)).not.toEqual([]);
});
