/** RFC 6455 §5: the frames of a WebSocket, from the client's side. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const maxMessageBytes = 128 * 1024 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export type Incoming =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ping"; readonly payload: Uint8Array }
  | { readonly kind: "pong" }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

/** What the other side sent is no WebSocket; `code` is what to close with. */
export class FrameError extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

interface Header {
  readonly final: boolean;
  readonly opcode: number;
  /** Where the payload begins, and where it ends. */
  readonly start: number;
  readonly end: number;
}

/** Turns bytes, cut anywhere, into messages. */
export class FrameReader {
  #chunks: Uint8Array[] = [];
  #held = 0;
  /** So many bytes must be there before it is worth looking again. */
  #needed = 2;
  #parts: Uint8Array[] | undefined;
  #messageBytes = 0;

  *push(chunk: Uint8Array): Generator<Incoming, void> {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    while (this.#held >= this.#needed) {
      const bytes = join(this.#chunks);
      this.#chunks = [bytes];
      const header = this.#header(bytes);
      if (header === undefined) continue;
      const payload = bytes.subarray(header.start, header.end);
      this.#chunks = [bytes.subarray(header.end)];
      this.#held -= header.end;
      this.#needed = 2;
      const message = this.#take(header, payload);
      if (message !== undefined) yield message;
    }
  }

  /** Undefined: the frame is not whole yet, and `#needed` says how far it goes. */
  #header(bytes: Uint8Array): Header | undefined {
    const [first = 0, second = 0] = bytes;
    if ((first & 0x70) !== 0) throw new FrameError("a frame uses an extension that was not agreed on", 1002);
    if ((second & 0x80) !== 0) throw new FrameError("a server's frame is masked", 1002);
    const short = second & 0x7f;
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    if (opcode >= 8 && (short > 125 || !final))
      throw new FrameError("a control frame is long or in parts", 1002);
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) {
      this.#needed = start;
      return undefined;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const length = start === 4 ? view.getUint16(2) : start === 10 ? Number(view.getBigUint64(2)) : short;
    if (length + this.#messageBytes > maxMessageBytes)
      throw new FrameError(`a message is above ${maxMessageBytes} bytes`, 1009);
    this.#needed = start + length;
    return bytes.length < this.#needed ? undefined : { final, opcode, start, end: start + length };
  }

  #take({ final, opcode }: Header, payload: Uint8Array): Incoming | undefined {
    switch (opcode) {
      case opcodes.ping:
        return { kind: "ping", payload };
      case opcodes.pong:
        return { kind: "pong" };
      case opcodes.close:
        return closing(payload);
      case opcodes.text:
        if (this.#parts !== undefined) throw new FrameError("a message begins inside another", 1002);
        this.#parts = [];
        break;
      case opcodes.continuation:
        if (this.#parts === undefined) throw new FrameError("a part belongs to no message", 1002);
        break;
      case opcodes.binary:
        throw new FrameError("binary messages are not understood", 1003);
      default:
        throw new FrameError(`no frame has the opcode ${opcode}`, 1002);
    }
    this.#parts.push(payload);
    this.#messageBytes += payload.length;
    if (!final) return undefined;
    const whole = join(this.#parts);
    this.#parts = undefined;
    this.#messageBytes = 0;
    return { kind: "text", text: decode(whole) };
  }
}

/** One whole message or control frame, masked as §5.3 asks of clients. */
export function frame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const start = length < 126 ? 2 : length < 0x10000 ? 4 : 10;
  const bytes = new Uint8Array(start + 4 + length);
  const view = new DataView(bytes.buffer);
  bytes[0] = 0x80 | opcode;
  bytes[1] = 0x80 | (start === 2 ? length : start === 4 ? 126 : 127);
  if (start === 4) view.setUint16(2, length);
  if (start === 10) view.setBigUint64(2, BigInt(length));
  const mask = crypto.getRandomValues(bytes.subarray(start, start + 4));
  for (let i = 0; i < length; i++) bytes[start + 4 + i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return bytes;
}

export function closeFrame(code: number, reason = ""): Uint8Array {
  const words = new TextEncoder().encode(reason).subarray(0, 123);
  const payload = new Uint8Array(2 + words.length);
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(words, 2);
  return frame(opcodes.close, payload);
}

function closing(payload: Uint8Array): Incoming {
  if (payload.length === 0) return { kind: "close", code: 1005, reason: "" };
  const code = payload.length < 2 ? 0 : new DataView(payload.buffer, payload.byteOffset).getUint16(0);
  // §7.4: 1004 to 1006 and 1015 are never sent.
  const known =
    (code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006)) || (code >= 3000 && code < 5000);
  if (!known) throw new FrameError("a connection is closed with a code that does not exist", 1002);
  return { kind: "close", code, reason: decode(payload.subarray(2)) };
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new FrameError("a text is not UTF-8", 1007);
  }
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
