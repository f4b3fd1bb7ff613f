/** A value that is JSON text already: it travels as it is, so that large results and 64-bit numbers pass unharmed. */
export class RawJson {
  constructor(readonly text: string) {}
}

export function toJsonText(value: unknown): string {
  return value instanceof RawJson ? value.text : (JSON.stringify(value) ?? "null");
}

/** As `JSON.stringify`, with every digit of a bigint. `indent` is the number of spaces of a level. */
export function exactJson(value: unknown, indent?: number): string {
  const digits = (_: string, inner: unknown): unknown =>
    typeof inner === "bigint" ? rawNumber(String(inner)) : inner;
  return JSON.stringify(value, digits, indent) ?? "null";
}

/** In every engine since 2024, not yet in TypeScript's library. */
const { rawJSON: rawNumber } = JSON as typeof JSON & { rawJSON(text: string): unknown };
