export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** Decoded text file, with what is needed to encode it in the same way. */
export interface TextFile {
  /** Text with `\n` as its only line ending. */
  readonly text: string;
  readonly lineEnd: "\n" | "\r\n";
  /** Whether the file starts with a byte order mark. */
  readonly mark: boolean;
  /** Whether line endings differ, so that saving changes some of them. */
  readonly mixed: boolean;
  /** Only UTF-8 can be saved. */
  readonly encoding: Encoding;
}

interface DecodeOptions {
  /** The bytes are the beginning of a longer file: a character that is cut at the end is left out. */
  readonly isPart?: boolean;
}

/** Control characters that no text contains. */
const notText = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Decodes UTF-8 text, UTF-16 with a byte order mark, and else Latin-1 (as browsers do, by its superset windows-1252). Undefined for content
 * that is not text.
 */
export function decodeText(bytes: Uint8Array, { isPart = false }: DecodeOptions = {}): TextFile | undefined {
  const encoding = encodingOf(bytes, isPart);
  const whole = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes, { stream: isPart });
  if (encoding === "utf-8" ? whole.includes("\0") : notText.test(whole)) return undefined;
  const mark = whole.startsWith("\uFEFF");
  const body = mark ? whole.slice(1) : whole;
  const ends = new Set(body.match(/\r\n|\r|\n/g) ?? []);
  return {
    text: body.replace(/\r\n?/g, "\n"),
    lineEnd: ends.has("\r\n") && !ends.has("\n") ? "\r\n" : "\n",
    mark,
    mixed: ends.size > 1 || ends.has("\r"),
    encoding,
  };
}

function encodingOf(bytes: Uint8Array, isPart: boolean): Encoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isPart });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

/** Encodes a text with the line endings and byte order mark of a UTF-8 file. */
export function encodeText(text: string, { lineEnd, mark }: Pick<TextFile, "lineEnd" | "mark">): string {
  return (mark ? "\uFEFF" : "") + (lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd));
}
