import { Fault, messageOf } from "../../base/fault.ts";
import { type BlobStore, isCheckProbe } from "../../blobs/blob-store.ts";
import type { Database } from "../../db/database.ts";
import { maintenanceTask } from "../../db/rows/lock-rows.ts";
import type { StoreIdentityRows, StoreValue } from "../../db/rows/store-rows.ts";
import type { Logger } from "../../log/hub.ts";
import { quietly } from "../../log/span.ts";
import type { Buckets } from "../buckets.ts";

const markName = "owner.json";
const maxMarkMs = 30_000;
const dayMs = 24 * 3600 * 1000;

/** StoreMark is a small file beside the blobs that says whose they are. */
export interface StoreMark {
  /** The database that owns the store: what it does not name is deleted. */
  readonly database: string;
  /** Names the store, wherever it is moved. */
  readonly store: string;
}

/** readMark is undefined for a store that no database owns yet. */
export async function readMark(blobs: BlobStore): Promise<StoreMark | undefined> {
  const text = await blobs.getManifest(markName, AbortSignal.timeout(maxMarkMs));
  if (text === undefined) return undefined;
  try {
    const { database, store } = JSON.parse(text) as Partial<StoreMark>;
    if (typeof database === "string" && typeof store === "string") return { database, store };
  } catch {
    // It is not JSON, which is reported below.
  }
  throw new Fault(
    "IoError",
    `manifests/${markName} in the file store is damaged; restore it from a backup of the store, or delete it and run \`node-server check --files --claim\``,
  );
}

async function writeMark(blobs: BlobStore, mark: StoreMark): Promise<void> {
  async function* content() {
    yield Buffer.from(`${JSON.stringify(mark)}\n`);
  }
  await blobs.putManifest(markName, content(), AbortSignal.timeout(maxMarkMs));
}

/**
 * markStore returns the mark of a store that this database owns. One that is empty and has no owner gets a mark with the id
 * `store`. Throws if another database owns it, or may own it.
 */
export async function markStore(
  rows: StoreIdentityRows,
  blobs: BlobStore,
  { url, store }: { readonly url: string; readonly store: string },
): Promise<StoreMark> {
  const { database } = await rows.change((value) => value);
  const found = await readMark(blobs);
  if (found !== undefined) {
    assertNotForeign(found, database, url);
    return found;
  }
  if (await holdsContent(blobs)) {
    // Another node that started at the same time may have marked it since, and accepted uploads.
    const marked = await readMark(blobs);
    if (marked === undefined) throw ownerless(url);
    assertNotForeign(marked, database, url);
    return marked;
  }
  const mark = { database, store };
  await writeMark(blobs, mark);
  return mark;
}

/** assertOwner throws unless this database owns the store, and used it last: otherwise nothing in the store may be deleted. */
export async function assertOwner(rows: StoreIdentityRows, blobs: BlobStore): Promise<void> {
  const [value, mark] = [await rows.read(), await readMark(blobs)];
  if (mark?.database === value?.database && mark?.store === value?.store) return;
  throw new Fault(
    "Other",
    "the file store belongs to another database, or this database uses another store, so nothing was deleted; check [files] url and database_url",
  );
}

interface ClaimOptions {
  /** For messages. */
  readonly url: string;
  /** How long blobs that nothing names are kept from now on, at least a day. */
  readonly keepDays: number;
}

/** claimStore makes this database the owner of a store, whatever was before. */
export async function claimStore(
  rows: StoreIdentityRows,
  blobs: BlobStore,
  { url, keepDays }: ClaimOptions,
): Promise<void> {
  const store = (await readMark(blobs))?.store ?? Bun.randomUUIDv7();
  const { database } = await rows.change(({ database }, now) => ({
    database,
    store,
    url,
    opened: now,
    keep_orphans_until: retainedUntil(now, keepDays),
  }));
  await writeMark(blobs, { database, store });
}

/**
 * takeOver makes the copy of a database the owner of the store that both would use: what one of them uploads, the other would
 * take for orphans. The original is refused from then on.
 */
export async function takeOver(rows: StoreIdentityRows, blobs: BlobStore): Promise<void> {
  const [value, mark] = [await rows.read(), await readMark(blobs)];
  if (mark === undefined || value?.database !== mark.database) return;
  const database = Bun.randomUUIDv7();
  await rows.change((old) => ({ ...old, database }));
  await writeMark(blobs, { ...mark, database });
}

/**
 * retainedUntil returns the time until which blobs that nothing names are retained after a claim or a restore: somebody may want
 * back what the database does not know.
 */
export function retainedUntil(nowMs: number, keepDays: number): number {
  return nowMs + Math.max(1, keepDays) * dayMs;
}

/** Nodes that start at once check the store at the same time; their probes are no content. */
async function holdsContent(blobs: BlobStore): Promise<boolean> {
  for await (const some of blobs.list())
    for (const blob of some) if (!(await isCheckProbe(blobs, blob))) return true;
  return false;
}

const claimHint =
  "if the other database no longer exists, `node-server check --files --claim` makes this one the owner";

/** assertNotForeign throws if the mark of a store names another database than this one, which is undefined if it has no name yet. */
export function assertNotForeign(
  mark: StoreMark | undefined,
  database: string | undefined,
  url: string,
): void {
  if (mark === undefined || mark.database === database) return;
  throw new Fault(
    "InvalidInput",
    `the store ${url} belongs to another database, whose daily maintenance would delete the files of this one. Name another folder or prefix in [files] url; ${claimHint}`,
    { field: "files.url" },
  );
}

function ownerless(url: string): Fault {
  return new Fault(
    "InvalidInput",
    `the store ${url} has content but no owner, so it may belong to another database. Name another folder or prefix in [files] url; ${claimHint}`,
    { field: "files.url" },
  );
}

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
