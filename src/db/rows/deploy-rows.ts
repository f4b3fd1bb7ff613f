import type { Transaction } from "kysely";
import { Collection, Collections } from "../collection.ts";
import type { Dialect, Schema } from "../dialect.ts";
import type { DeployValue } from "./entry-values.ts";
import { readClock } from "./lock-rows.ts";

/** DroppedTree is a tree that no deploy has any more, and that is still in the store. */
interface DroppedTree {
  readonly place: string;
  /** The deploy that it belonged to, as `nameOfDeploy` names it; null if it belonged to none. */
  readonly deploy: string | null;
}

/** DeployChanges are the deploys of one bucket within a transaction, while nobody else changes them. */
export interface DeployChanges {
  /** By id, as they were when the transaction began. */
  readonly rows: ReadonlyMap<string, DeployValue>;
  /** The clock of the database. */
  readonly nowMs: number;
  readonly transaction: Transaction<Schema>;
  /** Writes a row; undefined deletes it. */
  write(id: string, value: DeployValue | undefined): Promise<void>;
  /** Notes a tree that has to be discarded after the transaction, also after a crash. */
  drop(tree: DroppedTree): Promise<void>;
}

/** DeployRows are the deploys of all buckets, by the path of the bucket's record. */
export class DeployRows {
  readonly #dialect: Dialect;
  readonly #deploys: Collections<DeployValue>;
  /** By the location of the tree. */
  readonly #dropped: Collection<Pick<DroppedTree, "deploy">>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#deploys = new Collections(dialect, "static-files/deploys/");
    this.#dropped = new Collection(dialect, "static-files/dropped-trees");
  }

  /** Returns the deploys of a bucket, by id. */
  list(bucketPath: string, transaction?: Transaction<Schema>): Promise<Map<string, DeployValue>> {
    return this.#deploys.of(bucketPath, transaction).list();
  }

  get(bucketPath: string, id: string): Promise<DeployValue | undefined> {
    return this.#deploys.of(bucketPath).get(id);
  }

  /**
   * Runs `work` in one transaction, in which no other one changes the deploys of the bucket, on any node. If it throws, nothing
   * is changed.
   */
  change<T>(bucketPath: string, work: (changes: DeployChanges) => Promise<T>): Promise<T> {
    return this.#deploys.of(bucketPath).exclusively(async (deploys, transaction) =>
      work({
        rows: await deploys.list(),
        nowMs: await readClock(this.#dialect, transaction),
        transaction,
        write: async (id, value) => {
          if (value === undefined) await deploys.delete(id);
          else await deploys.put(id, value);
        },
        drop: ({ place, deploy }) => this.#dropped.within(transaction).put(place, { deploy }),
      }),
    );
  }

  /** Returns the paths of all buckets that have deploys. */
  bucketPaths(): Promise<string[]> {
    return this.#deploys.ids();
  }

  /** Returns the trees that have to be discarded, of all buckets. */
  async dropped(): Promise<DroppedTree[]> {
    return [...(await this.#dropped.list())].map(([place, { deploy }]) => ({ place, deploy }));
  }

  /** Forgets a dropped tree, which is not in the store any more. */
  async forgetDropped(place: string): Promise<void> {
    await this.#dropped.delete(place);
  }

  /** Deletes the rows of all deploys, whose trees are in another store. */
  removeAll(): Promise<void> {
    return this.#deploys.deleteAll();
  }
}
