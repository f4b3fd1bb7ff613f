/**
 * The floor: what Bun itself costs. `bare <port> <folder> <answer>` answers GET with the file of that path below the folder, and
 * everything else, WebSocket messages included, with the same bytes after it has parsed the request as JSON.
 */
const [port, folder = "", answer = ""] = process.argv.slice(2);

const init = { headers: { "content-type": "application/json" } };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  fetch(request, server) {
    if (request.method !== "GET") return parsed(request);
    if (server.upgrade(request)) return undefined;
    return new Response(Bun.file(folder + new URL(request.url).pathname));
  },
  websocket: {
    perMessageDeflate: false,
    message(socket, message) {
      JSON.parse(String(message));
      socket.send(answer);
    },
  },
});

async function parsed(request: Request): Promise<Response> {
  await request.json();
  return new Response(answer, init);
}

export {};
