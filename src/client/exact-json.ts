/** Integers is how whole numbers beyond ±2⁵³ arrive, which a JavaScript number cannot hold exactly. */
export type Integers = "bigint" | "number";

/** A string or a number of JSON. Strings are matched to skip them: digits inside them are not numbers. */
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses JSON with every digit of its whole numbers: those that a number cannot hold exactly become bigints.
 * A reviver's `context.source` would give the digits, but Node 20 does not have it. The server reads requests in another way
 * (`parseRequest` in `rpc/envelope.ts`); the command line uses this function.
 */
export function parseExactly(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  // The smallest integer that a number cannot hold has 16 digits.
  if (!/\d{16}/.test(text)) return plain;
  const mark = newMark();
  const marked = text.replace(stringOrNumber, (piece) =>
    /^-?\d+$/.test(piece) && !Number.isSafeInteger(Number(piece)) ? `"${mark}${piece}"` : piece,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** As `JSON.stringify`, with bigints as numbers with all their digits. */
export function stringifyExactly(value: unknown): string {
  let hasBigint = false;
  const mark = newMark();
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== "bigint") return inner;
    hasBigint = true;
    return `${mark}${inner}`;
  });
  return hasBigint ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}

/** A prefix that no string of the document has: 96 random bits. */
function newMark(): string {
  return `${crypto.getRandomValues(new Uint32Array(3)).join("-")}:`;
}
