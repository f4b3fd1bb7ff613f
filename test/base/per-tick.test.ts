import { expect, test } from "bun:test";
import { PerTick } from "../../src/base/turns.ts";

/** Where the server and the client, which is a thread of its own, tell each other how far they are. */
const step = 0;
/** What another program changes. */
const version = 1;

/**
 * The client has three connections, over which it has had an answer. Then it sends a request, and while the server handles that one and
 * does nothing else, it changes the version and sends another request over each connection.
 */
const client = `
import { connect } from "node:net";
self.onmessage = async ({ data: { memory, port } }) => {
  // By connection: which of them is read first is up to the event loop.
  const seen = [[], [], []];
  const send = (socket, path) => socket.write("GET " + path + " HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n");
  const connections = await Promise.all(seen.map((own) => new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => send(socket, "/open"));
    socket.on("data", (data) => {
      resolve(socket);
      own.push(...Array.from(String(data).matchAll(/version (\\d)/g), ([, version]) => Number(version)));
      if (seen.flat().length === 4) postMessage(seen);
    });
  })));
  send(connections[0], "/first");
  Atomics.wait(memory, ${step}, 0);
  Atomics.store(memory, ${version}, 2);
  for (const socket of connections) send(socket, "/later");
  Atomics.store(memory, ${step}, 2);
  Atomics.notify(memory, ${step});
};`;

test("over an open connection, no request that is sent after a value was computed is answered by it", async () => {
  const memory = new Int32Array(new SharedArrayBuffer(8));
  memory[version] = 1;
  const known = new PerTick(() => Atomics.load(memory, version));
  await using server = Bun.serve({
    port: 0,
    fetch({ url }) {
      if (url.endsWith("/open")) return new Response("open");
      const answer = known.get();
      if (url.endsWith("/first")) {
        Atomics.store(memory, step, 1);
        Atomics.notify(memory, step);
        // What the client sends meanwhile is in the kernel before the event loop goes on.
        Atomics.wait(memory, step, 1);
      }
      return new Response(`version ${answer}`);
    },
  });
  const url = URL.createObjectURL(new Blob([client], { type: "application/javascript" }));
  const worker = new Worker(url);
  const seen = await new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage({ memory, port: server.port });
  });
  worker.terminate();
  expect(seen).toEqual([[1, 2], [2], [2]]);
});

test("all that is asked in one tick gets the same value", async () => {
  let computed = 0;
  const known = new PerTick(() => ++computed);
  expect([known.get(), known.get(), await Promise.resolve().then(() => known.get())]).toEqual([1, 1, 1]);
  known.forget();
  expect(known.get()).toBe(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(known.get()).toBe(3);
});
