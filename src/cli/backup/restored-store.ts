import { openBlobs } from "../../blobs/open-blobs.ts";
import {
  assertNotForeign,
  claimStore,
  readMark,
  retainedUntil,
} from "../../buckets/maintenance/store-mark.ts";
import type { Config } from "../../config/schema.ts";
import type { StoreValue } from "../../db/rows/store-rows.ts";
import type { Context } from "../context.ts";
import { withDatabase } from "../server/open.ts";

export interface RestoredStoreOptions {
  readonly config: Config;
  readonly configPath: string;
  /** What the replaced database recorded about its store; undefined if there was none. */
  readonly previous: StoreValue | undefined;
  /** Whether files are restored into the store. */
  readonly withFiles: boolean;
}

/**
 * RestoredStore ties a restored database to the object store of its files: if it takes the place of the database that owned the
 * store, or if the files were restored into it. Otherwise an operator has to claim the store: the server of which the backup was
 * made may use it.
 */
export class RestoredStore {
  readonly #ctx: Context;
  readonly #options: RestoredStoreOptions;

  constructor(ctx: Context, options: RestoredStoreOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  /** Throws if files would be restored into a store of another database. */
  async examine(): Promise<void> {
    const { config, previous, withFiles } = this.#options;
    const { url } = config.files;
    if (url === undefined || !withFiles) return;
    const mark = await readMark(openBlobs({ ...config.files, url }, { sync: config.sync_uploads }));
    assertNotForeign(mark, previous?.database, url);
  }

  /** To be called when the database is in its place. What the backup does not name is kept in the store for a while. */
  async finish(): Promise<void> {
    const { config, configPath, previous, withFiles } = this.#options;
    const { keep_removed_days: keepDays } = config;
    const { url } = config.files;
    if (url === undefined || (previous === undefined && !withFiles)) return;
    await withDatabase(this.#ctx, config, { create: false, configPath }, async ({ storeIdentity }) => {
      if (previous !== undefined)
        await storeIdentity.change((_, now) => ({
          ...previous,
          keep_orphans_until: retainedUntil(now, keepDays),
        }));
      if (!withFiles) return;
      const blobs = openBlobs({ ...config.files, url }, { sync: config.sync_uploads });
      await claimStore(storeIdentity, blobs, { url, keepDays });
    });
  }
}
