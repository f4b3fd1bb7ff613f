// Buckets keep the files. The Buckets of this file manage the records (record.ts, cached by bucket-cache.ts) and hand
// out the files of each bucket. bucket-files.ts is the one way to change files for every protocol, and asks in each
// change whether a lock forbids it; ports.ts has the interfaces that it works through, path.ts the only form of a path.
// trees/ has the two kinds of trees, and open-storage.ts chooses; tree-ops.ts walks, fills and empties trees of both. history/ has
// versions, deploys and uploads, maintenance/ what runs beside requests, metadata/ locks and properties. site-files.ts,
// search.ts and bucket-usage.ts read the trees for rules, searches and counts.

import { Fault } from "../base/fault.ts";
import type { Task } from "../base/task.ts";
import type { Database } from "../db/database.ts";
import type { Freshness, Stamp } from "../db/freshness.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { linksNamespace } from "../db/rows/link-rows.ts";
import { metadataRows } from "../db/rows/metadata-rows.ts";
import { uploadsNamespace } from "../db/rows/upload-rows.ts";
import type { Logger } from "../log/hub.ts";
import { BucketCache, type BucketKey, httpRoot } from "./bucket-cache.ts";
import { BucketFiles, type FileActivity, type QueueChanges } from "./bucket-files.ts";
import { BucketUsage, type OtherBytes } from "./bucket-usage.ts";
import { BucketEvents, type Outbox } from "./events.ts";
import type { BucketLocation, OpenedTree } from "./history/deploy-maintenance.ts";
import { isDeployPath } from "./history/deploy-record.ts";
import { Deploys } from "./history/deploys.ts";
import { MultipartUploads } from "./history/multipart.ts";
import { Uploads, uploadExpiry } from "./history/uploads.ts";
import { locksNamespace, propertiesNamespace } from "./metadata/kv-keys.ts";
import { Metadata } from "./metadata/metadata.ts";
import type { BucketStorage, LocationClaim, OpenBucket } from "./ports.ts";
import {
  type Bucket,
  type BucketChanges,
  checkBucketName,
  checkBucketPath,
  checkHosts,
  givenChanges,
  refuseConflict,
} from "./record.ts";
import { Thumbnails } from "./thumbnails.ts";
import { removeAll } from "./tree-ops.ts";

interface BucketsOptions {
  /** Closed with the buckets. */
  readonly storage: BucketStorage;
  readonly freshness: Freshness;
  /** How many published trees of a bucket are kept, the present one included. */
  readonly keepDeploys: number;
  /** Takes what changes for those who must hear of it, whatever happens meanwhile. */
  readonly outbox?: Outbox | undefined;
  /** Called when the host names of buckets may have changed, by this node or, once that is noticed, by another. */
  readonly onHostsChanged?: (() => void) | undefined;
  readonly log: Logger;
}

type Claimant = Pick<LocationClaim, "mayTakeOver">;

interface UpdateOptions extends Claimant {
  /** Whether the HTTP root may be taken from another bucket. */
  readonly movesHttpRoot: boolean;
}

/**
 * Buckets manages the records of the buckets and hands out the files of each. It has more than 15 methods because it is the one
 * service that methods and protocols are given for buckets; each is one call of theirs.
 */
export class Buckets {
  readonly activity: FileActivity = { uploads: 0 };
  readonly thumbnails = new Thumbnails();
  /** The files and bytes of each bucket, counted in the background. */
  readonly usage: BucketUsage;
  readonly #database: Database;
  readonly #storage: BucketStorage;
  readonly #cache: BucketCache;
  readonly #trees: OpenedTrees;
  /** Tells followers what changes in the files. */
  readonly events: BucketEvents;
  /** Trees that are published, were published, or are being prepared. */
  readonly deploys: Deploys;
  /** Files that arrive in several requests. */
  readonly uploads: Uploads;
  /** Files that arrive in numbered parts. */
  readonly multipart: MultipartUploads;
  /** What is known of the store as a whole, and can be asked of it. */
  readonly storage: Pick<BucketStorage, "health" | "verifyIdentity" | "stopCopies">;
  readonly #uploadExpiry: Task;
  readonly #onHostsChanged: (() => void) | undefined;

  constructor(
    database: Database,
    { storage, freshness, keepDeploys, outbox, onHostsChanged, log }: BucketsOptions,
  ) {
    const { clock } = database;
    this.#database = database;
    this.#storage = storage;
    this.storage = storage;
    this.#onHostsChanged = onHostsChanged;
    this.#cache = new BucketCache((keys, begun) => this.#readStates(keys, begun), freshness, onHostsChanged);
    this.events = new BucketEvents({
      clock,
      positions: storage.heads && ((names) => this.#positions(names)),
      send: (message) => database.notifications.sendMessage(message),
    });
    this.#trees = new OpenedTrees({
      database,
      storage,
      activity: this.activity,
      events: this.events,
      outbox,
      onChanged: ({ name, path, isDeploy }, how) => {
        // The state of other files is not in the database.
        if (storage.heads !== undefined) database.notifications.send("buckets");
        if (isDeploy) return;
        this.usage.changed(name);
        if (storage.heads === undefined && how !== "exchanged") this.deploys.maintenance.noteChange(path);
      },
    });
    this.deploys = new Deploys({
      database,
      storage,
      keep: keepDeploys,
      open: (bucket) => this.#openTree(bucket),
      forget: (bucket) => this.#trees.forget(bucket),
      log,
    });
    this.uploads = new Uploads({
      rows: database.uploads,
      contents: storage.history.parts,
      activity: this.activity,
      log,
    });
    this.multipart = new MultipartUploads({
      rows: database.uploads,
      contents: storage.history.parts,
      activity: this.activity,
      log,
    });
    this.#uploadExpiry = uploadExpiry(this.uploads, log, clock);
    this.usage = new BucketUsage({
      buckets: async () => database.buckets.byNames(await database.buckets.names()),
      readerOf: (bucket) => this.filesOf(bucket).reader,
      othersOf: (bucket) => this.#otherBytes(bucket),
      log,
      clock,
    });
  }

  /** What a bucket takes beside its files. Most deploys have their size in their row, as uploads have. */
  async #otherBytes(bucket: Bucket): Promise<OtherBytes> {
    let deployBytes = 0;
    for (const [id, { place, bytes }] of await this.#database.deploys.list(bucket.path)) {
      if (place === null) continue;
      deployBytes += bytes ?? 0;
      if (bytes !== null) continue;
      const { files } = this.deploys.maintenance.openDeploy(bucket, id, place);
      for await (const { sizes } of files.reader.fileSizes()) for (const size of sizes) deployBytes += size;
    }
    let uploadBytes = 0;
    for (const { offset } of (await this.#database.uploads.unfinished(bucket.id, undefined)).values())
      uploadBytes += offset;
    const { bytes: trashBytes } = await this.filesOf(bucket).versions.measure();
    return { deployBytes, uploadBytes, trashBytes };
  }

  /** start begins what the store does by itself. */
  start(): void {
    this.#storage.start();
    this.#uploadExpiry.start();
  }

  /** close ends what runs in the background; calls that run may still use the files. The database may be closed once it resolves. */
  async close(): Promise<void> {
    this.usage.close();
    await this.events.close();
    this.#cache.poll.close();
    await this.#uploadExpiry.close();
    await this.deploys.maintenance.close();
    await this.#storage.close();
  }

  /** clearStore finishes or undoes what a crash interrupted. To be called once, before any change. Returns what could not be cleared. */
  async clearStore(): Promise<string[]> {
    const remaining = await this.#storage.clear();
    await this.deploys.maintenance.recover();
    return remaining;
  }

  /** withoutLocation returns the names of the buckets that have no location in the store, sorted. */
  async withoutLocation(): Promise<string[]> {
    const { buckets } = this.#database;
    const records = await buckets.byNames(await buckets.names());
    const missing = new Set(await this.#storage.missing(records.map(({ path }) => path)));
    return records.flatMap(({ name, path }) => (missing.has(path) ? [name] : [])).sort();
  }

  async create(name: string, changes: BucketChanges, claimant: Claimant): Promise<Bucket> {
    const bucket = {
      name,
      path: changes.path ?? name,
      is_http_root: changes.is_http_root ?? false,
      cors: changes.cors ?? false,
      enable: true,
      public: changes.public ?? true,
      hosts: checkHosts(changes.hosts ?? []),
      clean_urls: changes.clean_urls ?? false,
    };
    checkBucketName(bucket.name);
    checkBucketPath(bucket.path);
    const creating = this.#database.buckets.change(async ({ rows, insert, transaction }) => {
      if (rows.some((other) => other.name === name))
        throw new Fault("InvalidInput", `a bucket ${name} exists already`, {
          field: "name",
          reason: "bucket_exists",
          bucket: name,
        });
      refuseConflict(bucket, rows);
      await this.#claim({ path: bucket.path, ...claimant, transaction });
      return insert(bucket);
    });
    return this.changing(creating);
  }

  async update(
    name: string,
    changes: BucketChanges,
    { movesHttpRoot, ...claimant }: UpdateOptions,
  ): Promise<Bucket> {
    const updating = this.#database.buckets.change(async ({ rows, update, transaction }) => {
      const old = rows.find((row) => row.name === name);
      if (old === undefined) throw noBucket(name);
      const next: Bucket = { ...old, ...givenChanges(changes) };
      checkBucketPath(next.path);
      const others = rows.filter((row) => row !== old);
      const root = movesHttpRoot && next.is_http_root ? others.find((row) => row.is_http_root) : undefined;
      refuseConflict(
        next,
        others.map((row) => (row === root ? { ...row, is_http_root: false } : row)),
      );
      // Before the other one: two rows must not be the HTTP root, not even inside of the transaction.
      if (root !== undefined) await update({ ...root, is_http_root: false });
      if (next.path === old.path) await this.#storage.recreate({ path: next.path, transaction });
      else await this.#claim({ path: next.path, ...claimant, transaction });
      await update(next);
      return next;
    });
    return this.changing(updating);
  }

  /**
   * delete removes the record, the locks, the properties, the stored links and unfinished uploads; the files stay in the store.
   * NotFound when there is no such bucket.
   */
  async delete(name: string): Promise<void> {
    const bucket = await this.#database.buckets.byName(name);
    if (!(await this.changing(this.#database.buckets.delete(name)))) throw noBucket(name);
    const own = bucket === undefined ? [] : [linksNamespace(bucket.id), uploadsNamespace(bucket.id)];
    await this.#database.kv.removeAll([locksNamespace(name), propertiesNamespace(name), ...own]);
  }

  /**
   * deleteWithFiles deletes a bucket with its files, its deploys and what can be restored of it. It is disabled first and its record goes
   * last: what a failure or a crash leaves is finished by the next call.
   */
  async deleteWithFiles(name: string): Promise<void> {
    const { path } = await this.update(name, { enable: false }, { mayTakeOver: true, movesHttpRoot: false });
    const location = { name, path };
    await this.deploys.deleteAll(location);
    const { tree } = this.#openTree(location);
    await removeAll(tree);
    await tree.versions.purge();
    await this.delete(name);
  }

  /** get returns the record as it is after this call: where the database has to be asked, one query serves all who wait. */
  async get(name: string): Promise<Bucket | undefined> {
    if (this.#database.canReadSync) return this.#database.buckets.byName(name);
    // Such keys are not names of buckets.
    if (name.includes("\0")) return undefined;
    return (await this.#cache.read(name))?.record;
  }

  /** getSync returns the same record as `get` without waiting; undefined if only `get` can tell. */
  getSync(name: string): Bucket | undefined {
    return this.#database.buckets.cachedByName(name);
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

  /** all returns every bucket, sorted by name. */
  async all(): Promise<Bucket[]> {
    const { buckets } = this.#database;
    return buckets.byNames(await this.names());
  }

  async names(): Promise<string[]> {
    return (await this.#database.buckets.names()).sort();
  }

  /**
   * records returns the cache of the records, for plain HTTP: it has no token to check, and may answer from old records while the
   * database is away.
   */
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
  filesOf(bucket: Pick<Bucket, "name" | "path">): BucketFiles {
    return this.#openTree(bucket).files;
  }

  #openTree(bucket: Pick<Bucket, "name" | "path">) {
    // Otherwise every file would be answered as deleted, and a client that synchronises would delete its own copies.
    if (this.#storage.health.isMissing) throw storeIsMissing();
    return this.#trees.open(bucket);
  }

  /**
   * changing waits for something that may change records, and makes the next request read them again. One that failed may have
   * changed them all the same; but then the old records stay usable while the database is away.
   */
  async changing<T>(change: Promise<T>): Promise<T> {
    try {
      const result = await change;
      this.#cache.changed({ isCertain: true });
      this.#database.notifications.send("buckets");
      this.usage.recordsChanged();
      this.#onHostsChanged?.();
      return result;
    } catch (error) {
      this.#cache.changed({ isCertain: false });
      throw error;
    }
  }

  /** Deploys of an earlier bucket are files too: they could be published again. */
  async #claim(claim: LocationClaim): Promise<void> {
    const { path, mayTakeOver, transaction } = claim;
    if (!mayTakeOver && (await this.deploys.existAt(path, transaction))) throw hasDeploys();
    await this.#storage.claim(claim);
  }

  async #positions(names: readonly string[]) {
    const states = await this.#database.buckets.states(names, { root: false });
    return new Map(states.map(({ record, head }) => [record.name, head]));
  }

  async #readStates(
    keys: ReadonlySet<BucketKey>,
    begun: Stamp,
  ): Promise<ReadonlyMap<BucketKey, BucketState>> {
    const names = [...keys].filter((key) => key !== httpRoot);
    const states = new Map<BucketKey, BucketState>();
    for (const state of await this.#database.buckets.states(names, { root: keys.has(httpRoot) })) {
      const { record, head } = state;
      states.set(record.name, state);
      if (record.is_http_root) states.set(httpRoot, state);
      this.#storage.heads?.headRead(record.path, head, begun);
    }
    return states;
  }
}

/** storeIsMissing returns the Fault while the folder of all buckets is missing. */
function storeIsMissing(): Fault {
  return new Fault(
    "IoError",
    "the folder of the buckets is missing on the server; its operator must put it back",
    { reason: "unavailable" },
  );
}

/** hasDeploys returns the Fault for a path whose deploys another bucket would take over. */
function hasDeploys(): Fault {
  return new Fault(
    "InvalidInput",
    "there are deploys of an earlier bucket at this path; choose another path, or use the Super Token",
    { field: "path", reason: "path_taken" },
  );
}

/** noBucket returns the Fault for a name that no bucket has. */
function noBucket(name: string): Fault {
  return new Fault("NotFound", `there is no bucket ${name.slice(0, 128)}`, { field: "name" });
}

interface OpenedTreesOptions {
  readonly database: Database;
  readonly storage: BucketStorage;
  readonly activity: FileActivity;
  readonly events: BucketEvents;
  readonly outbox: Outbox | undefined;
  /** Called when files of a bucket or a deploy may have changed. */
  readonly onChanged: (
    changed: BucketLocation & { readonly isDeploy: boolean },
    ...how: Parameters<OpenBucket["onChanged"]>
  ) => void;
}

/** OpenedTrees opens the files of buckets and deploys once for each name and path, so that every request waits for the same turns. */
class OpenedTrees {
  readonly #options: OpenedTreesOptions;
  readonly #opened = new Map<string, OpenedTree>();

  constructor(options: OpenedTreesOptions) {
    this.#options = options;
  }

  open({ name, path }: BucketLocation): OpenedTree {
    const key = `${name}\n${path}`;
    const present = this.#opened.get(key);
    if (present !== undefined) return present;
    const { database, storage, activity, events, outbox, onChanged } = this.#options;
    const bucket = { name, path };
    const metadata = Metadata.ofBucket(name, metadataRows(database));
    const changed = { name, path, isDeploy: isDeployPath(path) };
    const onDone: OpenBucket["onDone"] = changed.isDeploy
      ? undefined
      : (changes, step) => {
          events.notify(name, changes, step);
          if (changes.length > 0) outbox?.wake();
        };
    const queue: QueueChanges | undefined =
      outbox === undefined || changed.isDeploy
        ? undefined
        : async (changes, transaction) => {
            if (outbox.wants(name)) await outbox.add(name, changes, transaction);
          };
    const tree = storage.open({ bucket, metadata, onChanged: (how) => onChanged(changed, how), onDone });
    const opened = { tree, files: new BucketFiles(tree, metadata, activity, queue) };
    this.#opened.set(key, opened);
    return opened;
  }

  /** forget lets the next `open` open it again. Nobody may change files through what was opened before. */
  forget({ name, path }: BucketLocation): void {
    this.#opened.delete(`${name}\n${path}`);
  }
}
