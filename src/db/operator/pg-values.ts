import { exactJson } from "../../base/raw-json.ts";
import { doubleJson } from "./rows.ts";

/** The types that come back as something else than text, by the numbers PostgreSQL gives them. */
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

/** Array type → type of its elements, for the common ones; others are looked up. */
export const commonArrays: ReadonlyMap<number, number> = new Map([
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
]);

/** Types that are known to be no arrays, so that nobody has to ask; the last two only look like arrays. */
export const plainTypes: ReadonlySet<number> = new Set([
  ...Object.values(oids),
  ...commonArrays.values(),
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

/** A value as PostgreSQL writes it → JSON text. */
export function pgToJson(value: string, type: number, arrays: ReadonlyMap<number, number>): string {
  const element = arrays.get(type);
  if (element !== undefined) return arrayToJson(value, element, arrays);
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
      return `"${Buffer.from(value.slice(2), "hex").toString("base64")}"`;
    case oids.timestamp:
    case oids.timestamptz:
      return JSON.stringify(toIso(value));
    default:
      return JSON.stringify(value);
  }
}

/** `2026-11-15 02:03:04.5+00` → `2026-11-15T02:03:04.5+00:00`; infinity and dates before Christ stay in PostgreSQL's words. */
function toIso(value: string): string {
  if (!/^\d{4,}-\d\d-\d\d \d\d:/.test(value) || value.endsWith("BC")) return value;
  return value.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00");
}

/** `{1,2,{3,NULL},"a \"b\""}` → JSON. */
function arrayToJson(literal: string, element: number, arrays: ReadonlyMap<number, number>): string {
  // A lower bound other than 1 stands before the braces: `[0:1]={7,8}`.
  const body = literal.slice(literal.indexOf("{"));
  let json = "";
  const pattern = /[{},]|"((?:[^"\\]|\\.)*)"|([^{},"]+)/g;
  for (const [token, quoted, bare] of body.matchAll(pattern)) {
    if (token === "{") json += "[";
    else if (token === "}") json += "]";
    else if (token === ",") json += ",";
    else if (quoted !== undefined) json += pgToJson(quoted.replace(/\\(.)/g, "$1"), element, arrays);
    else json += bare === "NULL" ? "null" : pgToJson(bare ?? "", element, arrays);
  }
  return json;
}

/** A JSON param as the text PostgreSQL reads for the type it wants; null for SQL's NULL. */
export function jsonToPg(value: unknown, type: number, arrays: ReadonlyMap<number, number>): string | null {
  if (type === oids.json || type === oids.jsonb) return value === null ? null : exactJson(value);
  if (value === null || value === undefined) return null;
  if (Array.isArray(value) && arrays.has(type)) return arrayLiteral(value, arrays.get(type) ?? 0, arrays);
  if (typeof value === "object") return exactJson(value);
  return String(value);
}

function arrayLiteral(
  values: readonly unknown[],
  element: number,
  arrays: ReadonlyMap<number, number>,
): string {
  const items = values.map((value) => {
    if (Array.isArray(value) && element !== oids.json && element !== oids.jsonb)
      return arrayLiteral(value, element, arrays);
    const item = jsonToPg(value, element, arrays);
    return item === null ? "NULL" : `"${item.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${items.join(",")}}`;
}
