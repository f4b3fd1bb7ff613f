import { exactJson } from "../../../base/json.ts";
import { doubleJson } from "../operator-sql.ts";

/** OIDs of the types that become something else than a JSON string. */
const oids = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  timestamp: 1114,
  timestamptz: 1184,
  jsonb: 3802,
} as const;

interface ArrayType {
  /** The type of the elements. */
  readonly element: number;
  /** The character between the elements: a comma, except for boxes. */
  readonly delimiter: string;
}

export type ArrayTypes = ReadonlyMap<number, ArrayType>;

/** `commonArrays` maps common array types to the type of their elements; others are looked up in the database. */
export const commonArrays: ArrayTypes = new Map(
  [
    [1000, oids.bool],
    [1001, oids.bytea],
    [1005, oids.int2],
    [1007, oids.int4],
    [1016, oids.int8],
    [1028, oids.oid],
    [199, oids.json],
    [1021, oids.float4],
    [1022, oids.float8],
    [1115, oids.timestamp],
    [1185, oids.timestamptz],
    [3807, oids.jsonb],
    [1009, 25],
    [1015, 1043],
    [1231, 1700],
    [2951, 2950],
    [1182, 1082],
  ].map(([array = 0, element = 0]) => [array, { element, delimiter: "," }]),
);

/** `plainTypes` are types that are known not to be arrays, so that they need no look-up; the last two only look like arrays. */
export const plainTypes: ReadonlySet<number> = new Set([
  ...Object.values(oids),
  ...[...commonArrays.values()].map(({ element }) => element),
  18,
  19,
  1042,
  1083,
  1186,
  705,
  2249,
  22,
  30,
]);

/** `pgToJson` turns a value in PostgreSQL's text format into JSON. */
export function pgToJson(value: string, type: number, arrays: ArrayTypes): string {
  const array = arrays.get(type);
  if (array !== undefined) return arrayToJson(value, array, arrays);
  switch (type) {
    case oids.int2:
    case oids.int4:
    case oids.int8:
    case oids.oid:
    case oids.json:
    case oids.jsonb:
      return value;
    case oids.bool:
      return value === "t" ? "true" : "false";
    case oids.float4:
    case oids.float8:
      return doubleJson(Number(value));
    case oids.bytea:
      return `"${byteaBytes(value).toString("base64")}"`;
    case oids.timestamp:
    case oids.timestamptz:
      return JSON.stringify(toIso(value));
    default:
      return JSON.stringify(value);
  }
}

/**
 * `toIso` turns `2026-11-15 02:03:04.5+00` into `2026-11-15T02:03:04.5+00:00`; infinity and dates before Christ stay as PostgreSQL
 * writes them.
 */
function toIso(value: string): string {
  if (!/^\d{4,}-\d\d-\d\d \d\d:/.test(value) || value.endsWith("BC")) return value;
  return value.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00");
}

/** `arrayToJson` turns `{1,2,{3,NULL},"a \"b\""}` into JSON. */
function arrayToJson(literal: string, { element, delimiter }: ArrayType, arrays: ArrayTypes): string {
  // A lower bound other than 1 precedes the braces: `[0:1]={7,8}`.
  const body = literal.slice(literal.indexOf("{"));
  let json = "";
  const pattern = new RegExp(`[{}${delimiter}]|"((?:[^"\\\\]|\\\\.)*)"|([^{}${delimiter}"]+)`, "gs");
  for (const [token, quoted, bare] of body.matchAll(pattern)) {
    if (token === "{") json += "[";
    else if (token === "}") json += "]";
    else if (token === delimiter) json += ",";
    else if (quoted !== undefined) json += pgToJson(quoted.replace(/\\(.)/gs, "$1"), element, arrays);
    else json += bare === "NULL" ? "null" : pgToJson(bare ?? "", element, arrays);
  }
  return json;
}

/** `jsonToPg` turns a JSON parameter into PostgreSQL's text format for the type of the parameter; null is SQL's NULL. */
export function jsonToPg(value: unknown, type: number, arrays: ArrayTypes): string | null {
  if (type === oids.json || type === oids.jsonb) return value === null ? null : exactJson(value);
  if (value === null || value === undefined) return null;
  const array = arrays.get(type);
  if (Array.isArray(value) && array !== undefined) return arrayLiteral(value, array, arrays);
  if (typeof value === "object") return exactJson(value);
  return String(value);
}

function arrayLiteral(values: readonly unknown[], array: ArrayType, arrays: ArrayTypes): string {
  const { element, delimiter } = array;
  const items = values.map((value) => {
    if (Array.isArray(value) && element !== oids.json && element !== oids.jsonb)
      return arrayLiteral(value, array, arrays);
    const item = jsonToPg(value, element, arrays);
    return item === null ? "NULL" : `"${item.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${items.join(delimiter)}}`;
}

/** `byteaBytes` reads `\\x00ff`, or the older format with `\\` and octal numbers, which an earlier statement may have selected. */
function byteaBytes(value: string): Buffer {
  if (value.startsWith("\\x")) return Buffer.from(value.slice(2), "hex");
  const plain = value.replace(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === "\\" ? "\\" : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(plain, "latin1");
}
