import { sql, type Transaction } from "kysely";
import { skeletonOf } from "../../base/visible-text.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { blobOf, folderOf, isRemoved } from "../rows/entry-rows.ts";
import { createStatements } from "./tables.ts";

/**
 * MigrationEffect is what a migration means for a node of an older version on the same database. `expands`: the node goes on
 * working. `contracts`: it does not, unless it knows the migration `requires`, whose release stopped using what this one removes;
 * without `requires` it has to know this migration itself.
 */
export type MigrationEffect =
  | { readonly effect: "expands" }
  | { readonly effect: "contracts"; readonly requires?: string };

export type Migration = MigrationEffect & {
  /** Sorts after the versions of all migrations before it. */
  readonly version: string;
  statements(dialect: Dialect): string[];
  /** Changes rows, after the statements and in the same transaction. */
  fill?(transaction: Transaction<Schema>): Promise<void>;
};

/** `bucketAccess` contracts while a bucket is private: an older version serves every bucket to anybody (`migrate.ts`). */
export const bucketAccess: Migration = {
  version: "m20261117_000001_bucket_access_and_hosts",
  effect: "expands",
  statements: ({ columnTypes: { types } }) => [
    `ALTER TABLE "static_file" ADD COLUMN "public" ${types.bool} NOT NULL DEFAULT true`,
    `ALTER TABLE "static_file" ADD COLUMN "hosts" ${types.json}`,
    `ALTER TABLE "static_file" ADD COLUMN "clean_urls" ${types.bool} NOT NULL DEFAULT false`,
    'CREATE INDEX "idx_static_file_hosts" ON "static_file" ("name") WHERE hosts IS NOT NULL',
  ],
};

/**
 * `migrations` are applied in this order. A released one is never edited. What a release replaces is removed one release later, by a
 * migration that contracts and requires the migration that replaced it: so nodes can be updated one by one, and a node that is rolled
 * back finds a database that it can use.
 */
export const migrations: readonly Migration[] = [
  {
    version: "m20261115_000001_business_tables",
    effect: "expands",
    statements: (dialect) => createStatements(dialect.columnTypes),
  },
  {
    version: "m20261115_000002_token_created_by",
    effect: "expands",
    statements: ({ columnTypes }) => [`ALTER TABLE "token" ADD COLUMN "created_by" ${columnTypes.types.str}`],
  },
  {
    version: "m20261115_000003_token_username_skeleton",
    effect: "expands",
    statements: ({ columnTypes }) => [
      `ALTER TABLE "token" ADD COLUMN "username_skeleton" ${columnTypes.types.str}`,
      'CREATE UNIQUE INDEX "idx_token_username_skeleton" ON "token" ("username_skeleton") WHERE username_skeleton IS NOT NULL',
    ],
    fill: fillSkeletons,
  },
  {
    // Armenian, Cherokee and Lisu letters were added to the look-alikes of Latin ones.
    version: "m20261116_000001_token_username_skeleton_scripts",
    effect: "expands",
    statements: () => ['UPDATE "token" SET "username_skeleton" = NULL'],
    fill: fillSkeletons,
  },
  {
    version: "m20261116_000002_token_name_and_times",
    effect: "expands",
    statements: ({ columnTypes: { types } }) => [
      `ALTER TABLE "token" ADD COLUMN "name" ${types.str}`,
      `ALTER TABLE "token" ADD COLUMN "created_at" ${types.big}`,
      `ALTER TABLE "token" ADD COLUMN "last_used_at" ${types.big}`,
    ],
  },
  bucketAccess,
  {
    version: "m20261119_000001_removed_by_version",
    effect: "expands",
    statements: ({ numberOfKey }) => [
      `CREATE INDEX "idx_kv_removed" ON "kv" ("namespace", (${numberOfKey})) WHERE ${isRemoved}`,
    ],
  },
  {
    version: "m20261119_000002_rows_by_content",
    effect: "expands",
    statements: (dialect) =>
      Object.entries({ idx_kv_blob: blobOf(dialect), idx_kv_folder: folderOf(dialect) }).map(
        ([name, named]) => `CREATE INDEX "${name}" ON "kv" ((${named})) WHERE (${named}) IS NOT NULL`,
      ),
  },
];

/** `lastUnrecorded` is the last migration whose effect is not recorded in the database: every version that reads such records knows it. */
export const lastUnrecorded = "m20261116_000002_token_name_and_times";

/** `newestMigration` is the newest migration that this version of node-server knows. */
export const newestMigration: string = migrations.at(-1)?.version ?? "";

/** `unknownVersions` returns the migrations that this version of node-server does not have. */
export function unknownVersions(versions: readonly string[]): string[] {
  return versions.filter((version) => !migrations.some((migration) => migration.version === version));
}

/** The number of rows read and written at once: databases limit the number of parameters. */
const rowsAtOnce = 500;

/**
 * `fillSkeletons` stores the skeleton of every user name, if no row has one yet. Of similar names only the oldest token's gets it;
 * the others continue to work without.
 */
async function fillSkeletons(transaction: Transaction<Schema>): Promise<void> {
  const given = new Set<string>([""]);
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await transaction
      .selectFrom("token")
      .select(["id", "username"])
      .where("id", ">", after)
      .where("username", "is not", null)
      .orderBy("id")
      .limit(rowsAtOnce)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return;
    after = Number(last.id);
    const filled = rows.flatMap(({ id, username }) => {
      const skeleton = skeletonOf(username ?? "");
      if (given.has(skeleton)) return [];
      given.add(skeleton);
      return [sql`(cast(${Number(id)} as bigint), cast(${skeleton} as text))`];
    });
    if (filled.length > 0)
      await sql`UPDATE token SET username_skeleton = filled.column2
        FROM (VALUES ${sql.join(filled)}) AS filled WHERE token.id = filled.column1`.execute(transaction);
  }
}
