/** A text as an editor holds it, and what it takes to write it back as it was. */
export interface TextFile {
  /** With `\n` alone. */
  readonly text: string;
  readonly lineEnd: "\n" | "\r\n";
  /** A byte order mark at its begin, which editors must not show nor lose. */
  readonly mark: boolean;
  /** Its lines end in different ways, so that writing it back changes some of them. */
  readonly mixed: boolean;
}

/** Undefined when the bytes are no UTF-8 text: an editor would break them. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  if (whole.includes("\0")) return undefined;
  const mark = whole.startsWith("\uFEFF");
  const body = mark ? whole.slice(1) : whole;
  const ends = new Set(body.match(/\r\n|\r|\n/g) ?? []);
  return {
    text: body.replace(/\r\n?/g, "\n"),
    lineEnd: ends.has("\r\n") && !ends.has("\n") ? "\r\n" : "\n",
    mark,
    mixed: ends.size > 1 || ends.has("\r"),
  };
}

/** Another text in the form of the file it goes into. */
export function encodeText(text: string, { lineEnd, mark }: Pick<TextFile, "lineEnd" | "mark">): string {
  return (mark ? "\uFEFF" : "") + (lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd));
}
