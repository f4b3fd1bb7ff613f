import { expect, test } from "bun:test";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { deploySite } from "../support/deploys.ts";
import { testNode } from "../support/node.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";

test.if(hasSeaweed)("deploys are published and rolled back where the content is in S3", async () => {
  const { location } = await seaweed();
  const files = {
    url: `s3://${location.bucket}/${crypto.randomUUID()}`,
    endpoint: location.endpoint,
    access_key_id: location.accessKeyId,
    secret_access_key: location.secretAccessKey,
  };
  await using node = await testNode({
    store: "objects over sqlite",
    files: Object.entries(files)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join(""),
  });
  const site = await deploySite(node);
  const large = "0123456789".repeat(100_000);
  const first = await site.prepare({ "index.html": "one", "large.txt": large, "empty.txt": "" });
  expect(first.missing.sort()).toEqual(["index.html", "large.txt"]);
  await site.publish(first.deploy);
  // Nothing of what S3 has is sent again, at whatever path.
  const second = await site.prepare({ "index.html": "two", "moved/large.txt": large, "empty.txt": "" });
  expect(second.missing).toEqual(["index.html"]);
  const { address } = await site.preview(second.deploy);
  const preview = await fetch(node.url + address);
  expect([preview.status, await preview.text()]).toEqual([200, "two"]);
  expect(await site.page("index.html")).toBe("one");
  await site.publish(second.deploy);
  // From S3 itself, not from what this machine keeps of it.
  const cache = join(node.folder, "blob-cache");
  for (const name of await readdir(cache).catch(() => [])) await rm(join(cache, name), { recursive: true });
  expect(await site.page("index.html")).toBe("two");
  expect(await site.page("moved/large.txt")).toBe(large);
  expect(await site.page("large.txt")).toBe(404);
  expect((await site.rollback()).deploy).toBe(first.deploy);
  expect([await site.page("index.html"), await site.page("large.txt")]).toEqual(["one", large]);
  await site.remove(second.deploy);
  expect((await site.list()).map(({ deploy, files, bytes }) => [deploy, files, bytes])).toEqual([
    [first.deploy, 3, large.length + 3],
  ]);
});
