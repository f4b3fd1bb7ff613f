import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { copyFiles } from "../../src/backup/copy-files.ts";
import { LogHub } from "../../src/log/hub.ts";
import { never } from "../support/blob-stores.ts";
import { settingsFor } from "../support/database-settings.ts";
import { deployClient } from "../support/deploys.ts";
import { eachDatabase, newDatabase, tempFolder, testNode } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";

const superToken = "key:a-secret-of-the-tests";
const filesOf = (version: string) => ({
  "index.html": `page of ${version}`,
  "deep/app.js": `script of ${version}`,
  "same.css": "a {}",
});
const pagesOf = async (site: ReturnType<typeof deployClient>) =>
  Object.fromEntries(
    await Promise.all(Object.keys(filesOf("")).map(async (path) => [path, await site.page(path)])),
  );

eachDatabase("files with deploys go from store to store", async (kind) => {
  await using folder = await tempFolder();
  const database = await newDatabase(kind, folder.path);
  const staticPath = join(folder.path, "static");
  const settings = (name: string) => ({
    ...(name !== "disk" && { url: pathToFileURL(join(folder.path, name)).href }),
    path_style: true,
    request_timeout_ms: 10_000,
    cache_bytes: 0,
    cache_path: join(folder.path, "cache"),
  });
  const nodeOn = (name: string) =>
    testNode({
      store: name === "disk" ? "disk" : `objects over ${kind}`,
      databaseUrl: database.url,
      newDatabase: true,
      env: { NODE_SERVER_SUPER_TOKEN: superToken },
      top: `static_path = ${JSON.stringify(staticPath)}\n`,
      files: name === "disk" ? "" : `url = ${JSON.stringify(settings(name).url)}\n`,
    });
  const migrate = async (from: string, to: string) => {
    if (to !== "disk") await mkdir(join(folder.path, to));
    const report = await copyFiles({
      database: settingsFor(database.url),
      staticPath,
      serverUuid: crypto.randomUUID(),
      from: settings(from),
      to: settings(to),
      keepRemovedDays: 7,
      deletesOthers: true,
      begin: () => ({ add() {}, fileDone() {} }),
      hub: new LogHub(),
      signal: never,
    });
    expect(report).toMatchObject({ others: [], failures: [], lost: [] });
    return report;
  };
  const fill = async (site: ReturnType<typeof deployClient>, era: string) => {
    for (const at of ["former", "present"]) await site.deploy(filesOf(`${era} ${at}`));
    const { deploy: ready } = await site.prepare(filesOf(`${era} ready`));
    await site.preview(ready);
    await site.prepare(filesOf(`${era} open`));
    return ready;
  };

  {
    await using node = await nodeOn("disk");
    await node.call("static-bucket_create", [superToken, "site"]);
    await fill(deployClient(node, { token: superToken }), "disk");
  }
  expect((await migrate("disk", "first")).copied).toBe(3);
  expect(existsSync(join(staticPath, "site/index.html"))).toBe(true);
  let ready = "";
  {
    await using node = await nodeOn("first");
    const site = deployClient(node, { token: superToken });
    // The trees of the deploys were not copied, so there are none to go back to.
    expect(await site.list()).toEqual([]);
    expect(await pagesOf(site)).toEqual(filesOf("disk present"));
    ready = await fill(site, "first");
  }

  await migrate("first", "second");
  expect(await storedKeys(join(folder.path, "second"))).toEqual(await storedKeys(join(folder.path, "first")));
  await rm(join(folder.path, "first"), { recursive: true });
  {
    await using node = await nodeOn("second");
    const site = deployClient(node, { token: superToken });
    expect((await site.list()).map(({ state }) => state).sort()).toEqual([
      "open",
      "previous",
      "previous",
      "published",
      "ready",
    ]);
    await site.rollback();
    expect(await pagesOf(site)).toEqual(filesOf("first former"));
    await site.rollback();
    expect(await pagesOf(site)).toEqual(filesOf("disk present"));
    await site.publish(ready);
    expect(await pagesOf(site)).toEqual(filesOf("first ready"));
    const open = (await site.list()).find(({ state }) => state === "open")?.deploy ?? "";
    expect((await site.put(open, "more.txt", "more")).status).toBe(201);
    await site.publish(open);
    expect(await pagesOf(site)).toEqual(filesOf("first open"));
  }

  await migrate("second", "disk");
  {
    await using node = await nodeOn("disk");
    const site = deployClient(node, { token: superToken });
    expect(await site.list()).toEqual([]);
    expect(await pagesOf(site)).toEqual(filesOf("first open"));
    await site.deploy(filesOf("disk again"));
    await site.rollback();
    expect(await pagesOf(site)).toEqual(filesOf("first open"));
  }

  // The rows of the trees of the second store name blobs that the third one does not have.
  expect((await migrate("disk", "third")).forgotten).toBeGreaterThan(0);
  {
    await using node = await nodeOn("third");
    const site = deployClient(node, { token: superToken });
    expect(await site.list()).toEqual([]);
    await site.deploy(filesOf("third"));
    expect(await pagesOf(site)).toEqual(filesOf("third"));
  }
  await migrate("third", "fourth");
  await database.drop();
});
