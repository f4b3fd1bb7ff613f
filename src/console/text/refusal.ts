import type { RefusalValues } from "./en/refusals.ts";
import { hasTexts, t } from "./text.ts";

/** A refusal of the server in the reader's language; undefined where the server's own words are in it. */
export function refusalOf(values: RefusalValues): string | undefined {
  const { reason } = values;
  const isKnown = typeof reason === "string" && hasTexts("refusals");
  return isKnown ? t.refusals.sentences[reason]?.(values) : undefined;
}
