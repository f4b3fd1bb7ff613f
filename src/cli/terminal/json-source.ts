/** A reviver that is also told how a value was written. In every engine since 2024, not yet in TypeScript's library. */
export type SourceReviver = (
  this: unknown,
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

/** A number to be written with exactly these digits. */
export const { rawJSON: rawNumber } = JSON as typeof JSON & { rawJSON(text: string): unknown };
