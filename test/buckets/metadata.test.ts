import { expect } from "bun:test";
import type { Lock } from "../../src/buckets/metadata/locks.ts";
import { treePath } from "../../src/buckets/path.ts";
import { metadataRowsWithin } from "../../src/db/rows/metadata-rows.ts";
import { type OpenDatabase, openTestDatabase } from "../support/database.ts";
import { type DatabaseKind, eachDatabase } from "../support/node.ts";

const path = treePath("a/b.txt");
const lock = (until: number): Lock => ({
  token: `urn:uuid:${crypto.randomUUID()}`,
  path,
  kind: "file",
  scope: "shared",
  deep: false,
  owner: "",
  holder: "root",
  until,
});

/** A database in which the token `root` exists: a lock ends with its token. */
async function openWithToken(kind: DatabaseKind): Promise<OpenDatabase> {
  const database = await openTestDatabase(kind);
  await database.rows.tokens.insert({
    key: "root",
    secretHash: "",
    from: null,
    to: null,
    username: null,
    passwordHash: null,
    limits: [],
    createdBy: null,
    name: null,
  });
  return database;
}

eachDatabase("locks and properties of a transaction are all written, or none", async (kind) => {
  await using database = await openWithToken(kind);
  const outside = database.metadata("site");
  const inTransaction = (fail: boolean) =>
    database.dialect.transact(async (transaction) => {
      const inside = outside.within(metadataRowsWithin(database.rows, transaction, 1000));
      expect(await inside.locks.around(path)).toEqual([]);
      await inside.locks.acquire(lock(2000));
      await inside.properties.change(path, new Map([["{x}y", "<y/>"]]));
      expect(await inside.locks.around(path)).toHaveLength(1);
      expect(await inside.properties.get(path)).toEqual({ "{x}y": "<y/>" });
      expect(await outside.properties.get(path)).toEqual({});
      if (fail) throw new RangeError("changed my mind");
    });
  await expect(inTransaction(true)).rejects.toThrow("changed my mind");
  expect(await outside.properties.get(path)).toEqual({});
  await inTransaction(false);
  expect(await outside.properties.get(path)).toEqual({ "{x}y": "<y/>" });
});

eachDatabase("locks of a transaction expire by the clock that it was given", async (kind) => {
  await using database = await openWithToken(kind);
  const outside = database.metadata("site");
  const until = Date.now() + 60_000;
  await outside.locks.acquire(lock(until));
  const seenAt = (nowMs: number) =>
    database.dialect.transact(async (transaction) => {
      const { locks } = outside.within(metadataRowsWithin(database.rows, transaction, nowMs));
      expect(locks.now()).toBe(nowMs);
      return (await locks.around(path)).length;
    });
  expect([await seenAt(until - 1), await seenAt(until)]).toEqual([1, 0]);
});
