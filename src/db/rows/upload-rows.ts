import { type RawBuilder, type SqlBool, sql, type Transaction } from "kysely";
import { type Dialect, namespaceScope, type Schema } from "../dialect.ts";
import { readClock } from "./lock-rows.ts";

const uploadsPrefix = "static-files/uploads/";
const partsPrefix = "static-files/upload-parts/";
/** More rows than a bucket can have. SQLite has no OFFSET without a LIMIT. */
const maxRows = 1_000_000;

/** `uploadsNamespace` returns the namespace of a bucket's resumable uploads, by id. A backup does not bring them along with the files. */
export function uploadsNamespace(bucketId: number): string {
  return uploadsPrefix + bucketId;
}

/** UploadOutcome is what the last request of an upload was answered. */
export interface UploadOutcome {
  /** Whether no file was at the path before. */
  readonly created: boolean;
  readonly etag: string;
  readonly modified: number;
}

/**
 * UploadValue is the row of a resumable upload. Times are Unix milliseconds of the database's clock. No member may have the name
 * of one by which
 * `ObjectRows` finds content.
 */
export interface UploadValue {
  /** `site`, or `site@id` for a deploy. */
  readonly target: string;
  readonly path: string;
  /** The key of the token that began it. */
  readonly by: string;
  /** In bytes. */
  readonly length: number;
  /** How many bytes are stored. Below `length` until the file is in place. */
  readonly offset: number;
  readonly at: number;
  readonly expires: number;
  /** The time to give the file. */
  readonly modified?: number;
  /** What the whole content must have, in hexadecimal. */
  readonly sha256?: string;
  /** `Upload-Metadata`, as it was sent. */
  readonly metadata?: string;
  /** Headers of the request that began it, which the file must satisfy when it is put in place; empty once it is. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly outcome?: UploadOutcome;
}

/** UploadPart is a piece of the content in an object store, by the offset at which it begins. It ends where the next one begins. */
export interface UploadPart {
  readonly offset: number;
  readonly blob: string;
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
}

/** UploadLimits bound the unfinished uploads, and the finished ones that are remembered, each. */
interface UploadLimits {
  readonly maxPerBucket: number;
  readonly maxPerToken: number;
  readonly lifetimeMs: number;
}

/** UploadName names the row of an upload. */
export interface UploadName {
  readonly bucketId: number;
  readonly id: string;
}

interface FinishOptions {
  readonly outcome: UploadOutcome;
  /** How long the outcome is kept. */
  readonly keepMs: number;
  readonly within?: Transaction<Schema>;
}

/** UploadRows are the resumable uploads of all buckets, and the pieces of their content where those are blobs. */
export class UploadRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Stores a new upload and returns it; the name of the limit if there are too many unfinished ones. Of too many finished ones,
   * those that finished first are forgotten.
   */
  insert(
    { bucketId, id }: UploadName,
    upload: Omit<UploadValue, "offset" | "at" | "expires">,
    { maxPerBucket, maxPerToken, lifetimeMs }: UploadLimits,
  ): Promise<UploadValue | "bucket" | "token"> {
    const namespace = uploadsNamespace(bucketId);
    return this.#dialect.exclusively(namespaceScope(namespace), async (transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const { jsonInteger, jsonText } = this.#dialect;
      const isFinished = sql<SqlBool>`${jsonText("value", "outcome")} is not null`;
      const isOpen = sql<SqlBool>`${jsonText("value", "outcome")} is null and ${jsonInteger("value", "expires")} > ${now}`;
      const isOwn = sql<SqlBool>`${jsonText("value", "by")} = ${upload.by}`;
      const count = (...conditions: RawBuilder<SqlBool>[]) =>
        sql<number | bigint | string>`count(*) filter (where ${sql.join(conditions, sql` and `)})`;
      const counted = await transaction
        .selectFrom("kv")
        .select([
          count(isOpen).as("open"),
          count(isOpen, isOwn).as("ownOpen"),
          count(isFinished).as("finished"),
          count(isFinished, isOwn).as("ownFinished"),
        ])
        .where("namespace", "=", namespace)
        .executeTakeFirstOrThrow();
      if (Number(counted.open) >= maxPerBucket) return "bucket";
      if (Number(counted.ownOpen) >= maxPerToken) return "token";
      const forget = async (condition: RawBuilder<SqlBool>, keep: number) => {
        const first = transaction
          .selectFrom("kv")
          .select("key")
          .where("namespace", "=", namespace)
          .where(condition)
          .orderBy(jsonInteger("value", "expires"), "desc")
          .orderBy("id", "desc")
          .limit(maxRows)
          .offset(keep);
        await transaction
          .deleteFrom("kv")
          .where("namespace", "=", namespace)
          .where("key", "in", first)
          .execute();
      };
      if (Number(counted.ownFinished) >= maxPerToken)
        await forget(sql<SqlBool>`${isFinished} and ${isOwn}`, maxPerToken - 1);
      if (Number(counted.finished) >= maxPerBucket) await forget(isFinished, maxPerBucket - 1);
      const stored: UploadValue = { ...upload, offset: 0, at: now, expires: now + lifetimeMs };
      await transaction
        .insertInto("kv")
        .values({ namespace, key: id, value: this.#dialect.json(stored) })
        .execute();
      return stored;
    });
  }

  /** Undefined if there is none, or its time has passed. */
  async get({ bucketId, id }: UploadName): Promise<UploadValue | undefined> {
    const row = await this.#dialect.query
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", uploadsNamespace(bucketId))
      .where("key", "=", id)
      .where(this.#isLive())
      .executeTakeFirst();
    return row && (this.#dialect.fromJson(row.value) as UploadValue);
  }

  /**
   * Returns the unfinished uploads of a bucket by id, those of one token or all, the oldest first, without those whose time has
   * passed.
   */
  async unfinished(bucketId: number, by: string | undefined): Promise<ReadonlyMap<string, UploadValue>> {
    const { query, jsonText } = this.#dialect;
    const rows = await query
      .selectFrom("kv")
      .select(["key", "value"])
      .where("namespace", "=", uploadsNamespace(bucketId))
      .where(this.#isLive())
      .where(sql<SqlBool>`${jsonText("value", "outcome")} is null`)
      .$if(by !== undefined, (own) => own.where(sql<SqlBool>`${jsonText("value", "by")} = ${by}`))
      .orderBy("id")
      .execute();
    return new Map(rows.map(({ key, value }) => [key, this.#dialect.fromJson(value) as UploadValue]));
  }

  /**
   * Records that content was stored from `from` on, so that `to` is the offset now. What was recorded from there on before is
   * replaced; its blobs are returned. Undefined, and nothing is changed, if the offset is not `from`: another request has stored
   * something meanwhile.
   */
  advance(
    name: UploadName,
    { from, to, part }: { readonly from: number; readonly to: number; readonly part: UploadPart | undefined },
  ): Promise<string[] | undefined> {
    return this.#change(name, async (upload, transaction) => {
      if (upload === undefined || upload.offset !== from || upload.outcome !== undefined) return undefined;
      const replaced = await this.#deleteParts(name.id, transaction, from);
      if (part !== undefined) {
        const { offset, ...stored } = part;
        const value = this.#dialect.json(stored);
        await transaction
          .insertInto("kv")
          .values({ namespace: partsPrefix + name.id, key: partKey(offset), value })
          .execute();
      }
      await this.#write(name, { ...upload, offset: to }, transaction);
      return replaced;
    });
  }

  /** Returns the pieces of an upload, in their order. */
  async parts(id: string): Promise<UploadPart[]> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select(["key", "value"])
      .where("namespace", "=", partsPrefix + id)
      .orderBy("key")
      .execute();
    return rows.map(({ key, value }) => ({
      offset: Number(key),
      ...(this.#dialect.fromJson(value) as Omit<UploadPart, "offset">),
    }));
  }

  /**
   * Records that the file is in place, for `keepMs`, and returns the blobs that are needed no more. What only the way there needed
   * is not kept. Undefined, and nothing is changed, if the upload has ended or another request has put the file in place. With
   * `within` it is done in that transaction.
   */
  async finish(name: UploadName, { outcome, keepMs, within }: FinishOptions): Promise<string[] | undefined> {
    const work = async (upload: UploadValue | undefined, transaction: Transaction<Schema>) => {
      if (upload === undefined || upload.outcome !== undefined) return undefined;
      const blobs = await this.#deleteParts(name.id, transaction);
      const expires = Math.min(upload.expires, (await readClock(this.#dialect, transaction)) + keepMs);
      const { metadata: _, sha256: __, ...rest } = upload;
      const finished = { ...rest, conditions: {}, offset: upload.length, expires, outcome };
      await this.#write(name, finished, transaction);
      return blobs;
    };
    return within === undefined ? this.#change(name, work) : work(await this.#locked(name, within), within);
  }

  /** Deletes an upload and returns the blobs that are needed no more. */
  remove(name: UploadName): Promise<string[]> {
    return this.#change(name, async (_, transaction) => {
      await transaction
        .deleteFrom("kv")
        .where("namespace", "=", uploadsNamespace(name.bucketId))
        .where("key", "=", name.id)
        .execute();
      return this.#deleteParts(name.id, transaction);
    });
  }

  /** Returns the names of uploads whose time has passed. */
  async expired(): Promise<UploadName[]> {
    return this.#names(sql<SqlBool>`not (${this.#isLive()})`);
  }

  /** Returns the ids of uploads that may still go on. */
  async liveIds(): Promise<ReadonlySet<string>> {
    return new Set((await this.#names(this.#isLive())).map(({ id }) => id));
  }

  /** Deletes the pieces of uploads that do not exist any more, as after their bucket was deleted, and returns their blobs. */
  async removeStrayParts(): Promise<string[]> {
    const query = this.#dialect.query;
    const rows = await query
      .selectFrom("kv")
      .select("namespace")
      .distinct()
      .where(hasPrefix(partsPrefix))
      .execute();
    const live = new Set((await this.#names(sql<SqlBool>`1 = 1`)).map(({ id }) => id));
    const blobs: string[] = [];
    for (const { namespace } of rows) {
      const id = namespace.slice(partsPrefix.length);
      if (!live.has(id)) blobs.push(...(await this.#deleteParts(id, query)));
    }
    return blobs;
  }

  async #names(condition: ReturnType<typeof sql<SqlBool>>): Promise<UploadName[]> {
    const rows = await this.#dialect.query
      .selectFrom("kv")
      .select(["namespace", "key"])
      .where(hasPrefix(uploadsPrefix))
      .where(condition)
      .execute();
    return rows.map(({ namespace, key }) => ({
      bucketId: Number(namespace.slice(uploadsPrefix.length)),
      id: key,
    }));
  }

  /** Values of other namespaces are not ours, and may be of any form. */
  #isLive() {
    const expires = this.#dialect.jsonInteger("value", "expires");
    return sql<SqlBool>`case when ${hasPrefix(uploadsPrefix)} then ${expires} > ${this.#dialect.nowMs} end`;
  }

  #change<T>(
    name: UploadName,
    work: (upload: UploadValue | undefined, transaction: Transaction<Schema>) => Promise<T>,
  ): Promise<T> {
    const scope = namespaceScope(`${uploadsNamespace(name.bucketId)}/${name.id}`);
    return this.#dialect.exclusively(scope, async (transaction) =>
      work(await this.#locked(name, transaction), transaction),
    );
  }

  /** Reads an upload that nobody else changes until the transaction ends. */
  async #locked(
    { bucketId, id }: UploadName,
    transaction: Transaction<Schema>,
  ): Promise<UploadValue | undefined> {
    const row = await transaction
      .selectFrom("kv")
      .select("value")
      .where("namespace", "=", uploadsNamespace(bucketId))
      .where("key", "=", id)
      .modifyEnd(this.#dialect.forUpdate)
      .executeTakeFirst();
    return row && (this.#dialect.fromJson(row.value) as UploadValue);
  }

  async #write(
    { bucketId, id }: UploadName,
    upload: UploadValue,
    transaction: Transaction<Schema>,
  ): Promise<void> {
    await transaction
      .updateTable("kv")
      .set({ value: this.#dialect.json(upload) })
      .where("namespace", "=", uploadsNamespace(bucketId))
      .where("key", "=", id)
      .execute();
  }

  async #deleteParts(id: string, query: Dialect["query"] | Transaction<Schema>, from = 0): Promise<string[]> {
    const rows = await query
      .deleteFrom("kv")
      .where("namespace", "=", partsPrefix + id)
      .where("key", ">=", partKey(from))
      .returning("value")
      .execute();
    return rows.map(({ value }) => (this.#dialect.fromJson(value) as UploadPart).blob);
  }
}

/** Sixteen digits hold every safe integer, so that keys sort as the offsets do. */
function partKey(offset: number): string {
  return String(offset).padStart(16, "0");
}

function hasPrefix(prefix: string) {
  return sql<SqlBool>`substr(namespace, 1, ${sql.lit(prefix.length)}) = ${sql.lit(prefix)}`;
}
