/**
 * Invisible characters that a file name can contain: control characters and line separators, which would break the line, and
 * bidirectional controls, which can make `exe.txt` look like `txt.exe`.
 */
const invisible = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Replaces each invisible character with a symbol: `␊` for a newline, `⟨U+202E⟩` for a right-to-left override. */
export function visibleText(text: string): string {
  return text.replace(invisible, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Quotes a text as one word for `sh`. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
