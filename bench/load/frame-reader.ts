import type { AnswerReader } from "./http-reader.ts";

const noBytes = Buffer.alloc(0);

/** FrameReader counts a WebSocket's handshake as the first answer and every frame of the server (RFC 6455) as another. */
export class FrameReader implements AnswerReader {
  #partial = noBytes;
  #missing = 0;
  #open = false;

  read(bytes: Buffer): number {
    let answers = 0;
    let rest = this.#partial.length === 0 ? bytes : Buffer.concat([this.#partial, bytes]);
    this.#partial = noBytes;
    while (rest.length > 0) {
      if (this.#missing === 0) {
        const head = this.#open ? this.#frameHead(rest) : this.#handshake(rest);
        if (head === undefined) {
          this.#partial = Buffer.from(rest);
          return answers;
        }
        rest = rest.subarray(head);
      }
      const taken = Math.min(rest.length, this.#missing);
      this.#missing -= taken;
      rest = rest.subarray(taken);
      if (this.#missing === 0) answers += 1;
    }
    return answers;
  }

  #handshake(rest: Buffer): number | undefined {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    const head = rest.toString("latin1", 0, end);
    if (!head.startsWith("HTTP/1.1 101")) throw new Error(`a WebSocket was refused: ${head}`);
    this.#open = true;
    return end + 4;
  }

  /** The length of a frame's head; sets how many bytes of payload follow. */
  #frameHead(rest: Buffer): number | undefined {
    if (rest.length < 2) return undefined;
    const kind = (rest[0] ?? 0) & 0x0f;
    if (kind !== 1) throw new Error(`a WebSocket received a frame of kind ${kind}`);
    const short = rest[1] ?? 0;
    const size = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (rest.length < size) return undefined;
    this.#missing = size === 2 ? short : size === 4 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    return size;
  }
}

/** The request that opens a WebSocket. */
export const webSocketHandshake = Buffer.from(
  `GET /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("sixteen bytes ok")}\r\n\r\n`,
);

/** textFrame is a client's frame. It must be masked; a mask of zeros leaves the text as it is. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...size, 0, 0, 0, 0]), payload]);
}
