import { sql, type Transaction } from "kysely";
import type { Logger } from "../log/hub.ts";
import type { Dialect } from "./dialect.ts";
import { appliedVersions, readNewer, refuseNewer, writeEffect } from "./migration-rows.ts";
import { type Migration, migrations as ownMigrations } from "./migrations.ts";
import { refuseOlderNodes } from "./older-nodes.ts";
import type { Schema } from "./schema.ts";
import { schemaScope } from "./scopes.ts";

/** MigrationHook runs before migrations change an existing database; `versions` are those to come. If it throws, nothing changes. */
export type MigrationHook = (versions: readonly string[]) => Promise<void>;

export interface MigrateOptions {
  readonly log: Logger;
  readonly beforeMigration?: MigrationHook | undefined;
  /** The node that migrates; undefined for a command beside a server. */
  readonly serverUuid?: string | undefined;
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[] | undefined;
}

/**
 * `migrate` brings the schema up to date. Each migration is one transaction under the database's own lock, so two servers can start
 * together, and after a crash a migration is complete or not begun. Throws if a newer version has changed the schema so that this one
 * cannot work with it, and if a migration would do the same to another node that runs.
 */
export async function migrate(
  dialect: Dialect,
  { log, beforeMigration, serverUuid, migrations = ownMigrations }: MigrateOptions,
): Promise<void> {
  const pending = await dialect.exclusively(schemaScope, async (transaction) => {
    await createRecord(transaction);
    const applied = await appliedVersions(transaction);
    await admitNewer(dialect, transaction, { log, known: migrations });
    const pending = migrations.filter(({ version }) => !applied.includes(version));
    if (applied.length === 0) return [];
    // Before a copy is made of a database that stays as it is.
    for (const migration of pending) await refuseOlderNodes(dialect, transaction, { migration, serverUuid });
    return pending.map(({ version }) => version);
  });
  // A new database has nothing to lose.
  if (pending.length > 0) await beforeMigration?.(pending);
  for (const migration of migrations) {
    await dialect.exclusively(schemaScope, async (transaction) => {
      const applied = await appliedVersions(transaction);
      if (applied.includes(migration.version)) return;
      if (applied.length > 0) await refuseOlderNodes(dialect, transaction, { migration, serverUuid });
      await apply(migration, dialect, transaction);
      await recordMigrations(transaction, [{ version: migration.version, applied_at: dialect.clock.now() }]);
      await writeEffect(dialect, transaction, migration);
      log.event("database.migrated", `applied migration ${migration.version}`, {
        version: migration.version,
      });
    });
  }
}

/** Throws for a newer schema that this version cannot work with, and reports one that it can. */
async function admitNewer(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  { log, known }: { readonly log: Logger; readonly known: readonly Migration[] },
): Promise<void> {
  const newer = (await readNewer(dialect, transaction)).filter(
    ({ version }) => !known.some((migration) => migration.version === version),
  );
  refuseNewer(newer);
  const [last] = newer.slice(-1);
  if (last === undefined) return;
  log.event(
    "database.schema_newer",
    `a newer version of node-server${last.by === undefined ? "" : ` (${last.by})`} has migrated the database; this version can work with it, update it soon`,
    { migrations: newer.map(({ version }) => version), by: last.by },
  );
}

/** `applyMigrations` creates the schema that these migrations make, in a database without one. It does not record them. */
export async function applyMigrations(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  versions: readonly string[],
): Promise<void> {
  await createRecord(transaction);
  for (const migration of ownMigrations)
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
