import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Fault } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import type { BucketStores, OpenBucket, PlaceClaim, StoreActivity } from "../bucket-stores.ts";
import type { FileStore } from "../file-store.ts";
import type { StoreIdentity } from "../store-identity.ts";
import { StoreWatch } from "../store-watch.ts";
import { claimFolder, restoreFolder } from "./bucket-folder.ts";
import { DiskStore } from "./disk-store.ts";
import { FolderExaminer } from "./folder-examiner.ts";
import { Staging } from "./staging.ts";
import { statOrUndefined } from "./stat.ts";

/** The interval of the looks at the folder. */
const lookIntervalMs = 5000;
/** A file system, such as a network mount, that does not answer for this long is lost. */
const maxLookMs = 3000;
/** The staging folder below `static_path`. No bucket can have this path: `~` is not allowed in one. */
const stagingFolder = "~staging";

export interface DiskStoresOptions {
  readonly staticPath: string;
  readonly syncUploads: boolean;
  /** Names this server's staging folder: several servers may share `staticPath`, and each clears only its own. */
  readonly serverUuid: string;
  /** Whether any bucket exists. */
  readonly hasBuckets: () => Promise<boolean>;
  /** Keeps the database and the files together. */
  readonly identity: Pick<StoreIdentity, "admit" | "start">;
  readonly log: Logger;
}

/** DiskStores keeps the files of all buckets as plain files, each bucket in its folder below `static_path`. */
export class DiskStores implements BucketStores {
  readonly health: StoreWatch;
  readonly activity: StoreActivity = { uploads: 0 };
  readonly #identity: DiskStoresOptions["identity"];
  readonly #staticPath: string;
  readonly #sync: boolean;
  readonly #staging: Staging;
  readonly #stopping = new AbortController();

  constructor({ staticPath, syncUploads, serverUuid, hasBuckets, identity, log }: DiskStoresOptions) {
    const path = resolve(staticPath);
    const examiner = new FolderExaminer({ path, hasBuckets });
    this.#identity = identity;
    this.#staticPath = path;
    this.#sync = syncUploads;
    this.#staging = new Staging(resolve(path, stagingFolder, serverUuid));
    this.health = new StoreWatch({
      what: "the folder of the buckets",
      where: { static_path: path },
      examine: () => examiner.examine(),
      intervalMs: lookIntervalMs,
      maxLookMs,
      lateReason: "the folder does not answer; check its disk or network mount",
      space: () => examiner.space,
      log,
    });
  }

  admit(): Promise<string> {
    return this.#identity.admit();
  }

  open({ bucket, metadata, onChanged }: OpenBucket): FileStore {
    return new DiskStore(resolve(this.#staticPath, bucket.path), {
      metadata,
      staging: this.#staging,
      sync: this.#sync,
      stopping: this.#stopping.signal,
      activity: this.activity,
      onChanged,
    });
  }

  async claim({ path, mayTakeOver }: PlaceClaim): Promise<void> {
    await claimFolder({ staticPath: this.#staticPath, path, mayTakeOver });
  }

  async restore({ path }: Omit<PlaceClaim, "mayTakeOver">): Promise<void> {
    await restoreFolder(resolve(this.#staticPath, path));
  }

  async missing(paths: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const path of paths)
      if ((await statOrUndefined(resolve(this.#staticPath, path), stat)) === undefined) missing.push(path);
    return missing;
  }

  clear(): Promise<string[]> {
    return this.#staging.clear();
  }

  stopCopies(): void {
    this.#stopping.abort(
      new Fault("IoError", "the server stops; nothing was changed, try again when it runs again"),
    );
  }

  start(): void {
    this.#identity.start();
  }

  async close(): Promise<void> {
    this.health.close();
  }
}
