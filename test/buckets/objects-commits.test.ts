import { expect } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import { folderPath } from "../../src/buckets/path.ts";
import type { RowTree } from "../../src/buckets/trees/rows/row-tree.ts";
import { bothDatabases } from "../support/node.ts";
import { blobKeys, objectNodes, putText, readText } from "../support/object-store.ts";
import { scaled, tier } from "../support/tier.ts";

/** How often two nodes meet. */
const rounds = tier === "fast" ? 50 : 200;

const at = (text: string) => folderPath(text);

/** Puts a text where nothing exists, as a PUT with `If-None-Match: *` does. */
async function create(store: RowTree, path: string, text: string): Promise<"created" | "exists"> {
  await using staged = await store.stage(Buffer.from(text), at(path));
  try {
    await store.transact([at(path)], async (transaction, [target]) => {
      if (target.entry !== undefined) throw new Fault("Other", "it exists");
      return transaction.put(staged, target.path, { makeParents: true });
    });
    return "created";
  } catch (error) {
    if (error instanceof Fault && error.detail === "it exists") return "exists";
    throw error;
  }
}

bothDatabases(
  "changes that wait are committed together, and a refused one drops only itself",
  async (kind) => {
    await using nodes = await objectNodes(kind);
    const { store, database, blobs, changes } = await nodes.open();
    const commits = changes();
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, async (_, index) => {
        await using staged = await store.stage(Buffer.from(`text ${index}`), at(`f/${index}`));
        return await store.transact([at(`f/${index}`)], async (transaction, [target]) => {
          const stats = await transaction.put(staged, target.path, { makeParents: true });
          await transaction.metadata.properties.change(target.path, new Map([["{x}y", "<y/>"]]));
          if (index % 10 === 7) throw new Error(`no ${index}`);
          return stats;
        });
      }),
    );
    const refused = results.flatMap((result, index) => (result.status === "rejected" ? [index] : []));
    expect(refused).toEqual([7, 17, 27, 37]);
    expect(String((results[17] as PromiseRejectedResult).reason)).toContain("no 17");
    expect(changes() - commits).toBeLessThan(36);
    for (let index = 0; index < 40; index += 1) {
      const isThere = (await store.reader.find(at(`f/${index}`))) !== undefined;
      expect(isThere).toBe(!refused.includes(index));
      const properties = await store.metadata.properties.get(at(`f/${index}`));
      expect(Object.keys(properties)).toEqual(isThere ? ["{x}y"] : []);
    }
    expect((await database.heads.read("site"))?.version).toBe(36);
    expect(await blobKeys(blobs)).toHaveLength(36);
  },
);

bothDatabases("a change that reads or is refused does not raise the version", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, database, changes } = await nodes.open();
  await putText(store, at("a"), "text");
  const before = [await database.heads.read("site"), changes()];
  await store.transact([at("a")], async (_, [{ entry }]) => expect(entry?.kind).toBe("file"));
  await store.transactMetadata(async ({ metadata }) => {
    await metadata.properties.change(at("a"), new Map([["{x}y", "<y/>"]]));
  });
  await expect(
    store.transact([at("a")], async (transaction, [{ entry }]) => {
      if (entry !== undefined) await transaction.remove(entry);
      throw new Error("refused");
    }),
  ).rejects.toThrow("refused");
  expect([await database.heads.read("site"), changes()]).toEqual(before);
  expect(await store.metadata.properties.get(at("a"))).toEqual({ "{x}y": "<y/>" });
});

bothDatabases(
  scaled("of two nodes that create one file at the same time, one wins in each round"),
  async (kind) => {
    await using nodes = await objectNodes(kind);
    const [one, two] = [await nodes.open(), await nodes.open()];
    for (let round = 0; round < rounds; round += 1) {
      const path = `race/${round}`;
      const results = await Promise.all([
        create(one.store, path, `one ${round}`),
        create(two.store, path, `two ${round}`),
      ]);
      expect(results.toSorted()).toEqual(["created", "exists"]);
      const winner = results[0] === "created" ? "one" : "two";
      expect(await readText(two.store, at(path))).toBe(`${winner} ${round}`);
      expect(await readText(one.store, at(path))).toBe(`${winner} ${round}`);
    }
    expect((await one.database.heads.read("site"))?.version).toBe(rounds);
    expect(await blobKeys(one.blobs)).toHaveLength(rounds);
  },
);

bothDatabases(scaled("two nodes that count in one file under If-Match lose no update"), async (kind) => {
  await using nodes = await objectNodes(kind);
  const stores = [(await nodes.open()).store, (await nodes.open()).store];
  const [first] = stores;
  if (first === undefined) throw new Error("no store");
  await putText(first, at("counter"), "0");
  const increment = async (store: RowTree): Promise<boolean> => {
    await using file = await store.reader.open(at("counter"));
    const next = Number(Buffer.from(await file.bytes()).toString()) + 1;
    await using staged = await store.stage(Buffer.from(String(next)), at("counter"));
    return await store.transact([at("counter")], async (transaction, [{ entry, path }]) => {
      if (entry?.stats.etag !== file.stats.etag) return false;
      await transaction.put(staged, path, { makeParents: false });
      return true;
    });
  };
  let done = 0;
  await Promise.all(
    stores
      .flatMap((store) => [store, store])
      .map(async (store) => {
        for (let round = 0; round < rounds / 8; ) {
          if (!(await increment(store))) continue;
          round += 1;
          done += 1;
        }
      }),
  );
  expect(await readText(first, at("counter"))).toBe(String(done));
});

bothDatabases("a bucket without a head is refused, and says so", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, database } = await nodes.open();
  await database.kv.removeAll(["static-files/heads"]);
  const missing = { kind: "IoError", data: { reason: "files_missing" } };
  await expect(store.reader.find(at("a"))).rejects.toMatchObject(missing);
  await expect(putText(store, at("a"), "text")).rejects.toMatchObject(missing);
});
