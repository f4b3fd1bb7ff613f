import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();
const clock = new ManualClock();
/** What another server has changed is in effect after this time. */
const maxAgeMs = 1000;

/** Makes a bucket past the server, as another server would, with one file that says the bucket's name. */
async function foreignBucket(node: TestNode, name: string, isRoot: boolean): Promise<void> {
  const folder = join(node.folder, "static", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.html"), name);
  await node.sql(
    `INSERT INTO static_file (name, path, is_http_root) VALUES ('${name}', '${name}', ${isRoot})`,
  );
}

const get = async ({ url }: TestNode, path: string) => {
  const response = await fetch(url + path);
  return response.status === 200 ? await response.text() : response.status;
};

eachDatabase("a bucket that was missing is served once another server has made it", async (database) => {
  await using node = await sharedNode({ database, clock });
  expect(await get(node, "/node/static/late/")).toBe(404);
  await foreignBucket(node, "late", false);
  await clock.until("it is served", maxAgeMs, async () => (await get(node, "/node/static/late/")) === "late");
});

eachDatabase("a bucket that was missing is served at once when this server makes it", async (database) => {
  await using node = await sharedNode({ database, clock });
  const { superToken: token } = node;
  for (const name of ["one", "two", "three"]) {
    expect(await get(node, `/node/static/${name}/a.txt`)).toBe(404);
    await node.call("static-bucket_create", { token, name });
    await node.call("static-bucket-file_upload", { token, name, path: "a.txt", body: name });
    expect(await get(node, `/node/static/${name}/a.txt`)).toBe(name);
    await node.call("static-bucket_delete", { token, name });
    expect(await get(node, `/node/static/${name}/a.txt`)).toBe(404);
  }
});

eachDatabase(
  "the HTTP root follows what another server sets, and what this one sets at once",
  async (database) => {
    await using node = await testNode({ database, clock });
    const { superToken: token } = node;
    const isPlaceholder = async () => String(await get(node, "/")).includes("<!doctype html>");
    expect(await isPlaceholder()).toBe(true);
    await foreignBucket(node, "one", true);
    await clock.until("the first answers the root", maxAgeMs, async () => (await get(node, "/")) === "one");
    await node.sql("UPDATE static_file SET is_http_root = false");
    await foreignBucket(node, "two", true);
    await clock.until("the second answers the root", maxAgeMs, async () => (await get(node, "/")) === "two");
    expect(await get(node, "/node/static/one/")).toBe("one");
    await node.call("static-bucket_update", { token, name: "two", is_http_root: false });
    expect(await isPlaceholder()).toBe(true);
    await node.call("static-bucket_update", { token, name: "one", is_http_root: true });
    expect(await get(node, "/")).toBe("one");
    await node.call("static-bucket_update", { token, name: "one", enable: false });
    expect([await isPlaceholder(), await get(node, "/node/static/one/")]).toEqual([true, 404]);
  },
);

eachDatabase("many buckets asked for at once are each answered with their own files", async (database) => {
  await using node = await testNode({ database });
  const names = Array.from({ length: 40 }, (_, at) => `bucket-${at}`);
  for (const name of names) await foreignBucket(node, name, false);
  const asked = names.flatMap((name) => [name, `not-${name}`]);
  const answers = await Promise.all(asked.map((name) => get(node, `/node/static/${name}/`)));
  expect(answers).toEqual(asked.map((name) => (name.startsWith("not-") ? 404 : name)));
  expect(await node.call("static-bucket_list", { token: node.superToken })).toEqual(names.sort());
});

eachDatabase("a name that no database can hold is no bucket's", async (database) => {
  await using node = await sharedNode({ database, clock });
  for (const name of ["a\0b", "\ud800", "x".repeat(100_000)]) {
    expect(await node.call("static-bucket_read", { token: node.superToken, name })).toBeNull();
    const list = { token: node.superToken, name };
    expect((await node.refused("static-bucket-file_list", list)).code).toBe(105);
  }
});
