// This folder creates the schema and changes it from version to version. migrations.ts is the list, in order, with what
// each migration means for older nodes of the same database; tables.ts has the tables that the first one creates. This
// file applies what is missing, one transaction each, records it, and refuses a database that a newer version has
// changed too far. It also locks older versions out while a bucket is private.

import { sql, type Transaction } from "kysely";
import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { build } from "../../build.ts";
import type { Logger } from "../../log/hub.ts";
import { Collection } from "../collection.ts";
import { type Dialect, type Schema, schemaScope } from "../dialect.ts";
import { readClock } from "../rows/lock-rows.ts";
import { aliveMs, nodesNamespace } from "../rows/node-rows.ts";
import {
  bucketAccess,
  lastUnrecorded,
  type Migration,
  type MigrationEffect,
  migrations,
  migrations as ownMigrations,
  unknownVersions,
} from "./migrations.ts";

/** MigrationHook runs before migrations change an existing database; `versions` are those to come. If it throws, nothing changes. */
export type MigrationHook = (versions: readonly string[]) => Promise<void>;

interface MigrateOptions {
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
    await acceptNewer(dialect, transaction, { log, known: migrations });
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
async function acceptNewer(
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
    `a newer version of node-server${last.by === undefined ? "" : ` (${last.by})`} has migrated the database; this version can work with it, but update soon`,
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

/** `migrationsNamespace` is the namespace of a row for each migration, which tells versions that do not know it what it means for them. */
export const migrationsNamespace = "migrations";

/** MigrationValue is the row of a migration. */
type MigrationValue = MigrationEffect & {
  /** The version of node-server that applied it. */
  readonly by: string;
};

/** NewerMigration is a migration of the database that this version of node-server does not have. */
export interface NewerMigration {
  readonly version: string;
  /** The version of node-server that applied it, if that is known. */
  readonly by?: string;
  /** Whether this version can work with the changed schema. */
  readonly isCompatible: boolean;
}

/** `writeEffect` records what a migration means for versions that do not know it. */
async function writeEffect(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  migration: Migration,
): Promise<void> {
  const { version } = migration;
  if (version <= lastUnrecorded) return;
  const by = build.cargo_version;
  // In the order in which PostgreSQL returns members, so that a copy is the same text on both databases.
  const row: MigrationValue =
    migration.effect === "expands"
      ? { by, effect: "expands" }
      : { by, effect: "contracts", requires: migration.requires ?? version };
  await new Collection<MigrationValue>(dialect, migrationsNamespace, transaction).put(version, row);
}

async function appliedVersions(query: Dialect["query"] | Transaction<Schema>): Promise<string[]> {
  const rows = await query.selectFrom("seaql_migrations").select("version").orderBy("version").execute();
  return rows.map(({ version }) => version);
}

/** `readNewer` returns the migrations of the database that this version does not have, oldest first. */
export async function readNewer(
  dialect: Dialect,
  query: Dialect["query"] | Transaction<Schema> = dialect.query,
): Promise<NewerMigration[]> {
  const versions = unknownVersions(await appliedVersions(query));
  // The table `kv` exists once the first migration is applied.
  if (versions.length === 0) return [];
  const values = await new Collection(dialect, migrationsNamespace, query).getMany(versions);
  return versions.map((version) => toNewer(version, values.get(version)));
}

/**
 * `toNewer` judges a migration by its row. One without a row is from a version that recorded no effects, or was not made by
 * node-server.
 */
export function toNewer(version: string, value: unknown): NewerMigration {
  const { effect, requires, by } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly [Name in "effect" | "requires" | "by"]?: unknown;
  };
  const isKnown = migrations.some((migration) => migration.version === requires);
  return {
    version,
    isCompatible: effect === "expands" || (effect === "contracts" && isKnown),
    ...(typeof by === "string" && /^[\w.+-]{1,64}$/.test(by) && { by }),
  };
}

/** `refuseNewer` throws if the schema has a migration that this version cannot work with. */
export function refuseNewer(newer: readonly NewerMigration[]): void {
  const found = newer.findLast(({ isCompatible }) => !isCompatible);
  if (found === undefined) return;
  const { version, by } = found;
  throw new Fault(
    "DatabaseError",
    `the database was created by a newer version of node-server (migration ${version}${by === undefined ? "" : `, applied by ${by}`}); update node-server, name another database in database_url, or restore the copy that was made before the migration (\`node-server restore\`)`,
    { reason: "schema_newer", migration: version },
  );
}

/** The members of a node's row that tell what it knows. */
interface NodeVersion {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly at?: unknown;
  /** The newest migration that the node knows. */
  readonly schema?: unknown;
}

/**
 * `refuseOlderNodes` throws if a migration would take the database away from another node that runs now. `serverUuid` is the node that
 * migrates: what an earlier start of it left in the list of nodes does not count.
 */
async function refuseOlderNodes(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  { migration, serverUuid }: { readonly migration: Migration; readonly serverUuid: string | undefined },
): Promise<void> {
  if (migration.effect !== "contracts") return;
  const requires = migration.requires ?? migration.version;
  const names = await olderNodes(dialect, transaction, { requires, serverUuid });
  if (names.length === 0) return;
  throw new Fault(
    "DatabaseError",
    `the migration ${migration.version} would lock out nodes of an older version: ${names.join(", ")}; nothing was changed. Stop them, or update them to a version with the migration ${requires}; a crashed node is forgotten after ${aliveMs / 1000} s`,
    { reason: "older_nodes", migration: migration.version, nodes: names },
  );
}

/** `olderNodes` returns the nodes that run now and do not know a migration, with their versions, sorted. */
async function olderNodes(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  { requires, serverUuid }: { readonly requires: string; readonly serverUuid?: string | undefined },
): Promise<string[]> {
  const now = await readClock(dialect, transaction);
  const nodes = await new Collection<NodeVersion>(dialect, nodesNamespace, transaction).list();
  const older = new Set<string>();
  for (const [key, { name, version, at, schema }] of nodes) {
    const isAlive = typeof at === "number" && now - at < aliveMs;
    const knows = typeof schema === "string" && schema >= requires;
    if (isAlive && !knows && key.split("/")[0] !== serverUuid)
      older.add(visible(`${name ?? key} (${version ?? "unknown version"})`));
  }
  return [...older].sort();
}

/**
 * `lockOutOlderVersions` is for a transaction that makes a bucket private: a version that does not know the column would serve its
 * files to anybody. It throws while a node of such a version runs, and records that none can be started on this database.
 */
export async function lockOutOlderVersions(
  dialect: Dialect,
  transaction: Transaction<Schema>,
): Promise<void> {
  const names = await olderNodes(dialect, transaction, { requires: bucketAccess.version });
  if (names.length > 0)
    throw new Fault(
      "InvalidInput",
      `a bucket cannot be private while nodes of an older version would serve its files to anyone: ${names.join(", ")}. Update or stop them first; a crashed node is forgotten after ${aliveMs / 1000} s`,
      { field: "public", reason: "older_nodes", nodes: names },
    );
  await writeEffect(dialect, transaction, { ...bucketAccess, effect: "contracts" });
}

/** `allowOlderVersions` takes back what `lockOutOlderVersions` has recorded, once no bucket is private. */
export async function allowOlderVersions(dialect: Dialect, transaction: Transaction<Schema>): Promise<void> {
  const left = await transaction
    .selectFrom("static_file")
    .select("id")
    .where(sql<boolean>`not ${sql.ref("public")}`)
    .executeTakeFirst();
  if (left === undefined) await writeEffect(dialect, transaction, bucketAccess);
}
