/**
 * RawJson is a value that is JSON text already. It is sent unchanged, so large results are not parsed and 64-bit numbers keep every
 * digit.
 */
export class RawJson {
  constructor(readonly text: string) {}
}

export function toJsonText(value: unknown): string {
  return value instanceof RawJson ? value.text : (JSON.stringify(value) ?? "null");
}

/** `exactJson` is `JSON.stringify` that writes every digit of a bigint. `indent` is the number of spaces per level. */
export function exactJson(value: unknown, indent?: number): string {
  const digits = (_: string, inner: unknown): unknown =>
    typeof inner === "bigint" ? rawNumber(String(inner)) : inner;
  return JSON.stringify(value, digits, indent) ?? "null";
}

/** JSON.rawJSON exists in every engine since 2024, but not yet in TypeScript's library. */
const { rawJSON: rawNumber } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/**
 * jsonLine writes a value as JSON with an end of line. Clients choose some of the text, so characters that a terminal may obey are
 * escaped.
 */
export function jsonLine(value: unknown): string {
  return `${escapeControls(JSON.stringify(value))}\n`;
}

/** escapeControls escapes in a JSON text the control characters that JSON allows in it, by which a terminal could be controlled. */
export function escapeControls(json: string): string {
  if (!/[\x7f-\x9f]/.test(json)) return json;
  return json.replace(/[\x7f-\x9f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
