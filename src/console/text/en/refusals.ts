/** What the server says of a refusal to programs: names, paths, limits. */
export type RefusalValues = Readonly<Record<string, unknown>>;

/** Refusals of the server by their reason, with its values. In English the server says them itself. */
export const refusals = {
  sentences: {} as Readonly<Record<string, ((values: RefusalValues) => string) | undefined>>,
};
