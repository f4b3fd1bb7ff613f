/**
 * FrameKind is what a frame between the server and a child carries. The server sends `ping`, `execute` and `sizes`; the child answers
 * each with `result` or `fault`. Before that it may send `kept` frames: the number of statements of the request that are committed,
 * because it may be killed before it can answer. A `batch` frame tells how many requests follow it as one batch. Only the answer of
 * its last request is sent for certain, or `skipped` if the server has taken that back; the others may be in the shared memory.
 */
export const frameKinds = {
  ping: 0,
  execute: 1,
  sizes: 2,
  result: 3,
  fault: 4,
  kept: 5,
  batch: 6,
  skipped: 7,
} as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

/** A frame is the length of its text in bytes (32 bits, little endian), its kind (one byte), and the text in UTF-8. */
const headerBytes = 5;

export interface Frame {
  readonly kind: FrameKind;
  readonly text: string;
}

/** `encodeFrames` returns the bytes of several frames, one after the other. */
export function encodeFrames(frames: readonly Frame[]): Buffer {
  const sizes = frames.map(({ text }) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + headerBytes + size, 0));
  let at = 0;
  for (const [n, { kind, text }] of frames.entries()) {
    const size = sizes[n] ?? 0;
    bytes.writeUInt32LE(size, at);
    bytes[at + 4] = kind;
    bytes.write(text, at + headerBytes);
    at += headerBytes + size;
  }
  return bytes;
}

export function encodeFrame(kind: FrameKind, text: string): Buffer {
  return encodeFrames([{ kind, text }]);
}

/** FrameReader cuts the bytes of a channel into frames. */
export class FrameReader {
  readonly #onFrame: (kind: number, text: string) => void;
  /** The begin of a frame that is not complete yet. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wantedBytes = 0;

  constructor(onFrame: (kind: number, text: string) => void) {
    this.#onFrame = onFrame;
  }

  /** Reads the next bytes, which may be overwritten afterwards. */
  push(chunk: Buffer): void {
    let data = chunk;
    if (this.#bytes > 0) {
      this.#keep(chunk);
      if (this.#bytes < this.#wantedBytes) return;
      // The chunks of a large frame are joined once, not one by one.
      data = Buffer.concat(this.#chunks);
      this.#chunks = [];
      this.#bytes = 0;
    }
    let at = 0;
    for (let end = endOf(data, at); end <= data.length; end = endOf(data, at)) {
      const text = data.toString("utf8", at + headerBytes, end);
      const kind = data[at + 4] ?? 0;
      at = end;
      this.#onFrame(kind, text);
    }
    if (at === data.length) return;
    this.#wantedBytes = endOf(data, at) - at;
    this.#keep(data.subarray(at));
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
  }
}

/** `endOf` is where the frame at `start` ends, as far as its header is there to tell. */
function endOf(data: Buffer, start: number): number {
  const body = start + headerBytes;
  return data.length < body ? body : body + data.readUInt32LE(start);
}
