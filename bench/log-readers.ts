/** Subscribes as often as asked, then counts what arrives until standard input ends. Another process, so that reading costs the server nothing. */
const [url = "", token = "", count = "0"] = process.argv.slice(2);
let heard = 0;
const ready = Array.from({ length: Number(count) }, () => subscribe());
await Promise.all(ready);
if (ready.length > 0) process.stdout.write("ready\n");
for await (const _ of Bun.stdin.stream());
if (ready.length > 0) process.stdout.write(`${heard}\n`);
process.exit(0);

function subscribe(): Promise<void> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/jsonrpc`);
  socket.onopen = () =>
    socket.send(
      JSON.stringify({
        jsonrpc: "2.0",
        method: "node-server_stream_log",
        params: [token, "task=info"],
        id: 1,
      }),
    );
  return new Promise((resolve) => {
    socket.onmessage = ({ data }) => {
      if (String(data).includes('"id":1')) resolve();
      else heard += 1;
    };
  });
}

export {};
