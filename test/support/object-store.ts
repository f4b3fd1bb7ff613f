import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "../../src/blobs/blob-store.ts";
import { FolderBlobs, FolderContent, FolderPaths } from "../../src/blobs/folder.ts";
import { Metadata } from "../../src/buckets/metadata/metadata.ts";
import { Heads } from "../../src/buckets/trees/rows/heads.ts";
import { RowTree, type RowTreeDeps } from "../../src/buckets/trees/rows/row-tree.ts";
import { type Database, type DatabaseSettings, openDatabase } from "../../src/db/database.ts";
import { Freshness } from "../../src/db/freshness.ts";
import { metadataRows } from "../../src/db/rows/metadata-rows.ts";
import { isUnavailable } from "../../src/db/unavailable.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";
import { type DatabaseKind, migratedDatabase, tempFolder } from "./node.ts";

/** A node in this process: a database, blobs in a folder, and the store of the bucket `site`. */
export interface ObjectNode {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly heads: Heads;
  readonly store: RowTree;
  readonly stop: AbortController;
  /** Looks at the bucket, as a server does while it is asked for. */
  look(): Promise<void>;
  /** How often files were reported as changed. */
  changes(): number;
  close(): Promise<void>;
}

export interface ObjectNodes extends AsyncDisposable {
  readonly folder: string;
  readonly databaseUrl: string;
  /** Another node that shares the database and the blobs. */
  open(
    options?: Partial<RowTreeDeps> & { readonly settings?: Partial<DatabaseSettings> },
  ): Promise<ObjectNode>;
}

/** Nodes that share one database and one folder of blobs; everything is gone at the end of its scope. */
export async function objectNodes(kind: DatabaseKind): Promise<ObjectNodes> {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const blobFolder = join(folder.path, "blobs");
  await mkdir(blobFolder);
  const nodes: ObjectNode[] = [];
  return {
    folder: blobFolder,
    databaseUrl: url,
    async open({ settings, ...changes } = {}) {
      const hub = new LogHub();
      const database = await openDatabase({ ...settingsFor(url), max_connections: 4, ...settings }, hub, {
        create: true,
      });
      const blobs = new FolderBlobs(blobFolder, { sync: false });
      await blobs.check(AbortSignal.timeout(60_000));
      await database.transact((transaction) => database.heads.create("site", transaction));
      const log = hub.logger("test");
      const heads = new Heads(database.heads, new Freshness(database, 60_000));
      const stop = new AbortController();
      let changed = 0;
      const store = new RowTree(
        {
          database,
          blobs,
          content: new FolderContent(new FolderPaths(blobFolder)),
          heads,
          sync: true,
          keepRemovedMs: 7 * 24 * 3600 * 1000,
          stopping: stop.signal,
          assertReachable: () => {},
          onBlobStoreFault: () => {},
          log,
          ...changes,
        },
        {
          bucket: { name: "site", path: "site" },
          metadata: Metadata.ofBucket("site", metadataRows(database)),
          onChanged: () => {
            changed += 1;
          },
        },
      );
      const node = {
        database,
        blobs,
        heads,
        store,
        stop,
        async look() {
          const begun = heads.freshness.stamp();
          try {
            heads.headRead("site", await database.heads.read("site"), begun);
            heads.freshness.asked({ isAnswered: true });
          } catch (error) {
            heads.freshness.asked({ isAnswered: !isUnavailable(error) });
          }
        },
        changes: () => changed,
        async close() {
          await database.close();
        },
      };
      nodes.push(node);
      return node;
    },
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Uploads a text and puts it in place. */
export async function putText(
  store: RowTree,
  path: Parameters<RowTree["stage"]>[1],
  text: string,
  options = { makeParents: true },
) {
  await using staged = await store.stage(new TextEncoder().encode(text), path);
  return await store.transact([path], (transaction, [target]) =>
    transaction.put(staged, target.path, options),
  );
}

export async function readText(store: RowTree, path: Parameters<RowTree["stage"]>[1]): Promise<string> {
  await using file = await store.reader.open(path);
  return new TextDecoder().decode(await file.bytes());
}

/** The keys of all blobs in the store. */
export async function blobKeys(blobs: BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const batch of blobs.list()) keys.push(...batch.map(({ key }) => key));
  return keys;
}
