import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeBackupFile } from "../../src/backup/make-backup.ts";
import { verifyBackup } from "../../src/backup/read-backup.ts";
import { restoreBackup } from "../../src/backup/restore.ts";
import { openBlobs } from "../../src/blobs/open-blobs.ts";
import { claimStore } from "../../src/buckets/maintenance/store-identity.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";
import { newDatabase, type StoreOptions, type TestNode, tempFolder, testNode } from "./node.ts";

const hub = new LogHub();

/** backupOf writes a backup of a node that runs. */
export function backupOf(node: TestNode, path: string) {
  const files =
    node.store === "disk" ? { staticPath: join(node.folder, "static") } : { blobs: blobsIn(node.folder) };
  const source = {
    database: settingsFor(node.databaseUrl),
    configPath: node.configPath,
    serverUuid: undefined,
    files,
  };
  return makeBackupFile(path, source, { hub });
}

/** restoredNode restores a backup into a new database and a new store of the same kinds, and starts a node with them. `top` are lines of its configuration. */
export async function restoredNode(
  path: string,
  store: StoreOptions,
  { top = "" }: { readonly top?: string } = {},
): Promise<AsyncDisposable & { readonly node: TestNode }> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await tempFolder());
  const kind = store.database ?? (store.store === "objects over postgres" ? "postgres" : "sqlite");
  const database = await newDatabase(kind, folder.path);
  made.defer(() => database.drop());
  const staticPath = join(folder.path, "static");
  const blobs = blobsIn(folder.path);
  for (const name of ["static", "blobs"]) await mkdir(join(folder.path, name));
  const isDisk = store.store === "disk";
  await restoreBackup(await verifyBackup(path), {
    database: settingsFor(database.url),
    files: isDisk ? { staticPath } : { blobs, sync: false },
    hub,
  });
  if (!isDisk) await claim(database.url, blobs);
  const node = made.use(
    await testNode({
      ...store,
      databaseUrl: database.url,
      top: `static_path = ${JSON.stringify(staticPath)}\n${top}`,
      ...(!isDisk && { files: `url = ${JSON.stringify(blobs.url)}\n` }),
    }),
  );
  const all = made.move();
  return { node, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

type BlobSettings = ReturnType<typeof blobsIn>;

function blobsIn(folder: string) {
  const url = pathToFileURL(join(folder, "blobs")).href;
  return { url, path_style: true, request_timeout_ms: 10_000 };
}

/** As the command does that restores. */
async function claim(databaseUrl: string, blobs: BlobSettings): Promise<void> {
  const database = await openDatabase(settingsFor(databaseUrl), hub, { create: false });
  await claimStore(database.storeIdentity, openBlobs(blobs, { sync: false }), {
    url: blobs.url,
    keepDays: 7,
  });
  await database.close();
}
