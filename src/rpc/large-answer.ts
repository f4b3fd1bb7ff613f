/** So much text is turned into bytes at a time. */
const pieceChars = 64 * 1024;

/** JSON text that is sent in pieces, because to make or send the whole of it at once would take too long. To be read once, or disposed. */
export interface StreamedJson extends AsyncDisposable {
  /** Marks the type for the engine. */
  readonly isStreamedJson: true;
  /** The length of the whole. */
  readonly bytes: number;
  /** The part that is in memory until it is sent. */
  readonly heldBytes: number;
  /** A failure ends the stream early. Disposes itself at the end. */
  pieces(): AsyncGenerator<Uint8Array>;
}

export function isStreamedJson(value: unknown): value is StreamedJson {
  return typeof value === "object" && value !== null && "isStreamedJson" in value;
}

/** An answer that is sent in pieces, as its client reads them. To be read once, or disposed. */
export class LargeAnswer implements AsyncDisposable {
  constructor(readonly parts: ReadonlyArray<string | StreamedJson>) {}

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (const part of this.parts) {
        if (typeof part === "string") yield* piecesOf(part);
        else yield* part.pieces();
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  /** The whole in memory, for a transport that cannot send pieces. */
  async text(): Promise<string> {
    const texts: string[] = [];
    for await (const piece of this.pieces()) texts.push(Buffer.from(piece).toString("utf8"));
    return texts.join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.parts) if (typeof part !== "string") await part[Symbol.asyncDispose]();
  }
}

function* piecesOf(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + pieceChars, text.length);
    // A character of two halves stays in one piece.
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end += 1;
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}
