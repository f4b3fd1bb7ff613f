import type { Kysely, Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import type { PortableValue } from "./portable.ts";

/** WritableColumn is a column of a table that rows are written to. */
export interface WritableColumn {
  readonly name: string;
  /** The SQL around a parameter: a cast where the database needs one. */
  expression(parameter: string): string;
  /** The value of the parameter. */
  bind(value: PortableValue): unknown;
}

/** RowWriter is how a database takes rows in the portable form. */
export interface RowWriter {
  /** The columns of a table; none if there is no such table. */
  columns(query: Kysely<Schema>, table: string): Promise<readonly WritableColumn[]>;
  /** The placeholder of the parameter with this number, counted from 1. */
  parameter(number: number): string;
  /** Makes the next automatic id of a table follow `lastId`. */
  setLastId(transaction: Transaction<Schema>, table: string, lastId: string): Promise<void>;
}
