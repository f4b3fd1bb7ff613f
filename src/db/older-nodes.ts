import type { Transaction } from "kysely";
import { Fault } from "../base/fault.ts";
import { visible } from "../base/visible-text.ts";
import type { Dialect } from "./dialect.ts";
import { readClock } from "./lease-rows.ts";
import type { Migration } from "./migrations.ts";
import { aliveMs, nodesNamespace } from "./node-rows.ts";
import type { Schema } from "./schema.ts";

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
export async function refuseOlderNodes(
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
    `the migration ${migration.version} would take the database away from nodes that run an older version: ${names.join(", ")}. Nothing was changed. Update them first to a version that knows the migration ${requires}, or stop them; a node that ended without a notice is forgotten after ${aliveMs / 1000} s`,
    { reason: "older_nodes", migration: migration.version, nodes: names },
  );
}

/** `olderNodes` returns the nodes that run now and do not know a migration, with their versions, sorted. */
export async function olderNodes(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  { requires, serverUuid }: { readonly requires: string; readonly serverUuid?: string | undefined },
): Promise<string[]> {
  const now = await readClock(dialect, transaction);
  const rows = await transaction
    .selectFrom("kv")
    .select(["key", "value"])
    .where("namespace", "=", nodesNamespace)
    .execute();
  const older = new Set<string>();
  for (const { key, value } of rows) {
    const { name, version, at, schema } = dialect.fromJson(value) as NodeVersion;
    const isAlive = typeof at === "number" && now - at < aliveMs;
    const knows = typeof schema === "string" && schema >= requires;
    if (isAlive && !knows && key.split("/")[0] !== serverUuid)
      older.add(visible(`${name ?? key} (${version ?? "unknown version"})`));
  }
  return [...older].sort();
}
