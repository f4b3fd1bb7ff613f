import type { ComponentChildren } from "preact";
/** Puts elements into a text of the catalogue: `<name>` in the text is replaced by the part `name`. */
export function rich(
  text: string,
  parts: Readonly<Record<string, ComponentChildren>>,
): readonly ComponentChildren[] {
  return text.split(/<(\w+)>/).map((piece, at) => {
    if (at % 2 === 0) return piece;
    if (!Object.hasOwn(parts, piece)) throw new Error(`the text has no part for <${piece}>`);
    return parts[piece];
  });
}
