/**
 * `socket-load <port> <sockets> <in flight> <seconds> <message> <answer>` keeps so many calls in flight on each
 * WebSocket and prints how many were answered a second. It writes ready-made frames and counts bytes, because a whole
 * WebSocket client would need more of its core than the server needs of its own.
 */
const [port, sockets, inFlight, seconds, message = "", answer = ""] = process.argv.slice(2);

/** An RFC 6455 text frame. The client's must be masked; a mask of zeros leaves the text as it is. */
function frame(text: string, masked: boolean): Buffer {
  const payload = Buffer.from(text);
  const maskBit = masked ? 0x80 : 0;
  const size =
    payload.length < 126
      ? [maskBit | payload.length]
      : [maskBit | 126, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...size, ...(masked ? [0, 0, 0, 0] : [])]), payload]);
}

const request = frame(message, true);
const requests = Buffer.concat(Array.from({ length: Number(inFlight) }, () => request));
const expected = frame(answer, false);
const upgrade = `GET /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("sixteen bytes ok")}\r\n\r\n`;

interface Reader {
  open: boolean;
  /** Bytes of an answer that is not here whole. */
  rest: number;
}

let answered = 0;
await Promise.all(
  Array.from({ length: Number(sockets) }, () =>
    Bun.connect<Reader>({
      hostname: "127.0.0.1",
      port: Number(port),
      data: { open: false, rest: 0 },
      socket: {
        open: (socket) => void socket.write(upgrade),
        data(socket, bytes) {
          const reader = socket.data;
          if (!reader.open) {
            if (!bytes.toString("latin1").startsWith("HTTP/1.1 101")) fail("refused the WebSocket");
            reader.open = true;
            socket.write(requests);
            return;
          }
          if (reader.rest === 0 && !bytes.subarray(0, expected.length).equals(expected))
            fail(`answered ${bytes}`);
          const whole = Math.floor((reader.rest + bytes.length) / expected.length);
          reader.rest = (reader.rest + bytes.length) % expected.length;
          answered += whole;
          socket.write(requests.subarray(0, whole * request.length));
        },
        close: () => fail("closed the connection"),
      },
    }),
  ),
);
const begin = performance.now();
const before = answered;
await Bun.sleep(Number(seconds) * 1000);
console.log(JSON.stringify({ perSecond: ((answered - before) * 1000) / (performance.now() - begin) }));
process.exit(0);

function fail(what: string): never {
  console.error(`the server on port ${port} ${what}`);
  process.exit(1);
}

export {};
