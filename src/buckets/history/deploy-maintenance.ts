import { atMost } from "../../base/clock.ts";
import { PathMutex, SharedRuns } from "../../base/concurrency.ts";
import { messageOf } from "../../base/fault.ts";
import { Pacer } from "../../base/turns.ts";
import type { Database } from "../../db/database.ts";
import type { DeployValue } from "../../db/rows/entry-values.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans } from "../../log/span.ts";
import type { BucketFiles } from "../bucket-files.ts";
import { locksNamespace, propertiesNamespace } from "../metadata/kv-keys.ts";
import { type BucketStorage, folderIsGone, type Tree } from "../ports.ts";
import type { Bucket } from "../record.ts";
import { byPublication, nameOfDeploy } from "./deploy-record.ts";
import { publishedIn, withoutSwitching, writeSwitch } from "./tree-switch.ts";

/** Trees are discarded one after the other. No bucket has such a path. */
const discardTurn = "~discard";
/** Longest time that a list waits for counts: those of a large tree take seconds. */
const maxCountMs = 500;

/** BucketLocation names a bucket and where its files are. */
export type BucketLocation = Pick<Bucket, "name" | "path">;

/** OpenedTree is what belongs to a bucket, or to a deploy of it. */
export interface OpenedTree {
  readonly files: BucketFiles;
  readonly tree: Tree;
}

interface TreeTotal {
  readonly files: number;
  readonly bytes: number;
}

export interface DeployMaintenanceOptions {
  readonly database: Database;
  readonly storage: BucketStorage;
  /** How many published trees of a bucket are kept, the present one included. */
  readonly keep: number;
  /** Returns the same object for the same name and path until it is forgotten. */
  readonly open: (bucket: BucketLocation) => OpenedTree;
  readonly forget: (bucket: BucketLocation) => void;
  readonly log: Logger;
}

/**
 * DeployMaintenance does what deploys need beside the work of their makers: recovery, removal, counts. It has more than 15 methods
 * because all of these wait for the same turns and end with the same `close`.
 */
export class DeployMaintenance {
  readonly #options: DeployMaintenanceOptions;
  /** Switches of one bucket take turns. */
  readonly #mutex = new PathMutex();
  /** Work that nobody waits for. */
  readonly #background = new Set<Promise<void>>();
  /** Counts that are under way, by bucket. */
  readonly #counts = new SharedRuns();
  readonly #closing = new AbortController();
  /** Paths of buckets whose published deploy is known to be changed, or that have none. */
  readonly #noted = new Set<string>();

  constructor(options: DeployMaintenanceOptions) {
    this.#options = options;
  }

  get #rows() {
    return this.#options.database.deploys;
  }

  /** openDeploy returns the tree of a deploy that is not published. */
  openDeploy({ name }: BucketLocation, id: string, place: string): OpenedTree {
    return this.#options.open({ name: nameOfDeploy(name, id), path: place });
  }

  /** inTurn runs a switch of a bucket, after what a crash left of another one was settled. */
  inTurn<T>(bucket: BucketLocation, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run([bucket.path], async () => {
      await this.#settle(bucket);
      return work();
    });
  }

  /** clean settles what a crash interrupted, and removes open deploys that nobody fills any more. */
  async clean(bucket: BucketLocation): Promise<void> {
    await this.inTurn(bucket, async () => {});
    await this.#dropSome(bucket, abandonedDeploys);
    void this.discardDropped();
  }

  /**
   * recover settles what a crash interrupted, in all buckets, and begins to discard the trees that it left. A bucket where that
   * fails does not keep the others from being served; its next call tries again.
   */
  async recover(): Promise<void> {
    for (const path of await this.#rows.bucketPaths()) {
      const bucket = { name: path, path };
      try {
        await this.inTurn(bucket, async () => {});
      } catch (error) {
        this.#options.log.event("deploy.work_failed", "an interrupted publication cannot be settled", {
          reason: `${path}: ${messageOf(error)}`,
        });
      }
      this.#options.forget(bucket);
    }
    void this.discardDropped();
  }

  /** afterSwitch does in the background what need not be done before a switch is answered. */
  afterSwitch(bucket: BucketLocation): void {
    this.#noted.delete(bucket.path);
    void this.inBackground(async () => {
      await this.#dropSome(bucket, (rows) => excessDeploys(rows, this.#options.keep));
      await this.#discardDropped();
    });
  }

  /**
   * discardDropped discards the trees that no deploy has any more. A failure is logged, and tried again later; so it
   * never rejects.
   */
  discardDropped(): Promise<void> {
    return this.inBackground(() => this.#discardDropped());
  }

  /** forget drops what is known of a tree that has left this location, and the locks and properties that clients gave it there. */
  async forget(deploy: string, place: string): Promise<void> {
    this.#options.forget({ name: deploy, path: place });
    await this.#options.database.kv.removeAll([locksNamespace(deploy), propertiesNamespace(deploy)]);
  }

  /** noteChange writes once that files of the published deploy were changed, for a store that counts no versions. */
  noteChange(path: string): void {
    if (this.#noted.has(path)) return;
    this.#noted.add(path);
    void this.inBackground(async () => {
      try {
        if (publishedIn(await this.#rows.list(path)) === undefined) return;
        await this.#rows.change(path, async ({ rows, write }) => {
          const [id, value] = publishedIn(rows) ?? [];
          if (id !== undefined && value?.changed === false) await write(id, { ...value, changed: true });
        });
      } catch (error) {
        // The next change tries again.
        this.#noted.delete(path);
        throw error;
      }
    });
  }

  /**
   * count counts the files of deploys that were not counted yet, and resolves when that is done, or after `maxCountMs`: then it
   * goes on in the background, and the counts are in a later list. Only a list needs it: after a switch it would hold up the next
   * one, by as much as the tree is large.
   */
  async count(bucket: BucketLocation): Promise<void> {
    const key = `${bucket.name}\n${bucket.path}`;
    const counting = this.#counts.join(key, () => this.inBackground(() => this.#count(bucket)));
    await atMost(counting, { ms: maxCountMs });
  }

  /** Writes all counts in one transaction. An open deploy still grows. */
  async #count(bucket: BucketLocation): Promise<void> {
    const pacer = new Pacer();
    const counted = new Map<string, { readonly place: string | null; readonly total: TreeTotal }>();
    for (const [id, { files, state, place }] of await this.#rows.list(bucket.path)) {
      if (files !== null || state === "open") continue;
      const tree = place === null ? this.#options.open(bucket) : this.openDeploy(bucket, id, place);
      // Its folder was deleted by another program.
      if ((await tree.tree.treeId()) === undefined) continue;
      const total = { files: 0, bytes: 0 };
      for await (const { sizes } of tree.files.reader.fileSizes()) {
        total.files += sizes.length;
        for (const size of sizes) total.bytes += size;
        if (this.#closing.signal.aborted) return;
        if (pacer.isDue) await pacer.nextTurn();
      }
      counted.set(id, { place, total });
    }
    if (counted.size === 0) return;
    await this.#rows.change(bucket.path, async ({ rows, write }) => {
      for (const [id, { place, total }] of counted) {
        const now = rows.get(id);
        // After an exchange, the files were those of another one.
        if (now?.place === place && now.files === null) await write(id, { ...now, ...total });
      }
    });
  }

  /** inBackground does work that `close` waits for. A failure is only logged. */
  inBackground(work: () => Promise<void>): Promise<void> {
    const running = outsideSpans(async () => {
      try {
        await work();
      } catch (error) {
        // That the database is away is logged once, for everything that fails by it.
        if (isUnavailable(error)) return;
        this.#options.log.event("deploy.work_failed", "work on deploys failed", { reason: messageOf(error) });
      }
    });
    this.#background.add(running);
    return running.finally(() => this.#background.delete(running));
  }

  /** close waits for what runs in the background. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#background);
  }

  /** Finds out whether an exchange that has begun has happened. Only a store without transactions leaves one. */
  async #settle(bucket: BucketLocation): Promise<void> {
    const { storage, open, log } = this.#options;
    const rows = await this.#rows.list(bucket.path);
    const [id, begun] = [...rows].find(([, { switching }]) => switching !== undefined) ?? [];
    if (id === undefined || begun?.switching === undefined || begun.place === null) return;
    const { place, switching, tree } = begun;
    await storage.history.settleExchange(bucket.path, place);
    const present = await open(bucket).tree.treeId();
    // Without the folder, nobody can say which tree is where.
    if (present === undefined) throw folderIsGone();
    const isDone = present === tree;
    const previousTree = (await this.openDeploy(bucket, id, place).tree.treeId()) ?? null;
    await this.#rows.change(bucket.path, async (changes) => {
      const now = changes.rows.get(id);
      if (now?.switching === undefined) return;
      if (!isDone) return changes.write(id, withoutSwitching(now));
      const { keeps, isNew } = switching;
      await writeSwitch(changes, { id, place, previousTree, keeps, isNew, version: null });
    });
    log.event("deploy.settled", "an interrupted publication was settled", {
      path: bucket.path,
      deploy: id,
      published: isDone,
    });
  }

  /** Deletes the rows of some deploys; their trees are to be discarded. */
  async #dropSome(
    { name, path }: BucketLocation,
    choose: (rows: ReadonlyMap<string, DeployValue>, nowMs: number) => readonly string[],
  ): Promise<void> {
    if (choose(await this.#rows.list(path), this.#options.database.clock.now()).length === 0) return;
    await this.#rows.change(path, async ({ rows, nowMs, write, drop }) => {
      for (const id of choose(rows, nowMs)) {
        const { place = null, switching } = rows.get(id) ?? {};
        if (place === null || switching !== undefined) continue;
        await write(id, undefined);
        await drop({ place, deploy: nameOfDeploy(name, id) });
      }
    });
  }

  /** Discards all dropped trees. A tree that cannot be discarded does not keep the others from being discarded. */
  async #discardDropped(): Promise<void> {
    await this.#mutex.run([discardTurn], async () => {
      const failures: unknown[] = [];
      for (const { place, deploy } of await this.#rows.dropped())
        try {
          if (deploy !== null) await this.forget(deploy, place);
          await this.#options.storage.history.discard(place);
          await this.#rows.forgetDropped(place);
        } catch (error) {
          failures.push(error);
        }
      if (failures.length > 0) throw failures[0];
    });
  }
}

/** An open deploy that received no file for this long is removed. */
const maxUntouchedMs = 24 * 3600 * 1000;

/** abandonedDeploys returns the open deploys that nobody fills any more. */
function abandonedDeploys(rows: ReadonlyMap<string, DeployValue>, nowMs: number): string[] {
  return [...rows].flatMap(([id, { state, touched }]) =>
    state === "open" && nowMs - touched > maxUntouchedMs ? [id] : [],
  );
}

/**
 * excessDeploys returns the oldest deploys beyond `keep`. Deploys that were published and deploys that wait for their publication
 * are counted apart.
 */
function excessDeploys(rows: ReadonlyMap<string, DeployValue>, keep: number): string[] {
  const sorted = [...rows].map(([id, value]) => ({ id, ...value })).sort(byPublication);
  const previous = sorted.filter(({ state }) => state === "previous");
  const ready = sorted.filter(({ state }) => state === "ready");
  // The published one counts, and is never removed.
  return [...previous.slice(Math.max(0, keep - 1)), ...ready.slice(keep)].map(({ id }) => id);
}
