import { resolve } from "node:path";
import { Fault } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
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
}

/** How long records are believed that another server, or somebody's SQL, may have changed. Own changes count at once. */
const believedMs = 1000;
/** No bucket can have this path: `~` is not allowed in one. */
const stagingFolder = "~staging";

type Changeable = Pick<Bucket, "path" | "is_http_root" | "cors" | "enable">;
/** What a caller wants; what is left out, or null, stays or takes its default. */
type Wish = { readonly [K in keyof Changeable]?: Changeable[K] | null | undefined };
type Claimant = Pick<FolderClaim, "mayTakeOver">;

/** The buckets: their records, and the tree of each. */
export class Buckets {
  #known:
    | {
        readonly until: number;
        readonly byName: ReadonlyMap<string, Bucket>;
        readonly root: Bucket | undefined;
      }
    | undefined;
  #changes = 0;
  #lastRead: ReadonlyMap<string, Bucket> = new Map();
  readonly #files = new Map<string, Files>();

  readonly #staging: Staging;
  readonly #stopping = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly settings: BucketSettings,
  ) {
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
    const made = await this.database.buckets.change(async ({ rows, insert }) => {
      if (rows.some((other) => other.name === name))
        throw new Fault("InvalidInput", `a bucket ${name} exists already`, { field: "name" });
      refuseConflict(bucket, rows);
      await claimFolder({ staticPath, path: bucket.path, ...claimant });
      return insert(bucket);
    });
    this.forget();
    return made;
  }

  async update(name: string, wish: Wish, claimant: Claimant): Promise<Bucket> {
    const { staticPath } = this.settings;
    const changed = await this.database.buckets.change(async ({ rows, update }) => {
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
    this.forget();
    return changed;
  }

  /** The files stay on the disk. */
  async delete(name: string): Promise<void> {
    if (!(await this.database.buckets.delete(name))) throw noBucket(name);
    await this.database.kv.removeAll([locksNamespace(name), propertiesNamespace(name)]);
    this.forget();
  }

  async get(name: string): Promise<Bucket | undefined> {
    return (await this.#load()).byName.get(name);
  }

  async names(): Promise<string[]> {
    return [...(await this.#load()).byName.keys()].sort();
  }

  /** The bucket that answers the root, if it is enabled. */
  async httpRoot(): Promise<Bucket | undefined> {
    return (await this.#load()).root;
  }

  /** Whether a record is what is believed now, without asking the database. */
  isCurrent(bucket: Bucket): boolean {
    const known = this.#known;
    return known !== undefined && known.until > performance.now() && known.byName.get(bucket.name) === bucket;
  }

  /** The files of a bucket, enabled or not; NotFound when there is no such bucket. */
  async files(name: string): Promise<Files> {
    const bucket = await this.get(name);
    if (bucket === undefined) throw noBucket(name);
    return this.filesOf(bucket);
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

  /** What is known of the records is read again by the next who asks. */
  forget(): void {
    this.#known = undefined;
    this.#changes += 1;
  }

  async #load() {
    const known = this.#known;
    if (known !== undefined && known.until > performance.now()) return known;
    // A clock that nobody sets: records must not be believed for hours because the time of day was put back.
    const until = performance.now() + believedMs;
    const before = this.#changes;
    const rows = await this.database.buckets.list();
    // A record that did not change stays the same object, so that what was derived from it still counts.
    const same = rows.map((row) => {
      const old = this.#lastRead.get(row.name);
      return old !== undefined && Bun.deepEquals(old, row) ? old : row;
    });
    const byName = new Map(same.map((row) => [row.name, row]));
    this.#lastRead = byName;
    const read = { until, byName, root: same.find((row) => row.is_http_root && row.enable) };
    // A change while the rows were on their way makes them old news.
    if (before === this.#changes) this.#known = read;
    return read;
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
