import { expect, test } from "bun:test";
import { FrameReader } from "../../bench/load/frame-reader.ts";
import { type AnswerReader, HttpReader } from "../../bench/load/http-reader.ts";

const answers = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n",
  "HTTP/1.1 207 Multi-Status\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
  "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n",
];

/** Counts the answers in a text that arrives in pieces of the given size. */
function countIn(reader: AnswerReader, bytes: Buffer, pieceBytes: number): number {
  let found = 0;
  for (let at = 0; at < bytes.length; at += pieceBytes)
    found += reader.read(bytes.subarray(at, at + pieceBytes));
  return found;
}

test("The benchmark's load finds every HTTP answer, however its bytes arrive", () => {
  const bytes = Buffer.from(answers.join(""));
  for (const pieceBytes of [1, 2, 3, 7, 64, bytes.length])
    expect(countIn(new HttpReader(), bytes, pieceBytes)).toBe(answers.length);
});

test("The benchmark's load fails at an answer that is not a success", () => {
  const refused = Buffer.from("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
  expect(() => new HttpReader().read(refused)).toThrow("503");
});

test("The benchmark's load counts a WebSocket's handshake and every frame, however the bytes arrive", () => {
  const payload = (size: number) => Buffer.alloc(size, "x");
  const bytes = Buffer.concat([
    Buffer.from("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
    ...[Buffer.from([0x81, 5]), payload(5)],
    ...[Buffer.from([0x81, 126, 0x01, 0x00]), payload(256)],
    ...[Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]), payload(65536)],
  ]);
  for (const pieceBytes of [1, 3, 1000, bytes.length])
    expect(countIn(new FrameReader(), bytes, pieceBytes)).toBe(4);
});
