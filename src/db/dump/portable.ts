// This folder copies a whole database into a form that is the same for SQLite and PostgreSQL, and back; backups and
// `migrate` use it. This file defines the form of values, rows and shapes, and of a snapshot. load-target.ts opens a
// snapshot to read beside a running server, or a database to replace, and table-loader.ts fills its tables. sqlite-
// dump.ts and postgres-dump.ts do both for one database each, row-writers.ts converts the values that they write.

import { createHash } from "node:crypto";

/**
 * PortableValue is a value of a column in a form that is the same for both databases and loses nothing: a number is an integer that
 * JavaScript represents exactly; integers beyond, floating-point numbers and bytes are objects that name their kind. JSON columns
 * are text.
 */
export type PortableValue =
  | null
  | boolean
  | number
  | string
  | { readonly integer: string }
  | { readonly real: string }
  | { readonly blob: string };

/** PortableRow has the values of a row in the order of `TableShape.columns`. */
export type PortableRow = readonly PortableValue[];

export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  /** The largest automatic id that was ever given out, in decimal digits; "0" for none. Deleted rows count. */
  readonly lastId: string;
}

interface AppliedMigration {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly applied_at: number;
}

/** DatabaseShape describes what is in a database: everything about it but the rows. */
export interface DatabaseShape {
  readonly kind: "sqlite" | "postgres";
  readonly migrations: readonly AppliedMigration[];
  readonly tables: readonly TableShape[];
}

/** DatabaseSnapshot is one state of a database, however long it is read and whatever is written meanwhile. */
export interface DatabaseSnapshot extends DatabaseShape {
  /** Names of tables that are not this server's, which a backup does not contain. */
  readonly otherTables: readonly string[];
  /** Columns, as `table.column`, whose values the database itself keeps as JSON: it may write the same value in another form. */
  readonly jsonColumns: ReadonlySet<string>;
  /** Reads the rows of a table by ascending id, in batches of about a megabyte. */
  rows(table: TableShape): AsyncIterable<readonly PortableRow[]>;
  close(): Promise<void>;
}

/** The size at which a batch of rows ends. */
export const batchBytes = 1024 * 1024;

/** `portableInteger` keeps every digit. */
export function portableInteger(value: bigint): PortableValue {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : { integer: String(value) };
}

/** `portableReal` keeps the sign of zero and the infinities, which JSON has not. */
export function portableReal(value: number): PortableValue {
  return { real: Object.is(value, -0) ? "-0" : String(value) };
}

/** `parsePortableRow` reads a line of a backup. Throws SyntaxError for anything but an array of portable values. */
export function parsePortableRow(line: string): PortableRow {
  const row: unknown = JSON.parse(line);
  if (Array.isArray(row) && row.every(isPortable)) return row as PortableRow;
  throw new SyntaxError("it is not an array of portable values");
}

function isPortable(value: unknown): value is PortableValue {
  if (value === null || typeof value === "boolean" || typeof value === "string") return true;
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const [[name, text] = [], ...more] = Object.entries(value);
  if (more.length > 0 || typeof text !== "string") return false;
  if (name === "integer") return /^-?\d{1,19}$/.test(text);
  if (name === "real") return text !== "" && !Number.isNaN(Number(text));
  return name === "blob" && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** `minifyJson` removes the spaces that PostgreSQL puts between the parts of a JSON value; nothing else changes. */
export function minifyJson(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ""));
}

interface TableDigest {
  readonly rows: number;
  readonly sha256: string;
}

/**
 * `digestTable` returns the same digest for two databases with the same rows. Values of `jsonColumns` are compared as JSON
 * values, because PostgreSQL stores them in a form of its own: without spaces, sorted members, numbers without an exponent.
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
