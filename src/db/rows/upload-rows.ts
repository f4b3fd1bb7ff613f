import { type SqlBool, sql, type Transaction } from "kysely";
import { Collections, type Condition, type Query } from "../collection.ts";
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
 * `ContentNames` finds content.
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
  /** Set if the content arrives in numbered parts, as S3 has it. Its length is known at the end. */
  readonly multipart?: MultipartValue;
}

/** MultipartValue is what the request that began an upload in numbered parts says of the object. */
export interface MultipartValue {
  readonly headers: Readonly<Record<string, string>>;
  /** The algorithm of the object's checksum, and whether it is one of the checksums of the parts. */
  readonly checksum?: { readonly algorithm: string; readonly isComposite: boolean };
}

/** NumberedPart is a part of an upload in numbered parts. */
export interface NumberedPart {
  readonly number: number;
  /** Names its content among those of the upload. */
  readonly piece: string;
  readonly size: number;
  /** In hexadecimal. */
  readonly md5: string;
  readonly checksums: Readonly<Record<string, string>>;
  readonly at: number;
  /** Its blob, and the SHA-256 of that in hexadecimal, where content is in an object store. */
  readonly blob?: string;
  readonly hash?: string;
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
  /** By the id of the bucket. */
  readonly #uploads: Collections<UploadValue>;
  /** By the id of the upload. */
  readonly #parts: Collections<Omit<UploadPart, "offset">>;
  /** The same, of uploads in numbered parts. */
  readonly #numbered: Collections<Omit<NumberedPart, "number">>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#uploads = new Collections(dialect, uploadsPrefix);
    this.#parts = new Collections(dialect, partsPrefix);
    this.#numbered = new Collections(dialect, partsPrefix);
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
    return this.#uploads.of(bucketId).exclusively(async (uploads, transaction) => {
      const now = await readClock(this.#dialect, transaction);
      const { jsonInteger, jsonText } = this.#dialect;
      const isFinished = sql<SqlBool>`${jsonText("value", "outcome")} is not null`;
      const isOpen = sql<SqlBool>`${jsonText("value", "outcome")} is null and ${jsonInteger("value", "expires")} > ${now}`;
      const isOwn = sql<SqlBool>`${jsonText("value", "by")} = ${upload.by}`;
      const isOwnFinished = sql<SqlBool>`${isFinished} and ${isOwn}`;
      const count = (where: Condition) => sql`count(*) filter (where ${where})`;
      const counted = await uploads.sums({
        open: count(isOpen),
        ownOpen: count(sql<SqlBool>`${isOpen} and ${isOwn}`),
        finished: count(isFinished),
        ownFinished: count(isOwnFinished),
      });
      if (counted.open >= maxPerBucket) return "bucket";
      if (counted.ownOpen >= maxPerToken) return "token";
      const forget = (where: Condition, keep: number) =>
        uploads.deleteWhere(sql<SqlBool>`key in (
          select key from kv where namespace = ${uploads.namespace} and ${where}
          order by ${jsonInteger("value", "expires")} desc, id desc limit ${sql.lit(maxRows)} offset ${keep})`);
      if (counted.ownFinished >= maxPerToken) await forget(isOwnFinished, maxPerToken - 1);
      if (counted.finished >= maxPerBucket) await forget(isFinished, maxPerBucket - 1);
      const stored: UploadValue = { ...upload, offset: 0, at: now, expires: now + lifetimeMs };
      await uploads.insert(id, stored);
      return stored;
    });
  }

  /** Undefined if there is none, or its time has passed. */
  get({ bucketId, id }: UploadName): Promise<UploadValue | undefined> {
    return this.#uploads.of(bucketId).get(id, this.#isLive());
  }

  /**
   * Returns the unfinished uploads of a bucket by id, those of one token or all, the oldest first, without those whose time has
   * passed.
   */
  unfinished(bucketId: number, by: string | undefined): Promise<ReadonlyMap<string, UploadValue>> {
    const { jsonText } = this.#dialect;
    const isOwn = by === undefined ? sql`` : sql` and ${jsonText("value", "by")} = ${by}`;
    const where = sql<SqlBool>`${this.#isLive()} and ${jsonText("value", "outcome")} is null${isOwn}`;
    return this.#uploads.of(bucketId).list({ where, order: "age" });
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
        await this.#parts.of(name.id, transaction).insert(partKey(offset), stored);
      }
      await this.#uploads.of(name.bucketId, transaction).update(name.id, { ...upload, offset: to });
      return replaced;
    });
  }

  /**
   * Records a part of an upload in numbered parts, in the place of one with the same number, which is returned. Undefined, and nothing is
   * changed, if the upload has ended.
   */
  putPart(
    name: UploadName,
    { number, ...part }: Omit<NumberedPart, "at">,
  ): Promise<{ readonly replaced: NumberedPart | undefined } | undefined> {
    return this.#change(name, async (upload, transaction) => {
      if (upload?.multipart === undefined || upload.outcome !== undefined) return undefined;
      const parts = this.#numbered.of(name.id, transaction);
      const key = partKey(number);
      const old = await parts.get(key);
      await parts.put(key, { ...part, at: await readClock(this.#dialect, transaction) });
      return { replaced: old && { number, ...old } };
    });
  }

  /** Returns the parts of an upload in numbered parts, in the order of their numbers. */
  async numberedParts(id: string): Promise<NumberedPart[]> {
    const parts: NumberedPart[] = [];
    for await (const batch of this.#numbered.of(id).batches())
      parts.push(...batch.map(({ key, value }) => ({ number: Number(key), ...value })));
    return parts;
  }

  /** Returns the pieces of an upload, in their order. */
  async parts(id: string): Promise<UploadPart[]> {
    return [...(await this.#parts.of(id).list())].map(([key, part]) => ({ offset: Number(key), ...part }));
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
      await this.#uploads.of(name.bucketId, transaction).update(name.id, finished);
      return blobs;
    };
    return within === undefined
      ? this.#change(name, work)
      : work(await this.#uploads.of(name.bucketId, within).lock(name.id), within);
  }

  /** Deletes an upload and returns the blobs that are needed no more. */
  remove(name: UploadName): Promise<string[]> {
    return this.#change(name, async (_, transaction) => {
      await this.#uploads.of(name.bucketId, transaction).delete(name.id);
      return this.#deleteParts(name.id, transaction);
    });
  }

  /** Returns the names of uploads whose time has passed. */
  expired(): Promise<UploadName[]> {
    return this.#names(sql<SqlBool>`not (${this.#isLive()})`);
  }

  /** Returns the ids of uploads that may still go on. */
  async liveIds(): Promise<ReadonlySet<string>> {
    return new Set((await this.#names(this.#isLive())).map(({ id }) => id));
  }

  /** Deletes the pieces of uploads that do not exist any more, as after their bucket was deleted, and returns their blobs. */
  async removeStrayParts(): Promise<string[]> {
    const ids = await this.#parts.ids();
    const existing = new Set((await this.#names()).map(({ id }) => id));
    const blobs: string[] = [];
    for (const id of ids)
      if (!existing.has(id)) blobs.push(...(await this.#deleteParts(id, this.#dialect.query)));
    return blobs;
  }

  async #names(where?: Condition): Promise<UploadName[]> {
    return (await this.#uploads.find(where)).map(({ id, key }) => ({ bucketId: Number(id), id: key }));
  }

  #isLive(): Condition {
    return sql<SqlBool>`${this.#dialect.jsonInteger("value", "expires")} > ${this.#dialect.nowMs}`;
  }

  #change<T>(
    name: UploadName,
    work: (upload: UploadValue | undefined, transaction: Transaction<Schema>) => Promise<T>,
  ): Promise<T> {
    const uploads = this.#uploads.of(name.bucketId);
    const scope = namespaceScope(`${uploads.namespace}/${name.id}`);
    return uploads.exclusively(
      async (rows, transaction) => work(await rows.lock(name.id), transaction),
      scope,
    );
  }

  async #deleteParts(id: string, query: Query, from = 0): Promise<string[]> {
    const parts = await this.#parts.of(id, query).take(sql<SqlBool>`key >= ${partKey(from)}`);
    // A part has no blob where its content is a file, and if it is empty.
    return parts.flatMap(({ blob }: { readonly blob?: string }) => blob ?? []);
  }
}

/** Sixteen digits hold every safe integer, so that keys sort as the offsets do. */
function partKey(offset: number): string {
  return String(offset).padStart(16, "0");
}
