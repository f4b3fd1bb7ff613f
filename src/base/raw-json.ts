/** A value that is JSON text already: it travels as it is, so that large results and 64-bit numbers pass unharmed. */
export class RawJson {
  constructor(readonly text: string) {}
}

export function toJsonText(value: unknown): string {
  return value instanceof RawJson ? value.text : (JSON.stringify(value) ?? "null");
}
