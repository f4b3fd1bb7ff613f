import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { exchangeFolders, type FolderExchange } from "../../src/base/local-fs/folder.ts";
import { Buckets } from "../../src/buckets/buckets.ts";
import { DiskHistory } from "../../src/buckets/history/disk/disk-history.ts";
import { StoreIdentity } from "../../src/buckets/maintenance/store-identity.ts";
import { DiskStorage } from "../../src/buckets/trees/disk/disk-storage.ts";
import type { Staging } from "../../src/buckets/trees/disk/staging.ts";
import type { WriteConditions } from "../../src/buckets/write-conditions.ts";
import { openDatabase } from "../../src/db/database.ts";
import { Freshness } from "../../src/db/freshness.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";

/** Conditions of a caller that has no locks and asks for nothing. */
export const noConditions: WriteConditions = { grant: { assertStillValid: async () => {} } };

/** Who makes deploys in tests without a server. */
export const maker = { by: "root", username: null, note: "" };

interface DiskHistoryChanges {
  readonly staticPath: string;
  readonly staging: Staging;
  readonly keepRemovedDays?: number;
  readonly sync?: boolean;
  readonly exchange?: FolderExchange;
}

/** The history of plain files without a storage. */
export function diskHistory({
  staticPath,
  staging,
  exchange = exchangeFolders,
  ...changes
}: DiskHistoryChanges) {
  return new DiskHistory({
    staticPath,
    serverUuid: "00000000-0000-4000-8000-000000000000",
    keepRemovedDays: 0,
    sync: false,
    staging,
    exchangeFolders: exchange,
    stopping: new AbortController().signal,
    log: new LogHub().logger("test"),
    clock: systemClock,
    ...changes,
  });
}

/** Buckets of plain files without a server, with a way of their own to exchange two folders. */
export async function diskBuckets(
  databaseUrl: string,
  staticPath: string,
  { exchangeFolders }: { readonly exchangeFolders?: FolderExchange } = {},
) {
  const hub = new LogHub();
  const log = hub.logger("test");
  const database = await openDatabase(settingsFor(databaseUrl), hub, { create: true });
  const storage = new DiskStorage({
    staticPath,
    syncUploads: false,
    keepRemovedDays: 0,
    serverUuid: "00000000-0000-4000-8000-000000000000",
    ...(exchangeFolders && { exchangeFolders }),
    hasBuckets: async () => true,
    identity: new StoreIdentity({ database, blobs: undefined, url: undefined, log }),
    log,
    clock: database.clock,
  });
  const buckets = new Buckets(database, {
    storage,
    freshness: new Freshness(database),
    keepDeploys: 10,
    log,
  });
  const own = { name: "site", path: "site" };
  return {
    buckets,
    deploys: buckets.deploys,
    bucket: own,
    /** Makes a deploy with these files. */
    async prepare(files: Readonly<Record<string, string>>): Promise<string> {
      const { id, place } = await buckets.deploys.begin(own, maker, { force: true });
      for (const [path, text] of Object.entries(files)) {
        const at = join(staticPath, place ?? "", path);
        mkdirSync(dirname(at), { recursive: true });
        writeFileSync(at, text);
      }
      return id;
    },
    publish: (id: string) => buckets.deploys.publish(own, id, noConditions),
    async [Symbol.asyncDispose]() {
      await buckets.close();
      await database.close();
    },
  };
}

/** The files of a folder with their content; undefined if it does not exist. */
export function filesIn(folder: string): Record<string, string> | undefined {
  if (!existsSync(folder)) return undefined;
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    found
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]),
  );
}
