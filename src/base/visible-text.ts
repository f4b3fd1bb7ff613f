/**
 * Control and format characters, line separators and lone surrogates: a terminal obeys them, reorders text by them, or hides them.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of nothing but letters, digits and signs of ASCII. */
const printable = /^[\x20-\x7e]*$/;

/** `visible` escapes the characters by which a text could change what a terminal shows, as `\n`, `\t` or `\u{1b}`. */
export function visible(text: string): string {
  // Most texts have none, and this search takes a tenth of the one below.
  if (printable.test(text)) return text;
  return text.replace(unsafe, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** `visibleLines` does the same for a text of several lines: line ends and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, visible);
}
