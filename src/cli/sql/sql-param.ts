import { parseExactly } from "../../client/exact-json.ts";

/** JSON where it is JSON, else the text itself. Whole numbers keep the digits that a double would lose. */
export function parseSqlParam(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
