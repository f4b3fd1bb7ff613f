import { expect, test } from "bun:test";
import { SQL } from "bun";
import { Fault } from "../../src/base/fault.ts";
import { folderPath } from "../../src/buckets/path.ts";
import type { DatabaseSettings } from "../../src/db/database.ts";
import { blobKeys, type ObjectNodes, objectNodes, putText, readText } from "../support/object-store.ts";
import { lockWaiters } from "../support/postgres.ts";
import { type PostgresRelay, postgresRelay } from "../support/postgres-relay.ts";
import { until } from "../support/until.ts";

const at = (text: string) => folderPath(text);

/** Waits until so many transactions wait for a lock. */
const untilWaiting = (nodes: ObjectNodes, count: number) =>
  until(`${count} wait for a lock`, async () => (await lockWaiters(nodes.databaseUrl)) === count);

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
});

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

test("a removal whose COMMIT was not answered says that it may have been made", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store } = await throughRelay(nodes, relay);
  await putText(store, at("f"), "text");
  relay.cutCommit("after");
  const removal = store.transact(
    [at("f")],
    async (transaction, [{ entry }]) => entry && transaction.remove(entry),
  );
  const error = await removal.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Fault);
  expect((error as Fault).data).toEqual({ reason: "unavailable", outcome: "unknown" });
  expect(await store.reader.find(at("f"))).toBeUndefined();
});

test("while PostgreSQL is away, snapshots stay current for `stale_seconds`, and everything else fails", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, look } = await throughRelay(nodes, relay, { timeout_ms: 5000 });
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
});

test("a change that another node holds up for too long is 503, and the connections stay", async () => {
  await using nodes = await objectNodes("postgres");
  // PostgreSQL's own limits: the lock is waited for four fifths of this, and a busy machine may take the rest.
  const { store, database } = await nodes.open({ settings: { timeout_ms: 5000 } });
  await using outside = new SQL({ url: nodes.databaseUrl, max: 1 });
  const other = await outside.reserve();
  try {
    await other.unsafe("BEGIN");
    await other.unsafe("SELECT * FROM kv WHERE namespace = 'static-files/heads' FOR UPDATE");
    const startedAt = performance.now();
    const error = await putText(store, at("f"), "text").catch((reason: unknown) => reason);
    expect((error as Fault).data).toEqual({ reason: "unavailable" });
    expect(performance.now() - startedAt).toBeGreaterThan(3500);
    await other.unsafe("ROLLBACK");
  } finally {
    // Closing the client would wait for it.
    other.release();
  }
  expect(database.isReachable).toBe(true);
  await putText(store, at("f"), "text");
  expect(await readText(store, at("f"))).toBe("text");
});

test("an upload whose COMMIT was done, and whose answer cannot be read, is a success", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, blobs } = await throughRelay(nodes, relay);
  relay.cutCommit("garbled");
  await putText(store, at("f"), "text");
  expect(relay.cuts).toBe(1);
  expect(await readText(store, at("f"))).toBe("text");
  expect(await blobKeys(blobs)).toHaveLength(1);
});

test("an upload whose COMMIT is on its way when its node looks is a success: the look waits for it", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store } = await throughRelay(nodes, relay);
  const arrival = Promise.withResolvers<void>();
  relay.cutCommit("late", arrival.promise);
  const upload = putText(store, at("f"), "text");
  await untilWaiting(nodes, 1);
  arrival.resolve();
  expect((await upload).size).toBe(4);
  expect(await readText(store, at("f"))).toBe("text");
});

test("an upload that another node replaces before its node can look says that it may have been made", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, blobs } = await throughRelay(nodes, relay, { timeout_ms: 1000 });
  const other = await nodes.open();
  const sent = Promise.withResolvers<void>();
  relay.cutCommits((hasUpdated) => {
    if (hasUpdated) sent.resolve(relay.silence());
    return undefined;
  });
  const upload = putText(store, at("f"), "text").catch((reason: unknown) => reason);
  await sent.promise;
  relay.cutCommits();
  await putText(other.store, at("f"), "newer");
  await relay.mend();
  expect(String(await upload)).toContain("may have been made");
  expect(await readText(store, at("f"))).toBe("newer");
  // The version before it needs the blob of the upload.
  expect(await blobKeys(blobs)).toHaveLength(2);
});

test("a COMMIT that arrives after PostgreSQL has ended its transaction changes nothing", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store, blobs } = await throughRelay(nodes, relay, { timeout_ms: 1000 });
  const other = await nodes.open();
  const arrival = Promise.withResolvers<void>();
  relay.cutCommit("late", arrival.promise);
  const error = await putText(store, at("f"), "text").catch((reason: unknown) => reason);
  expect((error as Fault).data.reason).toBe("unavailable");
  expect(String(error)).not.toContain("may have been made");
  expect(await blobKeys(blobs)).toEqual([]);
  await putText(other.store, at("f"), "newer");
  arrival.resolve();
  await putText(other.store, at("g"), "text");
  expect(await readText(store, at("f"))).toBe("newer");
});

test("a change is not refused for what was never committed, even if that was a property alone", async () => {
  await using nodes = await objectNodes("postgres");
  await using relay = await postgresRelay(nodes.databaseUrl);
  const { store } = await throughRelay(nodes, relay);
  await putText(store, at("f"), "text");
  const gate = Promise.withResolvers<void>();
  const first = store.transactMetadata(() => gate.promise);
  // The next transaction takes both.
  const described = store.transactMetadata(({ metadata }) =>
    metadata.properties.change(at("f"), new Map([["{x}color", "red"]])),
  );
  const refused = store.transactMetadata(async ({ metadata }) => {
    if ("{x}color" in (await metadata.properties.get(at("f")))) throw new Error("it has a property");
  });
  const both = Promise.all([described, refused].map((change) => change.catch(String)));
  gate.resolve();
  await first;
  relay.cutCommits(() => {
    relay.cutCommits();
    return { where: "before" };
  });
  expect(await both).toEqual(Array(2).fill(expect.stringContaining("may have been made")));
  expect(relay.cuts).toBe(1);
  expect(await store.metadata.properties.get(at("f"))).toEqual({});
});
