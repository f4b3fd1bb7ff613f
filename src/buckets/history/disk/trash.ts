// This folder is the history of buckets whose files are plain files. This file opens the trash of each bucket
// (bucket-trash.ts, where each name has the days that `trash_days` gave it) and deletes what is old. trash-writer.ts
// puts there what a change is about to delete or replace; trash-history.ts lists it and moves it back. growing-files.ts
// has the content of resumable uploads. reuse-files.ts fills a deploy from another tree by shared blocks, tree-exchange.ts
// settles what a crash leaves of an exchange, and discards whole trees.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { Fault, messageOf } from "../../../base/fault.ts";
import { isAbsence } from "../../../base/local-fs/stat.ts";
import { Task } from "../../../base/task.ts";
import type { Logger } from "../../../log/hub.ts";
import type { Staging } from "../../trees/disk/staging.ts";
import { BucketTrash } from "./bucket-trash.ts";

/** The folder below `static_path`. No bucket can have this path: `~` is not allowed in one. */
const trashFolder = "~trash";

interface TrashOptions {
  /** Absolute. */
  readonly staticPath: string;
  /** `trash_days`. */
  readonly days: number;
  readonly sync: boolean;
  readonly staging: Staging;
  readonly clock: Clock;
}

/** Trash has the trash of each bucket, by the bucket's path: also of buckets that were deleted. */
export class Trash {
  readonly #options: TrashOptions;

  constructor(options: TrashOptions) {
    this.#options = options;
  }

  /** ofBucket returns the trash of the bucket at a path. */
  ofBucket(bucketPath: string): BucketTrash {
    const { staticPath, ...options } = this.#options;
    return new BucketTrash({ ...options, folder: join(staticPath, trashFolder, bucketPath) });
  }

  /** bucketPaths yields the paths of all buckets that have something in the trash. */
  async *bucketPaths(): AsyncGenerator<string> {
    const root = join(this.#options.staticPath, trashFolder);
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const names = await foldersIn(join(root, folder));
      if (names.some((name) => name.startsWith("~"))) yield folder;
      for (const name of names) if (!name.startsWith("~")) folders.push(join(folder, name));
    }
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;
/** Deleting rests for as long as the last item took, so that other requests get the disk. */
const maxRestMs = 1000;

interface TrashRetentionOptions {
  readonly trash: Trash;
  readonly log: Logger;
  readonly clock: Clock;
}

/** trashRetention deletes what has expired in the trash: soon after the start, and once an hour. */
export function trashRetention({ trash, log, clock }: TrashRetentionOptions): Task {
  return new Task({
    clock,
    everyMs,
    firstMs: firstWaitMs,
    async run(signal) {
      const begin = performance.now();
      const purged = await purgeTrash(trash, { clock, signal });
      if (purged === 0) return;
      const elapsed_ms = Math.round(performance.now() - begin);
      log.event("trash.purged", "expired files in the trash were deleted", { purged, elapsed_ms });
    },
    failed(error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      log.event("trash.purge_failed", "the trash could not be purged; the server tries again later", {
        reason,
        retry_ms: everyMs,
      });
    },
  });
}

/**
 * purgeTrash deletes everything whose time has passed, one item after the other, and returns how many. What cannot be deleted is
 * left for the next time, and thrown at the end. The signal ends it between two items.
 */
export async function purgeTrash(
  trash: Trash,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<number> {
  let purged = 0;
  let failed: { readonly error: unknown } | undefined;
  for await (const bucketPath of trash.bucketPaths()) {
    const bucket = trash.ofBucket(bucketPath);
    const now = clock.now();
    for (const item of await bucket.items()) {
      if (item.retainedUntilMs >= now) continue;
      if (signal?.aborted) return purged;
      const begin = performance.now();
      try {
        if (await bucket.delete(item)) purged += 1;
      } catch (error) {
        failed ??= { error };
      }
      await Bun.sleep(Math.min(maxRestMs, performance.now() - begin));
    }
  }
  if (failed !== undefined) throw failed.error;
  return purged;
}
