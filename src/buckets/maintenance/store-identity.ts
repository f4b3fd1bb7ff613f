import { Fault, messageOf } from "../../base/fault.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Database } from "../../db/database.ts";
import { maintenanceTask } from "../../db/rows/lock-rows.ts";
import type { StoreIdentityRows, StoreValue } from "../../db/rows/store-rows.ts";
import type { Logger } from "../../log/hub.ts";
import { quietly } from "../../log/span.ts";
import type { Buckets } from "../buckets.ts";
import { assertOwner, markStore, readMark } from "./store-mark.ts";

/** The id of plain files below `static_path`. */
export const diskStore = "disk";
const diskUrl = "plain files below static_path";

/** KnownStore is what a database records about the store of its files. */
export interface KnownStore {
  readonly namesContent: boolean;
  /** Undefined if no server has used an object store with it. */
  readonly store?: StoreValue | undefined;
}

interface StoreIdentityOptions {
  readonly database: Database;
  /** Undefined for plain files. */
  readonly blobs: BlobStore | undefined;
  readonly url: string | undefined;
  readonly log: Logger;
}

/**
 * StoreIdentity keeps a database and the store of its files together: a server does not begin on a store that another database
 * owns, nor on one that has an earlier state of the files than the store that was used last.
 */
export class StoreIdentity {
  readonly #options: StoreIdentityOptions;
  #store: string | undefined;
  #isRecorded = false;

  constructor(options: StoreIdentityOptions) {
    this.#options = options;
  }

  /**
   * verify returns the id of the store: the one in its mark, or `disk`. Throws what an operator has to do if the files of this database
   * are in another store, or if the store is that of another database.
   */
  async verify(): Promise<string> {
    const { database, blobs } = this.#options;
    const value = await database.storeIdentity.read();
    if (blobs === undefined) {
      if (value !== undefined) await this.#assertPresent(value, diskStore);
      this.#store = diskStore;
      return diskStore;
    }
    const mark = await readMark(blobs);
    // A store of another database is reported as such.
    if (value !== undefined && (mark === undefined || mark.database === value.database))
      await this.#assertPresent(value, mark?.store);
    const store = mark?.store ?? (await this.#nextStore());
    const marked = await markStore(database.storeIdentity, blobs, { url: this.#shownUrl, store });
    this.#store = marked.store;
    return marked.store;
  }

  /** To be called when the server begins to use the store. */
  start(): void {
    const { log } = this.#options;
    // No call asked for it, so its statements are not in the log.
    quietly(() => this.#record()).catch((error) =>
      // The daily maintenance tries again before it does anything.
      log.debug("the name of the file store could not be written to the database", {
        reason: messageOf(error),
      }),
    );
  }

  /** Throws unless this database owns the store; otherwise returns until when blobs that nothing names are kept, in Unix milliseconds. */
  async assertOwner(): Promise<number> {
    const { database, blobs } = this.#options;
    if (!this.#isRecorded) await this.#record();
    if (blobs !== undefined) await assertOwner(database.storeIdentity, blobs);
    return (await database.storeIdentity.read())?.keep_orphans_until ?? 0;
  }

  /** The id for a store without a mark. Nodes that start at once get the same. */
  async #nextStore(): Promise<string> {
    const next = Bun.randomUUIDv7();
    const value = await this.#options.database.storeIdentity.change((old) => ({
      ...old,
      next: old.next ?? next,
    }));
    return value.next ?? next;
  }

  get #shownUrl(): string {
    return this.#options.url ?? diskUrl;
  }

  async #record(): Promise<void> {
    const { database } = this.#options;
    const store = this.#store;
    if (store === undefined) return;
    // A server that never had another store than plain files needs no row.
    if (store === diskStore && (await database.storeIdentity.read()) === undefined) return;
    const url = this.#shownUrl;
    let isOther = false;
    await database.storeIdentity.change((old, now) => {
      isOther = old.store !== store;
      if (!isOther) return { ...old, url, opened: now };
      const { database, keep_orphans_until } = old;
      return {
        database,
        store,
        url,
        opened: now,
        ...(keep_orphans_until !== undefined && { keep_orphans_until }),
      };
    });
    // The manifests of the files are to be in this store soon.
    if (isOther && store !== diskStore) await database.taskLocks.forget(maintenanceTask);
    this.#isRecorded = true;
  }

  /** Throws if the files were last in another store, and have not been copied to this one since. */
  async #assertPresent(value: StoreValue, store: string | undefined): Promise<void> {
    if (!isPresent(value, store) && (await namesFiles(this.#options.database)))
      throw stale(value, this.#options.url);
  }
}

/** isPresent returns whether a store has the present state of the files. `store` is the id in its mark, or `disk`. */
export function isPresent(
  { store: last, opened = 0, copied }: StoreValue,
  store: string | undefined,
): boolean {
  if (last === undefined || last === store) return true;
  return copied !== undefined && copied.store === store && copied.at >= opened;
}

/** stale returns the Fault for a store without the present state of the files: what an operator has to do. */
export function stale({ url: previousUrl = "another store" }: StoreValue, url: string | undefined): Fault {
  const claim = "if the files are lost, `node-server check --files --claim` accepts the store as it is";
  const why =
    previousUrl === (url ?? diskUrl)
      ? `the store ${previousUrl} is not the one that this database used: its manifests/owner.json is missing or belongs to another store. Mount its file system, or restore it from a backup; ${claim}`
      : `the files of this database were last in ${previousUrl}: ${previousUrl === diskUrl ? "remove url below [files]" : "set [files] url to that"}, as on every other node. To move them to ${url ?? diskUrl}, stop all servers of this database, and run \`node-server migrate --files ${url ?? "disk"}\` before [files] url is changed; ${claim}`;
  return new Fault("InvalidInput", why, { field: "files.url" });
}

/** copiedTo notes that a store has all files of this database. `store` is the id in its mark, or `disk`. */
export async function copiedTo(rows: StoreIdentityRows, store: string): Promise<void> {
  await rows.change((old, now) => ({ ...old, copied: { store, at: now } }));
}

/** claimDisk makes plain files the store of this database, whatever was before. */
export async function claimDisk(rows: StoreIdentityRows): Promise<void> {
  await rows.change(({ database }, now) => ({ database, store: diskStore, url: diskUrl, opened: now }));
}

/** Whether a bucket has files in an object store. */
async function namesFiles({ buckets, heads, entries }: Database): Promise<boolean> {
  for (const { path } of await buckets.byNames(await buckets.names())) {
    const head = await heads.read(path);
    if (head !== undefined && !(await entries.isEmpty(head.root))) return true;
  }
  return false;
}

/** Buckets that are named in a message. */
const maxNamed = 20;

interface CheckLocationsOptions {
  /** `[files] url` of the store; undefined for plain files. */
  readonly url: string | undefined;
  /** The buckets in use, which are about to be replaced by those of another store; undefined at a start. */
  readonly previous: Buckets | undefined;
  readonly log: Logger;
}

/**
 * checkLocations finds buckets whose files are in another store. A reload onto a store that lacks what the present one has is
 * refused: every request for these files would fail. A start goes on with a warning, because the other buckets can be served.
 */
export async function checkLocations(
  buckets: Buckets,
  { url, previous, log }: CheckLocationsOptions,
): Promise<void> {
  if (previous === undefined && url === undefined) return;
  const missingBefore = (await previous?.withoutLocation()) ?? [];
  const missing = (await buckets.withoutLocation()).filter((name) => !missingBefore.includes(name));
  if (missing.length === 0) return;
  const named = missing.slice(0, maxNamed);
  const command = `node-server migrate --files ${url ?? "disk"}`;
  if (previous !== undefined) {
    const store = url === undefined ? "static_path" : "the store that files.url names";
    const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
    throw new Fault(
      "InvalidInput",
      `${store} has no files of these buckets: ${named.join(", ")}${more}; copy them with \`${command}\` before files.url is changed`,
      { field: "files.url" },
    );
  }
  log.event(
    "store.buckets_missing",
    `the file store does not know some buckets, and requests for their files fail; \`${command}\` copies the files from another store`,
    { url: url ?? "", buckets: named, count: missing.length },
  );
}
