import { Fault } from "../base/fault.ts";
import type { BucketState } from "../db/bucket-rows.ts";
import type { Database } from "../db/database.ts";
import { metadataRows } from "../db/metadata-rows.ts";
import type { Logger } from "../log/hub.ts";
import { BucketCache, type BucketKey, httpRoot } from "./bucket-cache.ts";
import { BucketFiles } from "./bucket-files.ts";
import type { BucketStores, PlaceClaim, StoreActivity, StoreHealth } from "./bucket-stores.ts";
import { BucketUsage } from "./bucket-usage.ts";
import { locksNamespace, propertiesNamespace } from "./metadata/kv-keys.ts";
import { Metadata } from "./metadata/metadata.ts";
import { type Bucket, checkBucketName, checkBucketPath, refuseConflict } from "./record.ts";

export interface BucketsOptions {
  /** Closed with the buckets. */
  readonly stores: BucketStores;
  /** How long plain HTTP is served from the last known records while the database is away. */
  readonly staleSeconds: number;
  readonly log: Logger;
}

type Changeable = Pick<Bucket, "path" | "is_http_root" | "cors" | "enable">;
/** BucketChanges are the fields that a caller gives; one that is left out, or null, stays or takes its default. */
type BucketChanges = { readonly [K in keyof Changeable]?: Changeable[K] | null | undefined };
type Claimant = Pick<PlaceClaim, "mayTakeOver">;

/** Buckets manages the records of the buckets and hands out the files of each. */
export class Buckets {
  /** The files and bytes of each bucket, counted in the background. */
  readonly usage: BucketUsage;
  readonly #database: Database;
  readonly #stores: BucketStores;
  readonly #cache: BucketCache;
  /** By name and path, so that every request for a bucket waits for the same turns. */
  readonly #files = new Map<string, BucketFiles>();

  constructor(database: Database, { stores, staleSeconds, log }: BucketsOptions) {
    this.#database = database;
    this.#stores = stores;
    this.#cache = new BucketCache({
      read: (keys, begunAt) => this.#look(keys, begunAt),
      staleMs: staleSeconds * 1000,
      polls: !database.readsNow,
    });
    this.usage = new BucketUsage({
      buckets: async () => database.buckets.byNames(await database.buckets.names()),
      readerOf: (bucket) => this.filesOf(bucket).reader,
      log,
    });
  }

  /** Whether the store of all buckets can be used. */
  get store(): StoreHealth {
    return this.#stores.health;
  }

  /** What is going on in all buckets. */
  get activity(): StoreActivity {
    return this.#stores.activity;
  }

  /** admit returns the id of the store. It throws if the files of this database are in another store, or if the store is that of another database. */
  admit(): Promise<string> {
    return this.#stores.admit();
  }

  /** start begins what the store does by itself. */
  start(): void {
    this.#stores.start();
  }

  /** close ends what runs in the background; calls that run may still use the files. The database may be closed once it resolves. */
  async close(): Promise<void> {
    this.usage.close();
    this.#cache.close();
    await this.#stores.close();
  }

  /** clearStore finishes or undoes what a crash interrupted. To be called once, before any change. Returns what could not be cleared. */
  clearStore(): Promise<string[]> {
    return this.#stores.clear();
  }

  /** withoutPlace returns the names of the buckets that have no place in the store, sorted. */
  async withoutPlace(): Promise<string[]> {
    const { buckets } = this.#database;
    const records = await buckets.byNames(await buckets.names());
    const missing = new Set(await this.#stores.missing(records.map(({ path }) => path)));
    return records.flatMap(({ name, path }) => (missing.has(path) ? [name] : [])).sort();
  }

  /** stopCopies ends running copies because the server stops; they remove what they made so far. */
  stopCopies(): void {
    this.#stores.stopCopies();
  }

  async create(name: string, changes: BucketChanges, claimant: Claimant): Promise<Bucket> {
    const bucket = {
      name,
      path: changes.path ?? name,
      is_http_root: changes.is_http_root ?? false,
      cors: changes.cors ?? false,
      enable: true,
    };
    checkBucketName(bucket.name);
    checkBucketPath(bucket.path);
    const creating = this.#database.buckets.change(async ({ rows, insert, transaction }) => {
      if (rows.some((other) => other.name === name))
        throw new Fault("InvalidInput", `a bucket ${name} exists already`, { field: "name" });
      refuseConflict(bucket, rows);
      await this.#stores.claim({ path: bucket.path, ...claimant, transaction });
      return insert(bucket);
    });
    return this.changing(creating);
  }

  async update(name: string, changes: BucketChanges, claimant: Claimant): Promise<Bucket> {
    const updating = this.#database.buckets.change(async ({ rows, update, transaction }) => {
      const old = rows.find((row) => row.name === name);
      if (old === undefined) throw noBucket(name);
      const next: Bucket = { ...old, ...given(changes) };
      checkBucketPath(next.path);
      refuseConflict(
        next,
        rows.filter((row) => row !== old),
      );
      if (next.path === old.path) await this.#stores.restore({ path: next.path, transaction });
      else await this.#stores.claim({ path: next.path, ...claimant, transaction });
      await update(next);
      return next;
    });
    return this.changing(updating);
  }

  /** delete removes the record, the locks and the properties; the files stay in the store. NotFound when there is no such bucket. */
  async delete(name: string): Promise<void> {
    if (!(await this.changing(this.#database.buckets.delete(name)))) throw noBucket(name);
    await this.#database.kv.removeAll([locksNamespace(name), propertiesNamespace(name)]);
  }

  /** get returns the record as it is after this call: where the database has to be asked, one look serves all who wait. */
  async get(name: string): Promise<Bucket | undefined> {
    if (this.#database.readsNow) return this.#database.buckets.byName(name);
    return (await this.#cache.look(name))?.record;
  }

  /**
   * compare reads the record from the database, not from the cache, and compares it with one that was read before: `changed` has
   * another id or folder, so that files written into the old folder may end up in another bucket.
   */
  async compare({ id, name, path }: Bucket): Promise<"same" | "changed" | "disabled" | "deleted"> {
    const now = await this.#database.buckets.byName(name);
    if (now === undefined) return "deleted";
    if (now.id !== id || now.path !== path) return "changed";
    return now.enable ? "same" : "disabled";
  }

  async names(): Promise<string[]> {
    return (await this.#database.buckets.names()).sort();
  }

  /** lookSoon looks early at the buckets that are in use, because another node may have changed them. */
  lookSoon(): void {
    this.#cache.lookSoon();
  }

  /** records is the cache of the records, for plain HTTP: it has no token to check, and may answer from old records while the database is away. */
  get records(): BucketCache {
    return this.#cache;
  }

  /** require returns the record of a bucket, enabled or not; NotFound when there is no such bucket. */
  async require(name: string): Promise<Bucket> {
    const bucket = await this.get(name);
    if (bucket === undefined) throw noBucket(name);
    return bucket;
  }

  /** files returns the files of a bucket, enabled or not; NotFound when there is no such bucket. */
  async files(name: string): Promise<BucketFiles> {
    return this.filesOf(await this.require(name));
  }

  /** filesOf returns the files of a bucket. IoError with the reason `unavailable` while the folder of all buckets is missing. */
  filesOf({ name, path }: Pick<Bucket, "name" | "path">): BucketFiles {
    // Otherwise every file would be answered as deleted, and a client that synchronises would delete its own copies.
    if (this.store.isMissing) throw storeIsMissing();
    const key = `${name}\n${path}`;
    let files = this.#files.get(key);
    if (files === undefined) {
      const metadata = Metadata.ofBucket(name, metadataRows(this.#database));
      const onChanged = () => {
        this.usage.changed(name);
        // The state of other files is not in the database.
        if (this.#stores.heads !== undefined) this.#database.notifications.send("buckets");
      };
      const store = this.#stores.open({ bucket: { name, path }, metadata, onChanged });
      files = new BucketFiles(store, metadata);
      this.#files.set(key, files);
    }
    return files;
  }

  /**
   * changing waits for something that may change records, and makes the next request read them again. One that failed may have changed them all
   * the same; but then the old records stay usable while the database is away.
   */
  async changing<T>(change: Promise<T>): Promise<T> {
    try {
      const result = await change;
      this.#cache.forget();
      this.#database.notifications.send("buckets");
      this.usage.recordsChanged();
      return result;
    } catch (error) {
      this.#cache.expire();
      throw error;
    }
  }

  async #look(keys: ReadonlySet<BucketKey>, begunAt: number): Promise<ReadonlyMap<BucketKey, BucketState>> {
    const { heads } = this.#stores;
    const names = [...keys].filter((key) => key !== httpRoot);
    const states = new Map<BucketKey, BucketState>();
    try {
      const found = await this.#database.buckets.states(names, { root: keys.has(httpRoot) });
      for (const state of found) {
        const { record, head } = state;
        states.set(record.name, state);
        if (record.is_http_root) states.set(httpRoot, state);
        heads?.looked(record.path, head, begunAt);
      }
      return states;
    } catch (error) {
      heads?.lookFailed(error);
      throw error;
    }
  }
}

function storeIsMissing(): Fault {
  return new Fault(
    "IoError",
    "the folder of the buckets is missing on the server; its operator has to put it back",
    { reason: "unavailable" },
  );
}

function noBucket(name: string): Fault {
  return new Fault("NotFound", `there is no bucket ${name.slice(0, 128)}`, { field: "name" });
}

const changeable = ["path", "is_http_root", "cors", "enable"] as const satisfies ReadonlyArray<
  keyof Changeable
>;

function given(changes: BucketChanges): Partial<Changeable> {
  return Object.fromEntries(
    changeable.flatMap((name) => (changes[name] == null ? [] : [[name, changes[name]]])),
  );
}
