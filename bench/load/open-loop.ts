import { setPriority } from "node:os";
import { HttpReader } from "./http-reader.ts";
import { rpcRequest, rpcText } from "./http-request.ts";

/**
 * `open-loop <port> <calls per second> <seconds>` calls `hello` at a fixed rate, each call on a connection that is free at that
 * moment, so that a slow answer delays no later call. It prints how long each call took, in milliseconds. A process of its own,
 * so that no other load of the benchmark delays it.
 */
const [port = 0, rate = 0, seconds = 0] = process.argv.slice(2).map(Number);
const request = rpcRequest(rpcText("node-server_hello", []));
const times: number[] = [];
const free: Bun.Socket<Timing>[] = [];

interface Timing {
  readonly reader: HttpReader;
  sentAt: number;
}

function send(): void {
  const sentAt = performance.now();
  const socket = free.pop();
  if (socket === undefined) {
    connect(sentAt);
    return;
  }
  socket.data.sentAt = sentAt;
  socket.write(request);
}

function connect(sentAt: number): void {
  Bun.connect<Timing>({
    hostname: "127.0.0.1",
    port,
    data: { reader: new HttpReader(), sentAt },
    socket: {
      open: (socket) => void socket.write(request),
      data(socket, bytes) {
        if (socket.data.reader.read(bytes) === 0) return;
        times.push(performance.now() - socket.data.sentAt);
        free.push(socket);
      },
      close: () => fail("closed a connection"),
    },
  }).catch(() => fail("refused a connection"));
}

function fail(what: string): never {
  console.error(`the server on port ${port} ${what}`);
  process.exit(1);
}

// The other load shares its core with this process. Only root may go first; for others the figures are worse than the truth.
if (process.getuid?.() === 0) setPriority(-10);
// The first calls open connections and are not counted.
const opened = 8;
for (let at = 0; at < opened; at += 1) send();
while (times.length < opened) await Bun.sleep(1);
times.length = 0;

const begin = performance.now();
let sent = 0;
while (sent < rate * seconds) {
  for (const due = ((performance.now() - begin) / 1000) * rate; sent < due; sent += 1) send();
  await Bun.sleep(1);
}
while (times.length < sent) await Bun.sleep(1);
process.stdout.write(JSON.stringify(times), () => process.exit(0));
