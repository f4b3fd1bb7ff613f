/**
 * The floor: what Bun itself costs. `bare <port> ignore|parse <answer>` answers every request with the same bytes,
 * `parse` after it has read the body as JSON.
 */
const [port, mode, answer = ""] = process.argv.slice(2);

const init = { headers: { "content-type": "application/json" } };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  fetch(request, server) {
    if (request.method === "GET" && server.upgrade(request)) return undefined;
    return mode === "parse" ? parsed(request) : new Response(answer, init);
  },
  websocket: {
    perMessageDeflate: false,
    message(socket, message) {
      if (mode === "parse") JSON.parse(String(message));
      socket.send(answer);
    },
  },
});

async function parsed(request: Request): Promise<Response> {
  await request.json();
  return new Response(answer, init);
}

export {};
