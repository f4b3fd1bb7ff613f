import type { Transaction } from "kysely";
import { Fault } from "../base/fault.ts";
import { build } from "../build.ts";
import type { Dialect } from "./dialect.ts";
import {
  lastUnrecorded,
  type Migration,
  type MigrationEffect,
  migrations,
  unknownVersions,
} from "./migrations.ts";
import { putRow } from "./put-row.ts";
import type { Schema } from "./schema.ts";

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
export async function writeEffect(
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
  await putRow(transaction, { namespace: migrationsNamespace, key: version }, dialect.json(row));
}

export async function appliedVersions(query: Dialect["query"] | Transaction<Schema>): Promise<string[]> {
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
  const rows = await query
    .selectFrom("kv")
    .select(["key", "value"])
    .where("namespace", "=", migrationsNamespace)
    .where("key", "in", versions)
    .execute();
  const values = new Map(rows.map(({ key, value }) => [key, dialect.fromJson(value)]));
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
