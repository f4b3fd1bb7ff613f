import { Fault } from "../../base/fault.ts";
import type { DeployChanges } from "../../db/rows/deploy-rows.ts";
import type { DeployValue } from "../../db/rows/entry-values.ts";
import type { QueueChanges } from "../bucket-files.ts";
import type { FileChange } from "../events.ts";
import { treeRoot } from "../path.ts";
import type { BucketView, Tree, TreeExchange } from "../ports.ts";
import { firstEntries } from "../tree-ops.ts";
import { assertConditions, type WriteConditions } from "../write-conditions.ts";
import { isClosed, newDeployId, noDeploy } from "./deploy-record.ts";

interface TreeSwitchOptions {
  readonly id: string;
  /** The row by which the switch was chosen. */
  readonly chosen: DeployValue & { readonly place: string };
  /** The published tree, and that of the deploy. */
  readonly published: Tree;
  readonly prepared: Tree;
  readonly conditions: WriteConditions;
  /** Whether it counts as a new publication; otherwise the deploy goes back to what it was before. */
  readonly isNew: boolean;
  transact<T>(work: (changes: DeployChanges) => Promise<T>): Promise<T>;
  flush(): Promise<void>;
  /** Queues the publication for those who must hear of it. */
  readonly queue: QueueChanges | undefined;
}

/** TreeSwitch writes the rows of a switch: the deploy becomes the published one, and what was published before stays as a deploy. */
export class TreeSwitch implements TreeExchange {
  readonly #options: TreeSwitchOptions;
  readonly changes: readonly FileChange[];
  /** Whether the previous tree is kept: one without files that no deploy made is not. */
  #keeps = true;
  #previousTree: string | null = null;
  /** The deploy that was published before; null if there was none. Known after `commit`. */
  replaced: string | null = null;

  constructor(options: TreeSwitchOptions) {
    this.#options = options;
    const { id, conditions } = options;
    this.changes = [{ event: "published", path: treeRoot, deploy: id, by: conditions.grant.by }];
  }

  transact<T>(work: (changes: DeployChanges) => Promise<T>): Promise<T> {
    return this.#options.transact(work);
  }

  flush(): Promise<void> {
    return this.#options.flush();
  }

  async check(view: BucketView, { rows }: DeployChanges): Promise<void> {
    const { id, chosen, conditions, published, prepared } = this.#options;
    const now = rows.get(id);
    if (now === undefined) throw noDeploy(id);
    if (now.place !== chosen.place || now.state === "published") throw isClosed(id);
    if ([...rows.values()].some(({ switching }) => switching !== undefined))
      throw new Fault("Busy", "another deploy of the bucket is being published; try again");
    if ((await prepared.treeId()) !== now.tree) throw isElsewhere(id);
    await assertConditions(conditions, await view.reader.resolve(treeRoot), view);
    await view.metadata.locks.assertUnlocked(conditions.holder, {
      path: treeRoot,
      recursive: true,
      changesParent: false,
    });
    this.#keeps = publishedIn(rows) !== undefined || (await firstEntries(view.reader, treeRoot)).length > 0;
    this.#previousTree = (await published.treeId()) ?? null;
  }

  async begin(changes: DeployChanges): Promise<void> {
    const { id, chosen } = this.#options;
    const switching = { at: changes.nowMs, keeps: this.#keeps, isNew: this.#options.isNew };
    await changes.write(id, { ...(changes.rows.get(id) ?? chosen), switching });
  }

  async cancel({ rows, write }: DeployChanges): Promise<void> {
    const { id } = this.#options;
    const now = rows.get(id);
    if (now?.switching !== undefined) await write(id, withoutSwitching(now));
  }

  async commit(changes: DeployChanges, version: number | null): Promise<void> {
    const { id, chosen, isNew } = this.#options;
    this.replaced = await writeSwitch(changes, {
      id,
      place: chosen.place,
      previousTree: this.#previousTree,
      keeps: this.#keeps,
      isNew,
      version,
    });
    await this.#options.queue?.(this.changes, changes.transaction);
  }
}

/** The rows are older than the files, or the files were replaced by another program. */
function isElsewhere(id: string): Fault {
  return new Fault(
    "IoError",
    `the files of the deploy ${id} are no longer in the store; delete the deploy and make it again`,
    { deploy: id, reason: "files_missing" },
  );
}

interface SwitchRows {
  readonly id: string;
  /** Where the previous tree is now. */
  readonly place: string;
  readonly previousTree: string | null;
  readonly keeps: boolean;
  readonly isNew: boolean;
  /** The version of the bucket after the switch; null if the store counts none. */
  readonly version: number | null;
}

/** writeSwitch writes that the trees were exchanged, and returns the deploy that was published before; null if there was none. */
export async function writeSwitch(
  { rows, nowMs, write, drop }: DeployChanges,
  { id, place, previousTree, keeps, isNew, version }: SwitchRows,
): Promise<string | null> {
  const next = rows.get(id);
  if (next === undefined) throw noDeploy(id);
  const published_at = isNew ? nowMs : (next.published_at ?? nowMs);
  const exchanges = (next.exchanges ?? 0) + 1;
  await write(id, {
    ...withoutSwitching(next),
    state: "published",
    place: null,
    version,
    published_at,
    exchanges,
  });
  const previous = publishedIn(rows);
  if (previous !== undefined) {
    const [previousId, value] = previous;
    const changed = value.changed || (version !== null && value.version !== version - 1);
    const exchanges = (value.exchanges ?? 0) + 1;
    await write(previousId, { ...value, state: "previous", place, tree: previousTree, changed, exchanges });
    return previousId;
  }
  if (!keeps) {
    await drop({ place, deploy: null });
    return null;
  }
  const first = newDeployId(nowMs);
  await write(first, {
    state: "previous",
    place,
    tree: previousTree,
    at: nowMs,
    by: "",
    username: null,
    note: "before the first deploy",
    touched: nowMs,
    published_at: published_at - 1,
    version: null,
    changed: false,
    files: null,
    bytes: null,
  });
  return first;
}

/** publishedIn returns the deploy that is published, with its id; undefined if none is. */
export function publishedIn(
  rows: ReadonlyMap<string, DeployValue>,
): readonly [string, DeployValue] | undefined {
  return [...rows].find(([, { state }]) => state === "published");
}

export function withoutSwitching({ switching: _, ...value }: DeployValue): DeployValue {
  return value;
}
