import { sql } from "kysely";
import type { PortableValue } from "./portable.ts";
import type { RowWriter } from "./row-writer.ts";

export const sqliteRowWriter: RowWriter = {
  async columns(query, table) {
    const { rows } = await sql<{ name: string }>`
      SELECT name FROM pragma_table_info(${table}) ORDER BY cid`.execute(query);
    return rows.map(({ name }) => ({ name, expression: (parameter: string) => parameter, bind }));
  },
  parameter: () => "?",
  async setLastId(transaction, table, lastId) {
    await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(transaction);
    if (lastId !== "0")
      await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${BigInt(lastId)})`.execute(
        transaction,
      );
  },
};

function bind(value: PortableValue): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "object" || value === null) return value;
  if ("integer" in value) return BigInt(value.integer);
  return "real" in value ? Number(value.real) : Buffer.from(value.blob, "base64");
}
