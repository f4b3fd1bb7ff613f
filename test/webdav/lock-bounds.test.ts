import { expect } from "bun:test";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { webdavSite } from "../support/webdav.ts";
import { lockInfo, locksNamespace, storeLocks } from "../support/webdav-locks.ts";

const sharedNode = sharedNodes();

/** Stores so many locks of one holder in the story's bucket. */
const storeMany = (node: TestNode, count: number, lock: { holder: string; until: number }) =>
  storeLocks(
    node,
    node.bucket,
    Array.from({ length: count }, (_, number) => ({ path: `${lock.holder}-${number}`, ...lock })),
  );

async function rowCount(node: TestNode): Promise<number> {
  const { data } = (await node.call("node-server_exec_sql", {
    token: node.superToken,
    sql: `SELECT count(*) AS n FROM kv WHERE namespace = '${locksNamespace(node.bucket)}'`,
  })) as { data: [{ n: number }] };
  return data[0].n;
}

const inAnHour = () => Date.now() + 3_600_000;
const keyOf = (token: string) => token.split(":", 1)[0] ?? "";

eachStore("a token holds so many locks and no more; others still get theirs", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  const token = await node.newToken([
    {
      scopes: [{ static_bucket: node.bucket }],
      permissions: ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action })),
    },
  ]);
  await storeMany(node, 999, { holder: keyOf(token), until: inAnHour() });
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  expect((await dav("LOCK", "/last", { authorization }, lockInfo)).status).toBe(201);
  const refused = await dav("LOCK", "/more", { authorization }, lockInfo);
  expect([refused.status, await refused.text()]).toEqual([507, expect.stringContaining("1000 locks")]);
  expect((await dav("LOCK", "/other", {}, lockInfo)).status).toBe(201);
  // The refused one has left no file behind.
  expect((await dav("HEAD", "/more")).status).toBe(404);
});

eachStore("a bucket holds so many locks and no more", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await storeMany(node, 10_000, { holder: "somebody", until: inAnHour() });
  const refused = await dav("LOCK", "/more", {}, lockInfo);
  expect([refused.status, await refused.text()]).toEqual([507, expect.stringContaining("10000")]);
  expect((await dav("PUT", "/file", {}, "x")).status).toBe(201);
});

eachStore("expired locks are removed from the database by the next lock", async (store) => {
  await using node = await sharedNode(store);
  const { dav } = await webdavSite(node);
  await storeMany(node, 1200, { holder: "gone", until: Date.now() - 1 });
  await storeMany(node, 3, { holder: "here", until: inAnHour() });
  expect((await dav("LOCK", "/one", {}, lockInfo)).status).toBe(201);
  expect(await rowCount(node)).toBe(4);
});
