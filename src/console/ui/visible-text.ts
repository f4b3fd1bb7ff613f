/**
 * Characters that a name can hold and nobody would see: control characters and line separators, which would break its line, and
 * the controls of the bidirectional algorithm, which can make `exe.txt` look like `txt.exe`.
 */
const unseen = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** The text with each such character as a sign: `␊` for a newline, `⟨U+202E⟩` for a right-to-left override. */
export function visibleText(text: string): string {
  return text.replace(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
