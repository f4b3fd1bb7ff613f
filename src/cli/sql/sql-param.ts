/** JSON where it is JSON, else the text itself. Whole numbers keep the digits that a double would lose. */
export function parseSqlParam(text: string): unknown {
  const exact: Reviver = (_, value, context) => {
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

type Reviver = (
  this: unknown,
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

/** In every engine since 2024, not yet in TypeScript's library. */
const { rawJSON: rawNumber } = JSON as typeof JSON & { rawJSON(text: string): unknown };
