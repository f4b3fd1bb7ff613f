import { sql, type Transaction } from "kysely";
import { Fault } from "../../base/fault.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { aliveMs } from "../rows/node-rows.ts";
import { olderNodes, writeEffect } from "./migrate.ts";
import { bucketAccess } from "./migrations.ts";

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
