import { expect } from "bun:test";
import { hashSecret } from "../../src/auth/secrets.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { eachDatabase, newDatabase, settingsFor, tempFolder } from "../support/node.ts";

/** A refusal must not take longer for a key whose token has much to read: that would tell that the key exists. */
eachDatabase("the limits of a token are read for the right secret only", async (kind) => {
  await using folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
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
