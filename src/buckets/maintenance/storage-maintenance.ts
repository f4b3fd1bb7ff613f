// This folder is what runs beside requests, most of it for object stores. The task of this file works once a day, on
// one of all nodes. sweep.ts deletes rows whose time has passed, and blobs that nothing names; manifest.ts writes what
// would replace a lost database. store-identity.ts keeps a database and its store together; store-watch.ts reports a
// store that is lost. check-blobs.ts and copy-blobs.ts serve commands and backups.

import { Fault, messageOf } from "../../base/fault.ts";
import { randomText } from "../../base/numbers.ts";
import { Task } from "../../base/task.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Database } from "../../db/database.ts";
import { maintenanceTask } from "../../db/rows/lock-rows.ts";
import type { Logger } from "../../log/hub.ts";
import { isDeployPath } from "../history/deploy-record.ts";
import { writeManifests } from "./manifest.ts";
import type { StoreIdentity } from "./store-identity.ts";
import { sweep } from "./sweep.ts";

const everyMs = 24 * 3600 * 1000;
/** A holder that died is replaced after this time. */
const lockMs = 10 * 60_000;
/** The pause after a failure. */
const retryMs = 3600_000;
/** The database is asked at least this often whether the task is due: another server may have left it undone. */
const maxWaitMs = 10 * 60_000;
/** A start has more urgent work. */
const firstWaitMs = 10_000;

interface StorageMaintenanceOptions {
  readonly database: Database;
  readonly blobs: BlobStore;
  /** Asked before anything is deleted. */
  readonly identity: Pick<StoreIdentity, "assertOwner">;
  readonly serverUuid: string;
  readonly log: Logger;
}

/**
 * storageMaintenance works on an object store once a day: it sweeps what nothing names any more, and writes the manifests. Of all
 * servers that share a database, the one that holds the task's lock does it. If a sweep does not end in time when the server stops, its
 * lock expires.
 */
export function storageMaintenance(options: StorageMaintenanceOptions): Task {
  const { taskLocks, clock } = options.database;
  // A server that was restarted must not take the lock of the process before for its own.
  const holder = `${options.serverUuid}/${randomText(8)}`;
  return new Task({
    clock,
    firstMs: firstWaitMs,
    lease: {
      async acquire() {
        return Math.min(await taskLocks.acquire(maintenanceTask, { holder, lockMs, everyMs }), maxWaitMs);
      },
      renew: () => taskLocks.renew(maintenanceTask, { holder, lockMs }),
      release: (outcome) => taskLocks.release(maintenanceTask, holder, outcome),
      renewEveryMs: lockMs / 4,
      lost: lockLost,
    },
    async run(signal) {
      await maintain(options, signal);
      return maxWaitMs;
    },
    failed(error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      options.log.event(
        "files.care_failed",
        "the file store could not be swept; the server tries again later",
        {
          reason,
          retry_ms: retryMs,
        },
      );
      return retryMs;
    },
  });
}

async function maintain(
  { database, blobs, identity, log }: StorageMaintenanceOptions,
  signal: AbortSignal,
): Promise<void> {
  const begin = performance.now();
  const keepOrphansUntil = await identity.assertOwner();
  const shared = { rows: database.removed, blobs, signal };
  const swept = await sweep({ ...shared, keepOrphansUntil });
  await dropUnusedHeads(database, signal);
  const manifests = await writeManifests(shared);
  log.event("files.swept", "the file store was swept", {
    purged_rows: swept.purgedRows,
    deleted_blobs: swept.deletedBlobs,
    deleted_bytes: swept.deletedBytes,
    unfinished: swept.unfinished,
    manifests,
    elapsed_ms: Math.round(performance.now() - begin),
  });
}

function lockLost(): Fault {
  return new Fault("Other", "another server has taken the task over, because this one was too slow");
}

/**
 * `dropUnusedHeads` deletes the heads of trees that no deploy has any more, once a purge has deleted their content. Heads are read
 * before the deploys: both are made in one transaction, so that no deploy of a head that was read can be unseen. Returns the
 * number of deleted heads.
 */
export async function dropUnusedHeads(database: Database, signal: AbortSignal): Promise<number> {
  const { heads, entries, removed, deploys } = database;
  const deployPaths = [...(await heads.versions()).keys()].filter(isDeployPath);
  if (deployPaths.length === 0) return 0;
  const used = new Set<string | null>();
  for (const path of await deploys.bucketPaths())
    for (const { place: deployPath } of (await deploys.list(path)).values()) used.add(deployPath);
  let dropped = 0;
  for (const deployPath of deployPaths) {
    signal.throwIfAborted();
    if (used.has(deployPath)) continue;
    dropped += await database.transact(async (transaction) => {
      const { head } = await heads.lock(deployPath, transaction);
      if (head === undefined || !(await entries.within(transaction).isEmpty(head.root))) return 0;
      for await (const batch of removed.current.removed(deployPath)) if (batch.length > 0) return 0;
      await heads.drop(deployPath, transaction);
      return 1;
    });
  }
  return dropped;
}
