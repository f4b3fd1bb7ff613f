import { expect } from "bun:test";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeBackupFile } from "../../src/backup/make-backup.ts";
import { verifyBackup } from "../../src/backup/read-backup.ts";
import { type RestoreOptions, restoreBackup } from "../../src/backup/restore.ts";
import type { BlobSettings } from "../../src/blobs/open-blobs.ts";
import { treePath, treeRoot } from "../../src/buckets/path.ts";
import type { FileReader } from "../../src/buckets/ports.ts";
import { walk } from "../../src/buckets/tree-ops.ts";
import { publishedOnDisk } from "../../src/buckets/trees/disk/read.ts";
import { openObjectReaders } from "../../src/buckets/trees/rows/object-storage.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import {
  bothDatabases,
  type DatabaseKind,
  eachStore,
  newDatabase,
  type StoreKind,
  storeKinds,
  tempFolder,
  testNode,
} from "../support/node.ts";
import { s3Client, s3Options } from "../support/s3.ts";
import { webdavSite } from "../support/webdav.ts";
import { sha256, treeOf } from "./support.ts";

const hub = new LogHub();
const modified = new Date("2024-02-29T12:34:56Z");
const contents: Readonly<Record<string, string>> = {
  "index.html": "hello",
  "empty.txt": "",
  "ü/日本.txt": "long ago",
  "ü/deep/large.bin": "large ".repeat(400_000),
};

const byS3 = "by-s3.txt";

const blobsIn = (folder: string): BlobSettings => ({
  url: pathToFileURL(join(folder, "blobs")).href,
  path_style: true,
  request_timeout_ms: 10_000,
});

/** The paths below a bucket, as `treeOf` has them for a folder. */
async function treeIn(reader: FileReader): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { path, kind } of walk(reader, treeRoot)) {
    if (kind === "folder") found[path] = "folder";
    else {
      await using file = await reader.open(path);
      found[path] = sha256(await file.bytes());
    }
  }
  return found;
}

/** What S3 has stored with a file. */
async function recordIn(reader: FileReader): Promise<string> {
  await using file = await reader.open(treePath(byS3));
  return Buffer.from(file.stats.record ?? []).toString("latin1");
}

/** Restores a backup of the bucket `site` into an empty store, and returns what is there then. */
async function restored(backup: string, store: StoreKind) {
  await using folder = await tempFolder();
  const kind: DatabaseKind = store === "objects over postgres" ? "postgres" : "sqlite";
  const { url, drop } = await newDatabase(kind, folder.path);
  await mkdir(join(folder.path, "data"), { recursive: true });
  await mkdir(join(folder.path, "blobs"));
  const [database, blobs] = [settingsFor(url), blobsIn(folder.path)];
  const files: RestoreOptions["files"] =
    store === "disk" ? { staticPath: join(folder.path, "static") } : { blobs, sync: false };
  await restoreBackup(await verifyBackup(backup), { database, files, hub });
  try {
    if (store === "disk") {
      const site = join(folder.path, "static/site");
      await using files = publishedOnDisk(join(folder.path, "static"));
      await using published = await files.open({ name: "site", path: "site" });
      const record = await recordIn(published.reader);
      return { tree: await treeOf(site), modified: (await stat(join(site, "index.html"))).mtime, record };
    }
    // New rows get ids of their own.
    const opened = await openDatabase(database, hub, { create: false });
    await opened.kv.change("n", { keys: [] }, () => ({ write: new Map([["/a", "a"]]), result: undefined }));
    await opened.close();
    await using readers = await openObjectReaders(blobs, database, hub);
    const reader = readers.readerOf({ name: "site", path: "site" });
    const entry = await reader.find(treePath("index.html"));
    const record = await recordIn(reader);
    return { tree: await treeIn(reader), modified: new Date(entry?.stats.modifiedMs ?? 0), record };
  } finally {
    await drop();
  }
}

eachStore(
  "a backup with files can be restored into every store",
  async (options) => {
    await using node = await testNode({ ...options, ...s3Options });
    const { dav } = await webdavSite(node);
    const { put } = await s3Client(node);
    expect((await put(`/site/${byS3}`, "hello", { "x-amz-meta-a": "kept" })).status).toBe(200);
    for (const [path, body] of Object.entries(contents))
      await node.call("static-bucket-file_upload", { token: node.superToken, name: "site", path, body });
    expect((await dav("MKCOL", "/nothing-in-it")).status).toBe(201);
    const times = { "x-oc-mtime": String(modified.getTime() / 1000) };
    expect((await dav("PUT", "/index.html", times, "hello")).status).toBe(204);
    const backup = join(node.folder, "b.tar.zst");
    const files =
      options.store === "disk"
        ? { staticPath: join(node.folder, "static") }
        : { blobs: blobsIn(node.folder) };
    const source = {
      database: settingsFor(node.databaseUrl),
      configPath: node.configPath,
      serverUuid: undefined,
      files,
    };
    const { files: count, notes } = await makeBackupFile(backup, source, { hub });
    expect({ count, notes }).toEqual({ count: 5, notes: [] });
    const tree = {
      ...Object.fromEntries(Object.entries(contents).map(([path, text]) => [path, sha256(text)])),
      [byS3]: sha256("hello"),
      ü: "folder",
      "ü/deep": "folder",
      "nothing-in-it": "folder",
    };
    const record = expect.stringMatching(/x-amz-meta-a\0kept/);
    for (const store of storeKinds)
      expect({ store, ...(await restored(backup, store)) }).toEqual({ store, tree, modified, record });
  },
  // Three restores into new databases, which takes that long beside many others.
  40_000,
);

bothDatabases("a file whose content the store has lost is left out of a backup, and named", async (kind) => {
  await using node = await testNode({ store: `objects over ${kind}` });
  const { dav } = await webdavSite(node);
  expect((await dav("PUT", "/kept.txt", {}, "kept")).status).toBe(201);
  expect((await dav("PUT", "/lost.txt", {}, "lost")).status).toBe(201);
  for (const [path, content] of Object.entries(await treeOf(join(node.folder, "blobs"))))
    if (content === sha256("lost")) await rm(join(node.folder, "blobs", path));
  const backup = join(node.folder, "b.tar.zst");
  const source = {
    database: settingsFor(node.databaseUrl),
    configPath: node.configPath,
    serverUuid: undefined,
    files: { blobs: blobsIn(node.folder) },
  };
  const { files, notes } = await makeBackupFile(backup, source, { hub });
  expect({ files, notes }).toEqual({
    files: 1,
    notes: ["site/lost.txt is left out: the store has lost its content"],
  });
  expect((await readFile(backup)).length).toBeGreaterThan(0);
});
