import { int16, int32, packet, text } from "./packets.ts";
import { type ArrayTypes, pgToJson } from "./values.ts";

/** Column is a column of a statement's result, with the OID of its type. */
export interface Column {
  readonly name: string;
  readonly type: number;
}

/** `bind` gives a prepared statement its parameters, as text. */
export function bind(name: string, values: ReadonlyArray<string | null>): Buffer {
  const encoded = values.map((value) => {
    if (value === null) return int32(-1);
    const bytes = Buffer.from(value);
    return Buffer.concat([int32(bytes.length), bytes]);
  });
  // No format codes: all parameters and all results are text.
  return packet("B", text(""), text(name), int16(0), int16(values.length), ...encoded, int16(0));
}

/** `execute` asks for so many rows; 0 means all. */
export function execute(rows: number): Buffer {
  return packet("E", text(""), int32(rows));
}

/** `readColumns` reads a RowDescription. */
export function readColumns(body: Buffer): Column[] {
  const columns: Column[] = [];
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const end = body.indexOf(0, at);
    columns.push({ name: body.toString("utf8", at, end), type: body.readUInt32BE(end + 7) });
    at = end + 19;
  }
  return columns;
}

/** `readRow` reads a DataRow; each cell is JSON. */
export function readRow(body: Buffer, columns: readonly Column[], arrays: ArrayTypes): string[] {
  let at = 2;
  return columns.map(({ type }) => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return "null";
    const value = body.toString("utf8", at, at + length);
    at += length;
    return pgToJson(value, type, arrays);
  });
}
