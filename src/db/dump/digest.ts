import { createHash } from "node:crypto";
import type { DatabaseSnapshot, PortableValue, TableShape } from "./portable.ts";

export interface TableDigest {
  readonly rows: number;
  readonly sha256: string;
}

/**
 * `digestTable` is the same for two databases with the same rows. Values of `jsonColumns` are compared as JSON values, because
 * PostgreSQL stores them in a form of its own: without spaces, sorted members, numbers without an exponent.
 */
export async function digestTable(
  snapshot: DatabaseSnapshot,
  table: TableShape,
  jsonColumns: ReadonlySet<string>,
): Promise<TableDigest> {
  const hash = createHash("sha256");
  const isJson = table.columns.map((column) => jsonColumns.has(`${table.name}.${column}`));
  let rows = 0;
  for await (const batch of snapshot.rows(table)) {
    rows += batch.length;
    for (const row of batch) {
      const values = row.map((value, at) => (isJson[at] ? canonical(value) : value));
      hash.update(`${JSON.stringify(values)}\n`);
    }
  }
  return { rows, sha256: hash.digest("hex") };
}

/** `canonical` writes equal JSON values as equal texts. Anything but a text of JSON stays as it is. */
function canonical(value: PortableValue): PortableValue {
  if (typeof value !== "string") return value;
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
  // Inner values are revived first, and what the reviver returns is not revived again.
  return JSON.stringify(
    parse(value, (_, inner, { source }) => {
      if (typeof inner === "number") return { number: canonicalNumber(source ?? String(inner)) };
      if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
      return { members: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) };
    }),
  );
}

/** `canonicalNumber` writes a decimal number as its digits without zeros at the ends, and an exponent. */
function canonicalNumber(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  const significant = digits.replace(/0+$/, "");
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
