import { rawNumber, type SourceReviver } from "../terminal/json-source.ts";

/** JSON where it is JSON, else the text itself. Whole numbers keep the digits that a double would lose. */
export function parseSqlParam(text: string): unknown {
  const exact: SourceReviver = (_, value, context) => {
    const digits = context?.source ?? "";
    const isBent = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(digits);
    return isBent ? rawNumber(digits) : value;
  };
  try {
    return JSON.parse(text, exact) as unknown;
  } catch {
    return text;
  }
}
