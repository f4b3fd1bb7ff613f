import { expect } from "bun:test";
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testNode } from "../support/node.ts";
import { s3Options, s3Site, textsIn } from "../support/s3.ts";
import { test } from "../support/test.ts";

type Site = Awaited<ReturnType<typeof s3Site>>;

const million = 1_000_000;
/** What the memory of a process may grow by while it lists all pages but the first ones. A list that is kept has more than 100 MiB. */
const maxGrowthMiB = 48;
const longestMs = 3_600_000;

const residentMiB = () => process.memoryUsage.rss() / 1024 / 1024;

/** Lists all keys, page by page, in this process, and returns what that took. */
async function listAll({ s3, bucket }: Pick<Site, "s3" | "bucket">) {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  let [count, last, token, pages] = [0, "", "", 0];
  let [settledMiB, highestMiB] = [Number.POSITIVE_INFINITY, 0];
  do {
    const query = { "list-type": "2", ...(token !== "" && { "continuation-token": token }) };
    const answer = await (await s3({ path: `/${bucket}`, query })).text();
    const keys = textsIn(answer, "Key");
    for (const key of keys) {
      if (key <= last) throw new Error(`${key} is listed behind ${last}`);
      last = key;
    }
    count += keys.length;
    token = textsIn(answer, "NextContinuationToken")[0] ?? "";
    pages += 1;
    if (pages % 50 !== 0) continue;
    Bun.gc(true);
    if (pages <= 100) settledMiB = residentMiB();
    else highestMiB = Math.max(highestMiB, residentMiB());
  } while (token !== "");
  const { user, system } = process.cpuUsage(cpu);
  return {
    count,
    pages,
    grownMiB: Math.round(highestMiB - settledMiB),
    seconds: Math.round((performance.now() - begun) / 1000),
    cpuMsPerPage: Math.round((user + system) / 1000 / pages),
  };
}

function expectAll(where: string, listed: Awaited<ReturnType<typeof listAll>>): void {
  console.log(`a million keys, ${where}: ${JSON.stringify(listed)}`);
  expect(listed.count).toBe(million);
  expect(listed.grownMiB).toBeLessThan(maxGrowthMiB);
}

test(
  "a million keys in folders on plain files are listed in constant memory",
  async () => {
    await using node = await testNode(s3Options);
    const site = await s3Site(node);
    const folderOf = (at: number) => join(node.folder, "static", site.bucket, `folder-${at}`);
    for (let at = 0; at < million / 1000; at += 1) {
      mkdirSync(folderOf(at));
      const first = join(folderOf(at), "0");
      writeFileSync(first, "");
      for (let n = 1; n < 1000; n += 1) linkSync(first, join(folderOf(at), String(n)));
    }
    expectAll("on plain files", await listAll(site));
  },
  longestMs,
);

test(
  "a million keys in one folder of an object store are listed in constant memory",
  async () => {
    await using node = await testNode({ ...s3Options, store: "objects over sqlite" });
    const site = await s3Site(node);
    await site.put(`/${site.bucket}/key-0`, "content");
    await node.sql(
      `INSERT INTO kv (namespace, key, value)
       WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${million - 1})
       SELECT namespace, 'key-' || n, value FROM numbers CROSS JOIN kv
       WHERE key = 'key-0' AND namespace LIKE 'static-files/%'`,
    );
    expectAll("in an object store", await listAll(site));
  },
  longestMs,
);
