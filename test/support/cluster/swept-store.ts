import { SQL } from "bun";
import { openBlobs } from "../../../src/blobs/open-blobs.ts";
import { sweep } from "../../../src/buckets/maintenance/sweep.ts";
import { openDatabase } from "../../../src/db/database.ts";
import { LogHub } from "../../../src/log/hub.ts";
import { listed, never, sha256 } from "../blob-stores.ts";
import { settingsFor } from "../database-settings.ts";
import { namedBlobs, readNamedFiles } from "../stored-tree.ts";
import type { Cluster } from "./cluster.ts";

const weekMs = 7 * 24 * 3600 * 1000;

/** What a store has after a sweep that counts every blob as old. */
export interface SweptStore {
  readonly blobs: readonly string[];
  /** The keys that rows of the database name. */
  readonly named: readonly string[];
  /** Blobs whose content is not what their row says. */
  readonly damaged: readonly string[];
  readonly lostFolders: readonly string[];
  readonly deleted: number;
}

/** Unfinished uploads end with the storm. */
async function endUploads(url: string): Promise<void> {
  await using sql = new SQL({ url, max: 1 });
  await sql`DELETE FROM kv WHERE namespace LIKE 'static-files/upload%'`;
}

/** Sweeps the store of a cluster whose nodes have ended, and compares it with the rows. */
export async function sweptStore({ postgres, blobs: settings }: Cluster): Promise<SweptStore> {
  await endUploads(postgres.url);
  const database = await openDatabase(settingsFor(postgres.url), new LogHub(), { create: false });
  const blobs = openBlobs({ ...settings, request_timeout_ms: 30_000 }, { sync: false });
  const { deletedBlobs } = await sweep({
    rows: database.removed,
    blobs,
    signal: never,
    nowMs: Date.now() + weekMs,
    isConfirmed: true,
  });
  await database.close();
  const files = await readNamedFiles(postgres.url);
  const damaged: string[] = [];
  for (const [key, { hash }] of new Map(files.named.map((file) => [file.blob, file])))
    if (key !== null && sha256(await new Response(await blobs.get(key, undefined, never)).bytes()) !== hash)
      damaged.push(key);
  return {
    blobs: (await listed(blobs)).toSorted(),
    named: namedBlobs(files),
    damaged,
    lostFolders: files.lostFolders,
    deleted: deletedBlobs,
  };
}
