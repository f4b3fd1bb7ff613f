import { expect, test } from "bun:test";
import { SQL } from "bun";
import { Fault } from "../../src/base/fault.ts";
import { folderPath } from "../../src/buckets/path.ts";
import type { DatabaseSettings } from "../../src/db/database.ts";
import { blobKeys, type ObjectNodes, objectNodes, putText, readText } from "../support/object-store.ts";
import { type PostgresRelay, postgresRelay } from "../support/postgres-relay.ts";

const at = (text: string) => folderPath(text);

async function throughRelay(nodes: ObjectNodes, relay: PostgresRelay, limits?: Partial<DatabaseSettings>) {
  return nodes.open({ settings: { database_url: relay.url, max_connections: 2, ...limits } });
}

test("an upload whose COMMIT was done, but not answered, is a success", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, blobs } = await throughRelay(nodes, relay);
  for (let round = 1; round <= 5; round += 1) {
    relay.cutCommit("after");
    const stats = await putText(store, at(`f/${round}`), `text ${round}`);
    expect(relay.cuts).toBe(round);
    expect(stats.size).toBe(6);
    expect(await readText(store, at(`f/${round}`))).toBe(`text ${round}`);
  }
  expect(await blobKeys(blobs)).toHaveLength(5);
  // Five lost answers, each found out by a look some time afterwards.
}, 60_000);

test("an upload whose COMMIT never arrived is 503, and its blob is deleted", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, blobs } = await throughRelay(nodes, relay);
  for (let round = 1; round <= 5; round += 1) {
    relay.cutCommit("before");
    const error = await putText(store, at("f"), "text").catch((reason: unknown) => reason);
    expect(relay.cuts).toBe(round);
    expect((error as Fault).data).toEqual({ reason: "unavailable" });
    expect(await store.reader.find(at("f"))).toBeUndefined();
    expect(await blobKeys(blobs)).toEqual([]);
  }
  await putText(store, at("f"), "text");
  expect(await readText(store, at("f"))).toBe("text");
});

test("a removal whose COMMIT was not answered says that it may have been done", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store } = await throughRelay(nodes, relay);
  await putText(store, at("f"), "text");
  relay.cutCommit("after");
  const removal = store.transact(
    at("f"),
    async (transaction, { entry }) => entry && transaction.remove(entry),
  );
  const error = await removal.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Fault);
  expect((error as Fault).data).toEqual({ reason: "unavailable", outcome: "unknown" });
  expect(await store.reader.find(at("f"))).toBeUndefined();
});

test("while PostgreSQL is away, snapshots stay current for `stale_seconds`, and everything else fails", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, look } = await throughRelay(nodes, relay, { answer_timeout_ms: 5000 });
  await putText(store, at("f"), "text");
  const snapshot = (await store.reader.find(at("f")))?.snapshot();
  const isCurrent = () => snapshot?.isCurrent(new Map()) === true;
  const deadline = performance.now() + 20_000;
  while (!isCurrent() && performance.now() < deadline) await look();
  relay.cut();
  const cutAt = performance.now();
  // Longer than a lease: without the looks that fail, it would have ended.
  while (performance.now() - cutAt < 1200) await Bun.sleep(50);
  await look();
  expect(isCurrent()).toBe(true);
  await expect(store.reader.find(at("f"))).rejects.toThrow();
  await expect(putText(store, at("g"), "text")).rejects.toThrow();
  await relay.mend();
  while ((await store.reader.find(at("f")).catch(() => undefined)) === undefined) await Bun.sleep(50);
  expect(await readText(store, at("f"))).toBe("text");
  // A lease, and calls to a database that is away, have their time.
}, 60_000);

test("a change that another node holds up for too long is 503, and the connections stay", async () => {
  await using nodes = await objectNodes("postgres");
  const { store, database } = await nodes.open({ settings: { answer_timeout_ms: 1500 } });
  await using outside = new SQL({ url: nodes.databaseUrl, max: 1 });
  const other = await outside.reserve();
  await other.unsafe("BEGIN");
  await other.unsafe("SELECT * FROM kv WHERE namespace = 'static-files/heads' FOR UPDATE");
  const startedAt = performance.now();
  const error = await putText(store, at("f"), "text").catch((reason: unknown) => reason);
  expect((error as Fault).data).toEqual({ reason: "unavailable" });
  expect(performance.now() - startedAt).toBeGreaterThan(1100);
  await other.unsafe("ROLLBACK");
  other.release();
  expect(database.isReachable).toBe(true);
  await putText(store, at("f"), "text");
  expect(await readText(store, at("f"))).toBe("text");
});
