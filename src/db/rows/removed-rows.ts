import { type SqlBool, sql, type Transaction } from "kysely";
import { nextTurn } from "../../base/turns.ts";
import { type Collection, Collections } from "../collection.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { filesPrefix, isFolderValue, removedPrefix } from "./entry-rows.ts";
import type { EntryValue, FolderValue, RemovedValue } from "./entry-values.ts";
import type { HeadRows } from "./head-rows.ts";
import { readClock } from "./lock-rows.ts";
import { ContentNames, ObjectRows } from "./store-rows.ts";

/** Rows that one statement changes or deletes: few, so that the writers of a bucket wait only for a moment. */
const maxRowsPerChange = 200;

/** Pending is the row of a folder that goes after its content, whose folder has this id. */
interface Pending {
  readonly rows: Pick<Collection<unknown>, "delete">;
  readonly key: string;
  readonly id: string | undefined;
}

/** RemovedRows are what was deleted or replaced: found again while it is kept, and purged long enough after. */
export class RemovedRows {
  /** The rows as they are now: each batch is read when it is asked for. */
  readonly current: ObjectRows;
  /** Which rows name what content. */
  readonly names: ContentNames;
  readonly #dialect: Dialect;
  readonly #heads: HeadRows;
  /** By the path of the bucket. */
  readonly #removed: Collections<RemovedValue>;
  /** By the id of the folder. */
  readonly #folders: Collections<EntryValue>;

  constructor(dialect: Dialect, heads: HeadRows) {
    this.current = new ObjectRows(dialect.query, dialect);
    this.names = new ContentNames(dialect);
    this.#dialect = dialect;
    this.#heads = heads;
    this.#removed = new Collections(dialect, removedPrefix);
    this.#folders = new Collections(dialect, filesPrefix);
  }

  /** The time by which rows expire, in Unix milliseconds. */
  now(): Promise<number> {
    return readClock(this.#dialect);
  }

  /** Runs `work` with the rows of one moment. */
  readSnapshot<T>(work: (names: ObjectRows) => Promise<T>): Promise<T> {
    return this.#dialect.readSnapshot((snapshot) => work(new ObjectRows(snapshot, this.#dialect)));
  }

  /** Deletes a row within a transaction, whose folder has got another name. */
  async forget(bucketPath: string, key: string, transaction: Transaction<Schema>): Promise<void> {
    await this.#removed.of(bucketPath, transaction).delete(key);
  }

  /** Returns those of these rows of a bucket that exist, with a transaction as that sees them. */
  some(
    bucketPath: string,
    keys: readonly string[],
    transaction?: Transaction<Schema>,
  ): Promise<ReadonlyMap<string, RemovedValue>> {
    return this.#removed.of(bucketPath, transaction).getMany(keys);
  }

  /** retainsAny returns whether a bucket has versions that can be restored, as a transaction sees it. */
  retainsAny(bucketPath: string, transaction: Transaction<Schema>): Promise<boolean> {
    return this.#removed.of(bucketPath, transaction).has(this.#isValid());
  }

  /**
   * Lets everything expire that is kept of a bucket, so that the next purge deletes it. Returns how many rows had not expired. It is done
   * in many small transactions, and others change files between them; what they remove meanwhile is kept. After a failure, the next
   * call goes on.
   */
  async expireAll(bucketPath: string): Promise<number> {
    const begunAt = await this.now();
    let expired = 0;
    for await (const batch of this.current.removed(bucketPath)) {
      const valid = batch.filter(({ value: { at, until } }) => until >= begunAt && at <= begunAt);
      for (let at = 0; at < valid.length; at += maxRowsPerChange) {
        const some = valid.slice(at, at + maxRowsPerChange).map(({ key }) => key);
        expired += await this.#removed
          .of(bucketPath)
          .patch(
            this.#dialect.mergeJson("value", { until: 0 }),
            sql<SqlBool>`key in (${sql.join(some)}) and ${this.#isValid()}`,
          );
        // SQLite has one writer: those who wait come first.
        await nextTurn();
      }
    }
    return expired;
  }

  #isValid() {
    return sql<SqlBool>`cast(value ->> 'until' as bigint) >= ${this.#dialect.nowMs}`;
  }

  /** Removes everything in a bucket, as expired already. */
  async removeAll(bucketPath: string): Promise<void> {
    await this.#dialect.transact(async (transaction) => {
      const { head, nowMs } = await this.#heads.lock(bucketPath, transaction);
      if (head === undefined) return;
      const version = head.version + 1;
      const entry: FolderValue = { id: head.root, modified: head.at, created: head.at, version };
      await this.#removed
        .of(bucketPath, transaction)
        .insert(`${version}/`, { path: "", entry, at: nowMs, until: 0 });
      const empty = { ...head, version, root: Bun.randomUUIDv7(), at: nowMs };
      await this.#heads.write(bucketPath, empty, transaction);
    });
  }

  /** Purges rows of removed files that have expired, and returns how many. Other rows among `keys` stay. */
  async purgeFiles(bucketPath: string, keys: readonly string[]): Promise<number> {
    let purged = 0;
    for (let at = 0; at < keys.length; at += maxRowsPerChange) {
      const some = keys.slice(at, at + maxRowsPerChange);
      purged += await this.#locked(bucketPath, async (transaction, now) => {
        const rows = this.#removed.of(bucketPath, transaction);
        const expired = [...(await rows.getMany(some))].filter(
          ([, { until, entry }]) => until < now && !isFolderValue(entry),
        );
        return rows.delete(...expired.map(([key]) => key));
      });
    }
    return purged;
  }

  /**
   * Marks the row of a removed folder as being purged, and returns the folder; undefined if it has not expired, or is gone. From then on
   * nobody can restore it. If the server dies before `purgeFolder` is done, the next purge finds the row again.
   */
  async beginFolder(bucketPath: string, key: string): Promise<FolderValue | undefined> {
    return this.#locked(bucketPath, async (transaction, now) => {
      const rows = this.#removed.of(bucketPath, transaction);
      const value = await rows.get(key);
      if (value === undefined || value.until >= now || !isFolderValue(value.entry)) return undefined;
      await rows.update(key, { ...value, until: 0 });
      return value.entry;
    });
  }

  /** Deletes the row of a removed folder, and with `content` everything below it first. Returns the number of rows. */
  async purgeFolder(
    bucketPath: string,
    { key, content }: { readonly key: string; readonly content: FolderValue | undefined },
  ): Promise<number> {
    let deleted = 1;
    // A folder's row goes after its content, so that what a crash leaves can still be found.
    const pending: Pending[] = [{ rows: this.#removed.of(bucketPath), key, id: content?.id }];
    for (let last = pending.at(-1); last !== undefined; last = pending.at(-1)) {
      if (last.id !== undefined) {
        const inside = await this.#deleteFiles(last.id);
        deleted += inside.deleted;
        pending.push(...inside.folders);
        if (inside.folders.length > 0 || inside.deleted > 0) continue;
      }
      pending.pop();
      await last.rows.delete(last.key);
    }
    return deleted;
  }

  /** Deletes some files of a folder, and returns some of the folders in it. */
  async #deleteFiles(folderId: string) {
    const rows = this.#folders.of(folderId);
    const inside = await firstOf(this.current.entries(folderId));
    const files = inside.filter(({ value }) => !isFolderValue(value)).map(({ key }) => key);
    for (let at = 0; at < files.length; at += maxRowsPerChange)
      await rows.delete(...files.slice(at, at + maxRowsPerChange));
    const folders = inside.flatMap(({ key, value }) =>
      isFolderValue(value) ? [{ rows, key, id: value.id }] : [],
    );
    return { deleted: files.length + folders.length, folders };
  }

  /** Runs `work` while nobody else changes the bucket. */
  #locked<T>(
    bucketPath: string,
    work: (transaction: Transaction<Schema>, now: number) => Promise<T>,
  ): Promise<T> {
    return this.#dialect.transact(async (transaction) => {
      const { nowMs } = await this.#heads.lock(bucketPath, transaction);
      return work(transaction, nowMs);
    });
  }
}

async function firstOf<T>(batches: AsyncGenerator<readonly T[]>): Promise<readonly T[]> {
  for await (const batch of batches) return batch;
  return [];
}
