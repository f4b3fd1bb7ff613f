import type { Kysely, Transaction } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

/** RowName is where a row of `kv` is. */
export interface RowName {
  readonly namespace: string;
  readonly key: string;
}

type Query = Kysely<Schema> | Transaction<Schema>;

/** putRow writes a row of `kv`, in the place of one of the same name. */
export async function putRow(
  query: Query,
  { namespace, key }: RowName,
  value: ReturnType<Dialect["json"]>,
): Promise<void> {
  await query
    .insertInto("kv")
    .values({ namespace, key, value })
    .onConflict((conflict) => conflict.columns(["namespace", "key"]).doUpdateSet({ value }))
    .execute();
}

/** deleteRow deletes a row of `kv`, if it exists. */
export async function deleteRow(query: Query, { namespace, key }: RowName): Promise<void> {
  await query.deleteFrom("kv").where("namespace", "=", namespace).where("key", "=", key).execute();
}
