import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Staging } from "../staging.ts";
import { isAbsence } from "../stat.ts";
import { BucketTrash } from "./bucket-trash.ts";

/** The folder below `static_path`. No bucket can have this path: `~` is not allowed in one. */
const trashFolder = "~trash";

export interface TrashOptions {
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

  /** ofBucket is the trash of the bucket at a path. */
  ofBucket(bucketPath: string): BucketTrash {
    const { staticPath, ...options } = this.#options;
    return new BucketTrash({ ...options, folder: join(staticPath, trashFolder, bucketPath) });
  }

  /** bucketPaths are the paths of all buckets that have something in the trash. */
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
