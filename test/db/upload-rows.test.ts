import { expect } from "bun:test";
import { type SqlBool, sql } from "kysely";
import { Collection, Collections } from "../../src/db/collection.ts";
import { UploadRows } from "../../src/db/rows/upload-rows.ts";
import { openTestDatabase } from "../support/database.ts";
import { bothDatabases } from "../support/node.ts";

const limits = { maxPerToken: 2, maxPerBucket: 3, lifetimeMs: 86_400_000 };

bothDatabases(
  "of finished uploads the last are remembered, without what only the way there needed",
  async (database) => {
    await using opened = await openTestDatabase(database);
    const rows = new UploadRows(opened.dialect);
    const name = (id: string) => ({ bucketId: 1, id });
    const begin = (id: string, by: string) =>
      rows.insert(
        name(id),
        {
          target: "site",
          path: `${id}.txt`,
          by,
          length: 0,
          metadata: "filename YQ==",
          conditions: { "if-match": "*" },
        },
        limits,
      );
    let keepMs = 3_600_000;
    const finish = (id: string) => {
      keepMs += 1000;
      return rows.finish(name(id), { outcome: { created: true, etag: '"e"', modified: 1 }, keepMs });
    };
    const remembered = async (ids: string) => {
      const found = await Promise.all([...ids].map(async (id) => [id, await rows.get(name(id))] as const));
      return found.flatMap(([id, value]) => (value === undefined ? [] : id)).join("");
    };
    for (const id of "abc") {
      expect(await begin(id, "one")).toMatchObject({ offset: 0 });
      await finish(id);
    }
    // The third one of the token made room for itself; unfinished ones are counted on their own.
    expect(await remembered("abc")).toBe("bc");
    expect(await rows.get(name("c"))).toMatchObject({ conditions: {}, outcome: { etag: '"e"' } });
    expect(await rows.get(name("c"))).not.toHaveProperty("metadata");
    expect([await begin("d", "one"), await begin("e", "one"), await begin("f", "one")]).toMatchObject([
      { path: "d.txt" },
      { path: "e.txt" },
      "token",
    ]);
    expect([...(await rows.unfinished(1, "one")).keys()]).toEqual(["d", "e"]);
    expect([...(await rows.unfinished(1, "two")).keys()]).toEqual([]);

    // Of all tokens together as well.
    await begin("g", "two");
    expect(await begin("h", "two")).toBe("bucket");
    for (const id of "deg") await finish(id);
    await begin("i", "two");
    expect(await remembered("abcdegi")).toBe("egi");
  },
);

bothDatabases(
  "the collections of a prefix are those whose namespace begins with it, as it is written",
  async (kind) => {
    await using opened = await openTestDatabase(kind);
    const { dialect } = opened;
    const [ours, others] = [
      ["things/", "things/1", "things/ä", "things/0/1", "things/\u{10ffff}"],
      ["things", "things0", "things.", "Things/1", "thing/1", "things0/1", "/things/1"],
    ];
    for (const namespace of [...ours, ...others])
      await new Collection(dialect, namespace).insert("key", { n: 1 });
    // A value that the condition could not be asked of.
    await new Collection(dialect, "things.else").insert("key", "text");
    const things = new Collections(dialect, "things/");
    const ids = ours.map((namespace) => namespace.slice("things/".length)).sort();
    expect((await things.ids()).sort()).toEqual(ids);
    const isOne = sql<SqlBool>`${dialect.jsonInteger("value", "n")} = 1`;
    expect((await things.find(isOne)).map(({ id }) => id).sort()).toEqual(ids);
    await things.deleteAll(isOne);
    expect(await things.ids()).toEqual([]);
    for (const namespace of others) expect(await new Collection(dialect, namespace).has()).toBe(true);
  },
);
