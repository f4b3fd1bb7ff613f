import { Fault } from "../../../base/fault.ts";
import type { Task } from "../../../base/task.ts";
import type { BlobStore, BlobStoreFault } from "../../../blobs/blob-store.ts";
import type { ContentSource } from "../../../blobs/content.ts";
import { type BlobSettings, openBlobs, proveBlobs } from "../../../blobs/open-blobs.ts";
import { UncachedContent } from "../../../blobs/remote-content.ts";
import { Database, type DatabaseSettings, openDialect } from "../../../db/database.ts";
import { Freshness } from "../../../db/freshness.ts";
import type { HeadValue } from "../../../db/rows/entry-values.ts";
import type { Logger, LogHub } from "../../../log/hub.ts";
import { outsideSpans } from "../../../log/span.ts";
import { keepsFiles } from "../../history/faults.ts";
import { rowHistory } from "../../history/rows/part-blobs.ts";
import type { StoreIdentity } from "../../maintenance/store-identity.ts";
import type {
  BucketStorage,
  FileReader,
  History,
  LocationClaim,
  OpenBucket,
  PublishedFiles,
  StoreHealth,
  Tree,
} from "../../ports.ts";
import type { Bucket } from "../../record.ts";
import { EntryReader } from "./entry-reader.ts";
import { Heads } from "./heads.ts";
import { RowTree, type RowTreeDeps } from "./row-tree.ts";

const dayMs = 24 * 3600 * 1000;
/** Requests that fail because of the blob store have it checked once in this time. */
const checkPauseMs = 1000;
/** Failures of the blob store are logged once in this time. */
const notePauseMs = 60_000;

interface ObjectStorageOptions {
  readonly database: Database;
  readonly blobs: BlobStore;
  /** Sends blobs. It is closed with the storage. */
  readonly content: ContentSource & { close?(): void };
  /** Checks the blob store. It is closed with the storage. */
  readonly health: StoreHealth & { close(): void };
  /** Keeps database and store together. */
  readonly identity: Pick<StoreIdentity, "verify" | "start">;
  /** Works on the store once a day. */
  readonly maintenance: Pick<Task, "start" | "close">;
  readonly syncUploads: boolean;
  /** How long what was deleted or replaced is kept. */
  readonly keepRemovedDays: number;
  readonly freshness: Freshness;
  readonly log: Logger;
}

/**
 * ObjectStorage keeps the files of all buckets as rows of the database and blobs. The rows of a bucket stay when its record is
 * deleted, as its files on a disk do.
 */
export class ObjectStorage implements BucketStorage {
  readonly health: StoreHealth;
  readonly #options: ObjectStorageOptions;
  readonly #deps: RowTreeDeps;
  readonly heads: Heads;
  readonly history: History;
  readonly #stopping = new AbortController();
  /** When a request last had the store checked, by a clock that nobody sets. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** When a failure of the blob store was last logged. */
  #notedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ObjectStorageOptions) {
    const { database, blobs, content, syncUploads, keepRemovedDays, freshness, log } = options;
    this.#options = options;
    this.health = options.health;
    this.heads = new Heads(database.heads, freshness);
    this.#deps = {
      database,
      blobs,
      content,
      heads: this.heads,
      sync: syncUploads,
      keepRemovedMs: keepRemovedDays * dayMs,
      stopping: this.#stopping.signal,
      assertReachable: () => this.#assertReachable(),
      onBlobStoreFault: (fault) => this.#noteFault(fault),
      log,
    };
    this.history = rowHistory(this.#deps);
  }

  /** Refuses an upload before its body is read, while the blob store does not answer. It also checks whether the store is back. */
  #assertReachable(): void {
    if (!this.health.isAway) return;
    this.#checkSoon();
    throw new Fault("IoError", "the file store does not answer; nothing was changed, try again later", {
      reason: "unavailable",
    });
  }

  /**
   * Logs a failure of the blob store once a minute, unless `store.lost` has reported it. Clients are told nothing about the
   * configuration, so the reason must be in the log.
   */
  #noteFault({ detail }: BlobStoreFault): void {
    this.#checkSoon();
    const now = this.#options.database.clock.monotonic();
    if (this.health.isLost || now - this.#notedAt < notePauseMs) return;
    this.#notedAt = now;
    outsideSpans(() =>
      this.#options.log.event("store.request_failed", "the store of the files failed a request", {
        reason: detail,
      }),
    );
  }

  #checkSoon(): void {
    const now = this.#options.database.clock.monotonic();
    if (now - this.#checkedAt < checkPauseMs) return;
    this.#checkedAt = now;
    void this.health.check();
  }

  open(bucket: OpenBucket): Tree {
    return new RowTree(this.#deps, bucket);
  }

  async claim({ path, mayTakeOver, transaction }: LocationClaim): Promise<void> {
    const { heads, entries, removed } = this.#options.database;
    const { root } = await heads.create(path, transaction);
    if (mayTakeOver) return;
    if (!(await entries.within(transaction).isEmpty(root))) throw holdsFiles();
    // The owner of the new bucket could restore versions of the bucket that had the path before.
    if (await removed.retainsAny(path, transaction)) throw keepsFiles();
  }

  async recreate({ path, transaction }: Omit<LocationClaim, "mayTakeOver">): Promise<void> {
    await this.#options.database.heads.create(path, transaction);
  }

  async missing(paths: readonly string[]): Promise<string[]> {
    const versions = await this.#options.database.heads.versions();
    return paths.filter((path) => !versions.has(path));
  }

  /** A crash leaves nothing to undo: a transaction that was not committed is gone, and the sweep deletes blobs that no entry names. */
  async clear(): Promise<string[]> {
    return [];
  }

  stopCopies(): void {
    this.#stopping.abort(
      new Fault("IoError", "the server stops; nothing was changed, try again when it runs again"),
    );
  }

  verifyIdentity(): Promise<string> {
    return this.#options.identity.verify();
  }

  start(): void {
    this.#options.identity.start();
    this.#options.maintenance.start();
  }

  async close(): Promise<void> {
    this.#options.content.close?.();
    this.#options.health.close();
    await this.#options.maintenance.close();
  }
}

function holdsFiles(): Fault {
  return new Fault(
    "InvalidInput",
    "there are already files at this path, which the bucket would serve to everyone; choose another path, or use the Super Token",
    { field: "path", reason: "path_taken" },
  );
}

export interface ObjectReaders extends PublishedFiles {
  /** Reads what is published at each moment. */
  readerOf(bucket: Pick<Bucket, "name" | "path">): FileReader;
}

/**
 * openObjectReaders reads the files of buckets without a server, or beside one. Throws what an operator has to do if the store
 * cannot be used.
 */
export async function openObjectReaders(
  settings: BlobSettings,
  databaseSettings: DatabaseSettings,
  hub: LogHub,
): Promise<ObjectReaders> {
  const blobs = openBlobs(settings, { sync: false });
  await proveBlobs(blobs);
  const dialect = await openDialect(databaseSettings, hub);
  dialect.limitAnswers();
  const database = new Database(dialect, hub.logger("sqlx"));
  return {
    ...objectReaders(database, blobs, hub),
    async [Symbol.asyncDispose]() {
      await database.close();
    },
  };
}

/** objectReaders reads the files of buckets over a database that is open. It writes nothing, and closes nothing. */
export function objectReaders(database: Database, blobs: BlobStore, hub: LogHub): ObjectReaders {
  const log = hub.logger("server");
  const heads = new Heads(database.heads, new Freshness(database));
  const content = new UncachedContent(blobs);
  const readerOf = ({ name: bucket, path }: Pick<Bucket, "name" | "path">, head?: HeadValue) =>
    new EntryReader({ bucket, bucketPath: path, head, heads, content, log, entries: database.entries });
  return {
    readerOf: (bucket) => readerOf(bucket),
    open: async (bucket) => {
      const reader = readerOf(bucket, await database.heads.read(bucket.path));
      return { reader, async [Symbol.asyncDispose]() {} };
    },
    async [Symbol.asyncDispose]() {},
  };
}
