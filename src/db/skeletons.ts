import { sql, type Transaction } from "kysely";
import { skeletonOf } from "../base/skeleton.ts";
import type { Schema } from "./schema.ts";

/** The number of rows read and written at once: databases limit the number of parameters. */
const rowsAtOnce = 500;

/**
 * `fillSkeletons` stores the skeleton of every user name, if no row has one yet. Of similar names only the oldest token's gets it;
 * the others continue to work without.
 */
export async function fillSkeletons(transaction: Transaction<Schema>): Promise<void> {
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
