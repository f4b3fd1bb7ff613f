import type { Selectable, Transaction } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

export interface BucketRow {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly is_http_root: boolean;
  readonly cors: boolean;
  readonly enable: boolean;
}

export type NewBucket = Omit<BucketRow, "id">;

/** What may be done while nobody else changes buckets. */
export interface BucketChanges {
  readonly rows: readonly BucketRow[];
  insert(bucket: NewBucket): Promise<BucketRow>;
  update(bucket: BucketRow): Promise<void>;
}

export class BucketRows {
  constructor(private readonly dialect: Dialect) {}

  /** By name. */
  async list(): Promise<BucketRow[]> {
    return readAll(this.dialect.query);
  }

  async byName(name: string): Promise<BucketRow | undefined> {
    const row = await this.dialect.query
      .selectFrom("static_file")
      .selectAll()
      .where("name", "=", name)
      .executeTakeFirst();
    return row && toRow(row);
  }

  /** Looks at all buckets and changes some as one step, so that no two callers can both pass a check. */
  change<T>(work: (changes: BucketChanges) => Promise<T>): Promise<T> {
    return this.dialect.exclusively(async (transaction) =>
      work({
        rows: await readAll(transaction),
        async insert(bucket) {
          await transaction.insertInto("static_file").values(bucket).execute();
          const row = await transaction
            .selectFrom("static_file")
            .selectAll()
            .where("name", "=", bucket.name)
            .executeTakeFirstOrThrow();
          return toRow(row);
        },
        async update({ id, ...columns }) {
          await transaction.updateTable("static_file").set(columns).where("id", "=", id).execute();
        },
      }),
    );
  }

  /** False when there was none. */
  async delete(name: string): Promise<boolean> {
    const { numDeletedRows } = await this.dialect.query
      .deleteFrom("static_file")
      .where("name", "=", name)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }
}

async function readAll(query: Dialect["query"] | Transaction<Schema>): Promise<BucketRow[]> {
  const rows = await query.selectFrom("static_file").selectAll().orderBy("name").execute();
  return rows.map(toRow);
}

function toRow(row: Selectable<Schema["static_file"]>): BucketRow {
  return {
    id: Number(row.id),
    name: row.name,
    path: row.path,
    is_http_root: Boolean(row.is_http_root),
    cors: Boolean(row.cors),
    // Rows from elsewhere may leave it open, which means yes.
    enable: row.enable === null || Boolean(row.enable),
  };
}
