import { sql } from "kysely";
import type { PortableValue } from "./portable.ts";
import { postgresColumns } from "./postgres-columns.ts";
import type { RowWriter } from "./row-writer.ts";

/** `postgresRowWriter` passes every value as text and has PostgreSQL convert it: its own parser refuses what does not fit. */
export const postgresRowWriter: RowWriter = {
  async columns(query, table) {
    return (await postgresColumns(query, table)).map(({ name, type }) => ({
      name,
      expression: (parameter: string) =>
        type === "bytea"
          ? `decode(cast(${parameter} as text), 'base64')`
          : `cast(cast(${parameter} as text) as ${type})`,
      bind,
    }));
  },
  parameter: (number) => `$${number}`,
  async setLastId(transaction, table, lastId) {
    const [value, isUsed] = lastId === "0" ? ["1", false] : [lastId, true];
    await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), cast(cast(${value} as text) as bigint), ${sql.lit(isUsed)})`.execute(
      transaction,
    );
  },
};

function bind(value: PortableValue): string | null {
  if (value === null) return null;
  if (typeof value !== "object") return String(value);
  if ("integer" in value) return value.integer;
  return "real" in value ? value.real : value.blob;
}
