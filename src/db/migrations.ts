import { type Kysely, sql, type Transaction } from "kysely";
import { Fault } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";
import { fillSkeletons } from "./skeletons.ts";
import { createStatements } from "./tables.ts";

interface Migration {
  readonly version: string;
  statements(dialect: Dialect): string[];
  /** Changes rows, after the statements and in the same transaction. */
  fill?(transaction: Transaction<Schema>): Promise<void>;
}

/** The migrations in the order in which they are applied. A released one is never edited. */
const migrations: readonly Migration[] = [
  {
    version: "m20261115_000001_business_tables",
    statements: (dialect) => createStatements(dialect.columnTypes),
  },
  {
    version: "m20261115_000002_token_created_by",
    statements: ({ columnTypes }) => [`ALTER TABLE "token" ADD COLUMN "created_by" ${columnTypes.types.str}`],
  },
  {
    version: "m20261115_000003_token_username_skeleton",
    statements: ({ columnTypes }) => [
      `ALTER TABLE "token" ADD COLUMN "username_skeleton" ${columnTypes.types.str}`,
      'CREATE UNIQUE INDEX "idx_token_username_skeleton" ON "token" ("username_skeleton") WHERE username_skeleton IS NOT NULL',
    ],
    fill: fillSkeletons,
  },
  {
    // Armenian, Cherokee and Lisu letters were added to the look-alikes of Latin ones.
    version: "m20261116_000001_token_username_skeleton_scripts",
    statements: () => ['UPDATE "token" SET "username_skeleton" = NULL'],
    fill: fillSkeletons,
  },
  {
    version: "m20261116_000002_token_name_and_times",
    statements: ({ columnTypes: { types } }) => [
      `ALTER TABLE "token" ADD COLUMN "name" ${types.str}`,
      `ALTER TABLE "token" ADD COLUMN "created_at" ${types.big}`,
      `ALTER TABLE "token" ADD COLUMN "last_used_at" ${types.big}`,
    ],
  },
];

/** MigrationHook runs before migrations change an existing database; `versions` are those to come. If it throws, nothing changes. */
export type MigrationHook = (versions: readonly string[]) => Promise<void>;

export interface MigrateOptions {
  readonly log: Logger;
  readonly beforeMigration?: MigrationHook | undefined;
}

/**
 * `migrate` brings the schema up to date. Each migration is one transaction under the database's own lock, so two servers can start
 * together, and after a crash a migration is complete or not begun.
 */
export async function migrate(dialect: Dialect, { log, beforeMigration }: MigrateOptions): Promise<void> {
  const applied = await dialect.exclusively(async (transaction) => {
    await createRecord(transaction);
    const versions = await appliedVersions(transaction);
    refuseNewer(versions);
    return versions;
  });
  const pending = migrations.map(({ version }) => version).filter((version) => !applied.includes(version));
  // A new database has nothing to lose.
  if (applied.length > 0 && pending.length > 0) await beforeMigration?.(pending);
  for (const migration of migrations) {
    await dialect.exclusively(async (transaction) => {
      if ((await appliedVersions(transaction)).includes(migration.version)) return;
      await apply(migration, dialect, transaction);
      await recordMigrations(transaction, [{ version: migration.version, applied_at: Date.now() }]);
      log.event("database.migrated", `applied migration ${migration.version}`, {
        version: migration.version,
      });
    });
  }
}

/** `applyMigrations` creates the schema that these migrations make, in a database without one. It does not record them. */
export async function applyMigrations(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  versions: readonly string[],
): Promise<void> {
  await createRecord(transaction);
  for (const migration of migrations)
    if (versions.includes(migration.version)) await apply(migration, dialect, transaction);
}

export async function recordMigrations(
  transaction: Transaction<Schema>,
  applied: readonly { readonly version: string; readonly applied_at: number }[],
): Promise<void> {
  for (const { version, applied_at } of applied)
    await transaction.insertInto("seaql_migrations").values({ version, applied_at }).execute();
}

async function createRecord(transaction: Transaction<Schema>): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS seaql_migrations (version varchar PRIMARY KEY, applied_at bigint NOT NULL)`.execute(
    transaction,
  );
}

async function apply(
  migration: Migration,
  dialect: Dialect,
  transaction: Transaction<Schema>,
): Promise<void> {
  for (const statement of migration.statements(dialect)) await sql.raw(statement).execute(transaction);
  await migration.fill?.(transaction);
}

export async function appliedVersions(database: Kysely<Schema>): Promise<string[]> {
  const rows = await database.selectFrom("seaql_migrations").select("version").orderBy("version").execute();
  return rows.map(({ version }) => version);
}

/** `unknownVersions` are the migrations that this version of node-server does not have. */
export function unknownVersions(versions: readonly string[]): string[] {
  return versions.filter((version) => !migrations.some((migration) => migration.version === version));
}

/** `refuseNewer` throws if the schema has a migration that this version does not know. */
export function refuseNewer(versions: readonly string[]): void {
  const newest = unknownVersions(versions).at(-1);
  if (newest === undefined) return;
  throw new Fault(
    "DatabaseError",
    `the database was created by a newer version of node-server (migration ${newest}); update node-server, name another database in database_url, or restore the copy that was made before the migration (\`node-server restore\`)`,
  );
}
