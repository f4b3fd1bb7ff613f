// This folder is what runs beside requests, most of it for object stores. The StorageMaintenance of this file works once a day,
// on one of all nodes. sweep.ts deletes blobs that nothing names, purge-removed.ts rows whose time has passed;
// manifest.ts writes what would replace a lost database. store-identity.ts and store-mark.ts keep a database and its
// store together; store-watch.ts reports a store that is lost. check-blobs.ts, copy-blobs.ts and restored-trees.ts
// serve commands and backups. recurring-task.ts repeats work with a pause.

import { Fault, messageOf } from "../../base/fault.ts";
import { randomText } from "../../base/random.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Database } from "../../db/database.ts";
import { maintenanceTask } from "../../db/rows/lock-rows.ts";
import type { Logger } from "../../log/hub.ts";
import { isDeployPath } from "../history/deploy-record.ts";
import { writeManifests } from "./manifest.ts";
import { RecurringTask } from "./recurring-task.ts";
import type { StoreIdentity } from "./store-identity.ts";
import { sweep } from "./sweep.ts";

const everyMs = 24 * 3600 * 1000;
/** A holder that died is replaced after this time. */
const lockMs = 10 * 60_000;
const renewEveryMs = lockMs / 4;
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
 * StorageMaintenance works on an object store once a day: it sweeps what nothing names any more, and writes the manifests. Of all
 * servers that share a database, the one that holds the task's lock does it.
 */
export class StorageMaintenance {
  readonly #options: StorageMaintenanceOptions;
  readonly #holder: string;
  readonly #task: RecurringTask;

  constructor(options: StorageMaintenanceOptions) {
    this.#options = options;
    const run = async () => Math.min(await this.#runOrRetry(), maxWaitMs);
    this.#task = new RecurringTask(run, options.database.clock);
    // A server that was restarted must not take the lock of the process before for its own.
    this.#holder = `${options.serverUuid}/${randomText(8)}`;
  }

  start(): void {
    this.#task.start(firstWaitMs);
  }

  /** Ends a sweep that runs, between two of its steps. If the sweep does not end in time, its lock expires. */
  close(): Promise<void> {
    return this.#task.close();
  }

  /** Does the task if it is due and nobody else does it. Returns after which time to ask again. */
  async #runOrRetry(): Promise<number> {
    const { log } = this.#options;
    try {
      return await this.runIfDue();
    } catch (error) {
      if (this.#task.stopped.aborted) return everyMs;
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      log.event("files.care_failed", "the file store could not be swept; the server tries again later", {
        reason,
        retry_ms: retryMs,
      });
      return retryMs;
    }
  }

  /** Returns 0 if the task was done now; otherwise after which time, in milliseconds, it may be due. */
  async runIfDue(): Promise<number> {
    const { taskLocks, clock } = this.#options.database;
    const holder = this.#holder;
    const waitMs = await taskLocks.acquire(maintenanceTask, { holder, lockMs, everyMs });
    if (waitMs > 0) return waitMs;
    const lost = new AbortController();
    const renew = async () => {
      try {
        if (!(await taskLocks.renew(maintenanceTask, { holder, lockMs }))) lost.abort(lockLost());
      } catch (error) {
        lost.abort(error);
      }
    };
    const renewing = clock.every(renewEveryMs, renew);
    let isDone = false;
    try {
      await this.#work(AbortSignal.any([lost.signal, this.#task.stopped]));
      isDone = true;
    } finally {
      renewing[Symbol.dispose]();
      await taskLocks.release(maintenanceTask, holder, { isDone });
    }
    return 0;
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { database, blobs, identity, log } = this.#options;
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
