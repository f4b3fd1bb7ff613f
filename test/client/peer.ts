import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { until } from "../support/process.ts";

export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly masked: boolean;
  readonly payload: Buffer;
}

/** One frame as a server sends it; `first` holds FIN, the reserved bits and the opcode. */
export function serverFrame(payload: string | Uint8Array, first = 0x81): Buffer {
  const body = Buffer.from(payload as string);
  const { length } = body;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = head.length === 2 ? length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, body]);
}

/** A WebSocket server on bare TCP that says what a test wants, byte by byte, and keeps what it hears. */
export class Peer implements AsyncDisposable {
  /** Of the connection made last. */
  socket: Socket | undefined;
  connections = 0;
  ended = false;
  head = "";
  #bytes = Buffer.alloc(0);

  private constructor(
    readonly url: string,
    readonly close: () => void,
  ) {}

  static async open(accept = (key: string) => key): Promise<Peer> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      peer.#welcome(socket, accept);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const peer = new Peer(`http://127.0.0.1:${port}`, () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return peer;
  }

  #welcome(socket: Socket, accept: (key: string) => string): void {
    this.socket = socket;
    this.connections += 1;
    this.ended = false;
    this.#bytes = Buffer.alloc(0);
    let greeted = false;
    socket
      .on("error", () => {})
      .on("end", () => {
        this.ended = true;
      });
    socket.on("data", (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (greeted || end === -1) return;
      greeted = true;
      this.head = this.#bytes.subarray(0, end).toString();
      this.#bytes = this.#bytes.subarray(end + 4);
      const key = /^sec-websocket-key: (.+)$/im.exec(this.head)?.[1]?.trim() ?? "";
      const proof = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept(proof)}\r\n\r\n`,
      );
    });
  }

  write(...frames: readonly Uint8Array[]): void {
    this.socket?.write(Buffer.concat(frames));
  }

  /** The client's next frame, without its mask. */
  hears(): Promise<Frame> {
    return until("the client sends a frame", () => this.#take());
  }

  #take(): Frame | undefined {
    const bytes = this.#bytes;
    if (this.head === "" || bytes.length < 2) return undefined;
    const short = (bytes[1] ?? 0) & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start + 4) return undefined;
    const length =
      start === 4 ? bytes.readUInt16BE(2) : start === 10 ? Number(bytes.readBigUInt64BE(2)) : short;
    const mask = bytes.subarray(start, start + 4);
    const payload = Buffer.from(bytes.subarray(start + 4, start + 4 + length));
    if (payload.length < length) return undefined;
    for (const [i, byte] of payload.entries()) payload[i] = byte ^ (mask[i % 4] ?? 0);
    this.#bytes = bytes.subarray(start + 4 + length);
    const [first = 0, second = 0] = bytes;
    return { final: first > 127, opcode: first & 15, masked: second > 127, payload };
  }

  /** Waits for the call that subscribes, and answers it. */
  async subscribed(): Promise<Frame> {
    const asked = await this.hears();
    const { id } = JSON.parse(asked.payload.toString());
    this.write(serverFrame(JSON.stringify({ jsonrpc: "2.0", result: "s", id })));
    return asked;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
