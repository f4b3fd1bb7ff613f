/**
 * Control and format characters, line separators and lone surrogates: a terminal obeys them, reorders text by them, or hides them.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** `visible` escapes the characters by which a text could change what a terminal shows, as `\n`, `\t` or `\u{1b}`. */
export function visible(text: string): string {
  return text.replace(unsafe, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
