// This folder is about files that are not, or not yet, the present ones. The Deploys of this file are whole trees that
// take each other's place at once: deploy-record.ts has their names, tree-switch.ts the rows of an exchange,
// deploy-maintenance.ts recovery and removal. uploads.ts are files that arrive in several requests. Each kind of tree keeps
// deleted files and pieces of uploads in its own way: disk/ with a trash folder and growing files, rows/ with rows and
// blobs. faults.ts has the errors of all of them.

import { Fault } from "../../base/fault.ts";
import type { DatabaseTransaction } from "../../db/dialect.ts";
import type { DeployValue } from "../../db/rows/entry-values.ts";
import type { BucketFiles } from "../bucket-files.ts";
import type { ReuseOptions, WantedFile } from "../ports.ts";
import { compareTrees, reuseContent, type TreeChanges } from "../tree-ops.ts";
import type { WriteConditions } from "../write-conditions.ts";
import {
  type BucketLocation,
  DeployMaintenance,
  type DeployMaintenanceOptions,
  type OpenedTree,
} from "./deploy-maintenance.ts";
import {
  byPublication,
  type Deploy,
  isClosed,
  nameOfDeploy,
  newDeployId,
  newDeployPath,
  noDeploy,
} from "./deploy-record.ts";
import { publishedIn, TreeSwitch } from "./tree-switch.ts";

/** An open deploy that was touched within this time counts as being filled now. */
const busyMs = 10 * 60 * 1000;
/** Deploys of a bucket that are being filled or wait for their publication, at most. A preview has no other end than its deletion. */
const maxUnpublished = 100;
/** The interval at which the time of the last upload is written. */
const touchMs = 60 * 1000;

/** DeployMaker is who makes a deploy, and what they say about it. */
interface DeployMaker {
  /** The key of the access token. */
  readonly by: string;
  readonly username: string | null;
  readonly note: string;
  /** The name of its stable preview address. */
  readonly preview?: string;
}

/** SwitchResult is the outcome of a switch. */
export interface SwitchResult {
  readonly deploy: string;
  /** The deploy that was published before; null if there was none, or if nothing had to be switched. */
  readonly replaced: string | null;
}

/** SealedDeploy is a deploy that is filled, with the ids of those that it took the place of. */
export interface SealedDeploy extends Deploy {
  readonly replaced: readonly string[];
}

/** CheckedDeploy is what a publication of a deploy would do. */
export interface CheckedDeploy {
  readonly changes: TreeChanges;
  /** The files of the deploy. */
  readonly files: BucketFiles;
}

/** ShownTree is where the files of a deploy are. */
export interface ShownTree {
  readonly location: BucketLocation;
  readonly isPublished: boolean;
  /** The number of times that the tree has come to the bucket's own location or has left it. */
  readonly exchanges: number;
}

interface Choice {
  readonly pick: (rows: ReadonlyMap<string, DeployValue>) => string;
  readonly isNew: boolean;
  readonly conditions: WriteConditions;
}

/**
 * Deploys are whole trees of files that take each other's place at once. A deploy is filled at a location of its own, and published
 * by an exchange with the bucket's own tree, which stays as a deploy; going back is the same exchange. It has more than 15 methods
 * because each call of the API about deploys is one.
 */
export class Deploys {
  readonly maintenance: DeployMaintenance;
  readonly #options: DeployMaintenanceOptions;

  constructor(options: DeployMaintenanceOptions) {
    this.#options = options;
    this.maintenance = new DeployMaintenance(options);
  }

  get #rows() {
    return this.#options.database.deploys;
  }

  /**
   * begin makes an empty deploy. Throws with the reason `deploy_open` while somebody fills another one, unless `force`, and with
   * `too_many_deploys` if too many are not published.
   */
  async begin(
    bucket: BucketLocation,
    maker: DeployMaker,
    { force }: { readonly force: boolean },
  ): Promise<Deploy> {
    await this.maintenance.clean(bucket);
    const place = newDeployPath(bucket.path);
    // Before anybody fills it.
    await this.#options.storage.history.assertExchangeable(bucket.path, place);
    return this.#rows.change(bucket.path, async ({ rows, nowMs, transaction, write }) => {
      const other = [...rows].find(([, { state, touched }]) => state === "open" && nowMs - touched < busyMs);
      if (other !== undefined && !force) throw isOpen(...other);
      const waiting = [...rows.values()].filter(({ state }) => state === "open" || state === "ready");
      if (waiting.length >= maxUnpublished) throw tooMany();
      let id = newDeployId(nowMs);
      while (rows.has(id)) id = newDeployId(nowMs + 1);
      await this.#options.storage.recreate({ path: place, transaction });
      const value: DeployValue = {
        state: "open",
        place,
        tree: (await this.maintenance.openDeploy(bucket, id, place).tree.treeId()) ?? null,
        at: nowMs,
        ...maker,
        touched: nowMs,
        published_at: null,
        version: null,
        changed: false,
        files: null,
        bytes: null,
      };
      await write(id, value);
      return { id, ...value };
    });
  }

  /** add reuses the files that the published tree has already, and returns the files that have to be uploaded. */
  async add(
    bucket: BucketLocation,
    id: string,
    { files, check, signal }: Omit<ReuseOptions, "sourcesOf"> & { readonly files: readonly WantedFile[] },
  ): Promise<WantedFile[]> {
    const { tree } = await this.openForChange(bucket, id);
    return reuseContent(files, {
      from: this.#options.open(bucket).tree,
      to: tree,
      signal,
      check: async () => {
        await check();
        await this.assertOpen(bucket, id);
      },
    });
  }

  /** openForChange returns the files of an open deploy. A caller that changes them has to call `assertOpen` in the turn of the change. */
  async openForChange(bucket: BucketLocation, id: string): Promise<OpenedTree> {
    const { touched, place } = await this.assertOpen(bucket, id);
    if (this.#options.database.clock.now() - touched > touchMs)
      await this.#update(bucket, id, (deploy, nowMs) => ({ ...deploy, touched: nowMs }));
    return this.maintenance.openDeploy(bucket, id, place);
  }

  /** assertOpen throws unless the deploy can be filled. */
  async assertOpen({ path }: BucketLocation, id: string): Promise<Deploy & { readonly place: string }> {
    const value = await this.#rows.get(path, id);
    if (value === undefined) throw noDeploy(id);
    const { place, state, switching } = value;
    if (state !== "open" || place === null || switching !== undefined) throw isClosed(id);
    return { id, ...value, place };
  }

  /** get returns a deploy; NotFound when there is none. */
  async get({ path }: BucketLocation, id: string): Promise<Deploy> {
    const value = await this.#rows.get(path, id);
    if (value === undefined) throw noDeploy(id);
    return { id, ...value };
  }

  /**
   * seal ends the filling of a deploy, which is shown to others from now on. A deploy with a preview name takes the place of an earlier
   * one that had the name, which is deleted; `replaced` has its id.
   */
  async seal({ name, path }: BucketLocation, id: string): Promise<SealedDeploy> {
    const replaced: string[] = [];
    const value = await this.#rows.change(path, async ({ rows, write, drop }) => {
      const deploy = rows.get(id);
      if (deploy === undefined) throw noDeploy(id);
      if (deploy.state !== "open") return deploy;
      const sealed = { ...deploy, state: "ready" } as const;
      await write(id, sealed);
      if (deploy.preview === undefined) return sealed;
      replaced.length = 0;
      for (const [other, { state, preview, place, switching }] of rows) {
        if (state !== "ready" || preview !== deploy.preview || place === null || switching !== undefined)
          continue;
        // One that was begun later is the newest, although it was filled sooner.
        if (other > id) continue;
        await write(other, undefined);
        await drop({ place, deploy: nameOfDeploy(name, other) });
        replaced.push(other);
      }
      return sealed;
    });
    if (value.preview !== undefined) void this.maintenance.discardDropped();
    return { id, ...value, replaced };
  }

  /** named returns the deploy that a preview name stands for: the newest that waits for its publication, else the published one. */
  async named({ path }: BucketLocation, name: string): Promise<Deploy | undefined> {
    const rows = [...(await this.#rows.list(path))].filter(([, { preview }]) => preview === name);
    const deploys = rows.map(([id, value]) => ({ id, ...value })).sort(byPublication);
    return (
      deploys.find(({ state }) => state === "ready") ?? deploys.find(({ state }) => state === "published")
    );
  }

  /** check compares a deploy with the published files. It lists at most `maxFirst` changes. */
  async check(bucket: BucketLocation, id: string, maxFirst: number): Promise<CheckedDeploy> {
    const { place } = await this.get(bucket, id);
    const published = this.#options.open(bucket);
    const { files } = place === null ? published : this.maintenance.openDeploy(bucket, id, place);
    return { changes: await compareTrees(published.files.reader, files.reader, maxFirst), files };
  }

  /** shownTree returns what can be read of any deploy; undefined if there is no such deploy. */
  async shownTree(bucket: BucketLocation, id: string): Promise<ShownTree | undefined> {
    const { name, path } = bucket;
    let deploy = await this.#rows.get(path, id);
    if (deploy?.switching !== undefined) {
      // Until the switch has ended, its tree is at either location.
      await this.maintenance.inTurn(bucket, async () => {});
      deploy = await this.#rows.get(path, id);
    }
    if (deploy === undefined) return undefined;
    const { place, exchanges = 0 } = deploy;
    return place === null
      ? { location: { name, path }, isPublished: true, exchanges }
      : { location: { name: nameOfDeploy(name, id), path: place }, isPublished: false, exchanges };
  }

  /** publish puts the tree of a deploy in the place of the bucket's, at once. It succeeds also if the deploy is published already. */
  publish(bucket: BucketLocation, id: string, conditions: WriteConditions): Promise<SwitchResult> {
    return this.#switch(bucket, { pick: () => id, isNew: true, conditions });
  }

  /** rollback publishes a previous deploy again; without an id, the one that was published before the present one. */
  rollback(
    bucket: BucketLocation,
    id: string | undefined,
    conditions: WriteConditions,
  ): Promise<SwitchResult> {
    return this.#switch(bucket, { pick: (rows) => id ?? previousDeploy(rows), isNew: false, conditions });
  }

  /** list returns the deploys of a bucket, the last published or made first. */
  async list(bucket: BucketLocation): Promise<Deploy[]> {
    await this.maintenance.clean(bucket);
    await this.maintenance.count(bucket);
    const version = await this.#options.open(bucket).tree.version();
    return [...(await this.#rows.list(bucket.path))]
      .map(([id, value]) => ({ id, ...value, changed: value.changed || isChanged(value, version) }))
      .sort(byPublication);
  }

  /** delete deletes a deploy that is not published. */
  async delete(bucket: BucketLocation, id: string): Promise<void> {
    await this.#rows.change(bucket.path, async ({ rows, write, drop }) => {
      const deploy = rows.get(id);
      if (deploy === undefined) throw noDeploy(id);
      if (deploy.place === null || deploy.switching !== undefined) throw isPublished();
      await write(id, undefined);
      await drop({ place: deploy.place, deploy: nameOfDeploy(bucket.name, id) });
    });
    await this.maintenance.discardDropped();
  }

  /** deleteAll deletes all deploys of a bucket that is deleted: the published one loses its row, the others also their trees. */
  async deleteAll(bucket: BucketLocation): Promise<void> {
    await this.maintenance.inTurn(bucket, async () => {
      await this.#rows.change(bucket.path, async ({ rows, write, drop }) => {
        for (const [id, { place, switching }] of rows) {
          // Another node that shares the disk is at it.
          if (switching !== undefined) throw isSwitching();
          await write(id, undefined);
          if (place !== null) await drop({ place, deploy: nameOfDeploy(bucket.name, id) });
        }
      });
    });
    await this.maintenance.discardDropped();
  }

  /** existAt returns whether there are deploys of a bucket that has, or had, this path. */
  async existAt(path: string, transaction: DatabaseTransaction): Promise<boolean> {
    return (await this.#rows.list(path, transaction)).size > 0;
  }

  #update(
    { path }: BucketLocation,
    id: string,
    change: (deploy: DeployValue, nowMs: number) => DeployValue,
  ): Promise<DeployValue> {
    return this.#rows.change(path, async ({ rows, nowMs, write }) => {
      const deploy = rows.get(id);
      if (deploy === undefined) throw noDeploy(id);
      const next = change(deploy, nowMs);
      if (next !== deploy) await write(id, next);
      return next;
    });
  }

  #switch(bucket: BucketLocation, { pick, isNew, conditions }: Choice): Promise<SwitchResult> {
    return this.maintenance.inTurn(bucket, async () => {
      const rows = await this.#rows.list(bucket.path);
      const id = pick(rows);
      const chosen = rows.get(id);
      if (chosen === undefined) throw noDeploy(id);
      const { place } = chosen;
      if (place === null) return { deploy: id, replaced: null };
      const { tree: published, files } = this.#options.open(bucket);
      const { tree: prepared } = this.maintenance.openDeploy(bucket, id, place);
      const treeSwitch = new TreeSwitch({
        id,
        chosen: { ...chosen, place },
        published,
        prepared,
        conditions,
        isNew,
        transact: (work) => this.#rows.change(bucket.path, work),
        flush: () => this.#options.database.flush(),
        queue: files.queue,
      });
      await published.exchangeWith(prepared, treeSwitch);
      await forgetMissing(files);
      await this.maintenance.forget(nameOfDeploy(bucket.name, id), place);
      this.maintenance.afterSwitch(bucket);
      return { deploy: id, replaced: treeSwitch.replaced };
    });
  }
}

/** Removes the dead properties of paths that the published tree does not have. */
async function forgetMissing({ reader, metadata: { properties } }: BucketFiles): Promise<void> {
  if (await properties.isEmpty()) return;
  for (const path of await properties.paths())
    if ((await reader.find(path)) === undefined) await properties.forget(path);
}

function isChanged({ state, version }: DeployValue, now: number | null): boolean {
  return state === "published" && version !== null && now !== null && version !== now;
}

function isOpen(id: string, { by, username, touched }: DeployValue): Fault {
  return new Fault(
    "Other",
    `${username ?? by} is deploying to this bucket (deploy ${id}, last upload ${new Date(touched).toISOString()}); wait, or begin with \`force\``,
    { reason: "deploy_open", deploy: id, by, username, touched },
  );
}

function isSwitching(): Fault {
  return new Fault("Other", "a deploy of the bucket is being published; nothing was deleted, try again");
}

function tooMany(): Fault {
  return new Fault(
    "InvalidInput",
    `the bucket has ${maxUnpublished} deploys that are not published; delete some`,
    { reason: "too_many_deploys", limit: maxUnpublished },
  );
}

function isPublished(): Fault {
  return new Fault(
    "InvalidInput",
    "the published deploy cannot be deleted; publish another one or roll back first",
    { field: "deploy" },
  );
}

/** previousDeploy returns the deploy that was published before the present one. */
function previousDeploy(rows: ReadonlyMap<string, DeployValue>): string {
  const present = publishedIn(rows)?.[1].published_at ?? Number.POSITIVE_INFINITY;
  const [previous] = [...rows]
    .map(([id, value]) => ({ id, ...value }))
    .filter(({ state, published_at: at }) => state === "previous" && at !== null && at < present)
    .sort(byPublication);
  if (previous !== undefined) return previous.id;
  throw new Fault("NotFound", "there is no earlier deploy to go back to", { field: "deploy" });
}
