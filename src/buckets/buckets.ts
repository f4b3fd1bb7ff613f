import { resolve } from "node:path";
import { Fault } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
import { BucketCache, type BucketKey, httpRoot } from "./bucket-cache.ts";
import { claimFolder, type FolderClaim, restoreFolder } from "./bucket-folder.ts";
import { Files } from "./files.ts";
import { locksNamespace, propertiesNamespace } from "./kept.ts";
import { type Bucket, checkBucketName, checkBucketPath, refuseConflict } from "./record.ts";
import { Staging } from "./staging.ts";

export interface BucketSettings {
  readonly staticPath: string;
  readonly syncUploads: boolean;
  /** Several servers may share the folder; each clears up after itself only. */
  readonly serverUuid: string;
  /** How long plain HTTP goes on with the last known records while the database is away. */
  readonly staleSeconds: number;
}

/** No bucket can have this path: `~` is not allowed in one. */
const stagingFolder = "~staging";

type Changeable = Pick<Bucket, "path" | "is_http_root" | "cors" | "enable">;
/** What a caller wants; what is left out, or null, stays or takes its default. */
type Wish = { readonly [K in keyof Changeable]?: Changeable[K] | null | undefined };
type Claimant = Pick<FolderClaim, "mayTakeOver">;

/** The buckets: their records, and the tree of each. */
export class Buckets {
  readonly #cache: BucketCache;
  readonly #files = new Map<string, Files>();

  readonly #staging: Staging;
  readonly #stopping = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly settings: BucketSettings,
  ) {
    this.#cache = new BucketCache((keys) => this.#readRecords(keys), settings.staleSeconds * 1000);
    this.#staging = new Staging(resolve(settings.staticPath, stagingFolder, settings.serverUuid));
  }

  /** Finishes or undoes what a crash cut short. To be called once, before anything is changed. Says what stayed. */
  clearStaging(): Promise<string[]> {
    return this.#staging.clear();
  }

  /** Ends the copies that are under way, because the server stops. They remove what they made so far. */
  stopCopies(): void {
    this.#stopping.abort(
      new Fault("IoError", "the server stops; nothing was changed, try again when it runs again"),
    );
  }

  async create(name: string, wish: Wish, claimant: Claimant): Promise<Bucket> {
    const bucket = {
      name,
      path: wish.path ?? name,
      is_http_root: wish.is_http_root ?? false,
      cors: wish.cors ?? false,
      enable: true,
    };
    checkBucketName(bucket.name);
    checkBucketPath(bucket.path);
    const { staticPath } = this.settings;
    const creating = this.database.buckets.change(async ({ rows, insert }) => {
      if (rows.some((other) => other.name === name))
        throw new Fault("InvalidInput", `a bucket ${name} exists already`, { field: "name" });
      refuseConflict(bucket, rows);
      await claimFolder({ staticPath, path: bucket.path, ...claimant });
      return insert(bucket);
    });
    return this.changing(creating);
  }

  async update(name: string, wish: Wish, claimant: Claimant): Promise<Bucket> {
    const { staticPath } = this.settings;
    const updating = this.database.buckets.change(async ({ rows, update }) => {
      const old = rows.find((row) => row.name === name);
      if (old === undefined) throw noBucket(name);
      const next: Bucket = { ...old, ...given(wish) };
      checkBucketPath(next.path);
      refuseConflict(
        next,
        rows.filter((row) => row !== old),
      );
      if (next.path === old.path) await restoreFolder(resolve(staticPath, next.path));
      else await claimFolder({ staticPath, path: next.path, ...claimant });
      await update(next);
      return next;
    });
    return this.changing(updating);
  }

  /** The files stay on the disk. */
  async delete(name: string): Promise<void> {
    if (!(await this.changing(this.database.buckets.delete(name)))) throw noBucket(name);
    await this.database.kv.removeAll([locksNamespace(name), propertiesNamespace(name)]);
  }

  async get(name: string): Promise<Bucket | undefined> {
    return this.#cache.load(name);
  }

  /**
   * Compares a record that was read a while ago with the database, past the cache: `changed` has another id or folder, so that
   * files written into the old folder may end up in another bucket.
   */
  async compare({ id, name, path }: Bucket): Promise<"same" | "changed" | "disabled" | "deleted"> {
    const now = await this.database.buckets.byName(name);
    if (now === undefined) return "deleted";
    if (now.id !== id || now.path !== path) return "changed";
    return now.enable ? "same" : "disabled";
  }

  async names(): Promise<string[]> {
    return (await this.database.buckets.names()).sort();
  }

  /** The same as `get` for plain HTTP, which has no token to check: it goes on for a while when the database is away. */
  async getForServing(name: string): Promise<Bucket | undefined> {
    return this.#cache.loadOrStale(name);
  }

  /** The bucket that answers the root, if it is enabled. For plain HTTP, as `getForServing` is. */
  async httpRoot(): Promise<Bucket | undefined> {
    const bucket = await this.#cache.loadOrStale(httpRoot);
    return bucket?.enable ? bucket : undefined;
  }

  /** Whether a record is what is believed now, without asking the database. */
  isCurrent(bucket: Bucket): boolean {
    return this.#cache.current(bucket.name) === bucket;
  }

  /** The record of a bucket, enabled or not; NotFound when there is no such bucket. */
  async require(name: string): Promise<Bucket> {
    const bucket = await this.get(name);
    if (bucket === undefined) throw noBucket(name);
    return bucket;
  }

  /** The files of a bucket, enabled or not; NotFound when there is no such bucket. */
  async files(name: string): Promise<Files> {
    return this.filesOf(await this.require(name));
  }

  filesOf({ name, path }: Pick<Bucket, "name" | "path">): Files {
    const known = `${name}\n${path}`;
    let files = this.#files.get(known);
    if (files === undefined) {
      const { staticPath, syncUploads: sync } = this.settings;
      const options = { staging: this.#staging, sync, stopping: this.#stopping.signal };
      files = new Files(name, resolve(staticPath, path), this.database, options);
      this.#files.set(known, files);
    }
    return files;
  }

  /**
   * Waits for something that may change records, so that its caller's next request sees it. One that failed may have changed
   * them all the same, but a database that is away must not take the last known records with it.
   */
  async changing<T>(change: Promise<T>): Promise<T> {
    try {
      const result = await change;
      this.#cache.forget();
      return result;
    } catch (error) {
      this.#cache.expire();
      throw error;
    }
  }

  async #readRecords(keys: ReadonlySet<BucketKey>): Promise<ReadonlyMap<BucketKey, Bucket>> {
    const { buckets } = this.database;
    const names = [...keys].filter((key) => key !== httpRoot);
    const records = new Map<BucketKey, Bucket>();
    for (const row of names.length === 0 ? [] : await buckets.byNames(names)) records.set(row.name, row);
    const root = keys.has(httpRoot) ? await buckets.httpRoot() : undefined;
    if (root !== undefined) records.set(httpRoot, root);
    return records;
  }
}

function noBucket(name: string): Fault {
  return new Fault("NotFound", `there is no bucket ${name.slice(0, 128)}`, { field: "name" });
}

const changeable = ["path", "is_http_root", "cors", "enable"] as const satisfies ReadonlyArray<
  keyof Changeable
>;

function given(wish: Wish): Partial<Changeable> {
  return Object.fromEntries(changeable.flatMap((name) => (wish[name] == null ? [] : [[name, wish[name]]])));
}
