import { expect, test } from "bun:test";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { newHome } from "../support/process.ts";
import { Consumer, eachRuntime, type Runtime } from "./consumer.ts";

/** Prints what it receives and how the connection ended, and exits. `options` are those of `socketsOf`. */
const follow = `
const follower = new client.NodeServerClient(server.url, { token: process.env.TOKEN, ...options });
try {
  const given = { reconnect: false, onConnect: () => console.log("connected") };
  for await (const { message } of follower.subscribe("node-server_stream_log", { log_filter: "off,task=info,server=info" }, given))
    console.log("received", message);
} catch (error) {
  console.log(error.name, error.code, error.message);
}
`;

/** Each way to a WebSocket: a title, the runtime, and code that sets `options`. */
const socketsOf: readonly (readonly [title: string, runtime: Runtime, code: string])[] = [
  ["Node's own", "node", "const options = {};"],
  [
    "the class of ws, on a Node without one",
    "node",
    'import { WebSocket } from "ws";\ndelete globalThis.WebSocket;\nconst options = { WebSocket };',
  ],
  ["Bun's own", "bun", "const options = {};"],
];

for (const [title, runtime, options] of socketsOf) {
  test(`a subscription works over ${title}: events, and the code and reason of its end`, async () => {
    const port = await freePort();
    await using node = await testNode({ top: `ws_listener = "127.0.0.1:${port}"\n` });
    await using consumer = await Consumer.open();
    const login = { url: node.url, env: { TOKEN: node.superToken } };
    const script = await consumer.start(runtime, options + follow, login);
    await script.says(/connected/);
    node.node.hub.logger("task").info("größer");
    await script.says(/received größer/);
    await node.node.close("restart");
    const lines = await script.lines();
    expect(lines.at(-1)).toMatch(/^Disconnected 1012 the connection to .* broke \(1012, .*restart/);
  });

  test(`a subscription over ${title} goes over TLS, and an unknown certificate is refused`, async () => {
    if (Bun.which("openssl") === null)
      return console.log("SKIPPED: the stories of TLS need openssl (apt install openssl)");
    await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
    const args =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem";
    const made = Bun.spawn(["openssl", ...args.split(" ")], {
      cwd: home.path,
      stdout: "ignore",
      stderr: "ignore",
    });
    expect(await made.exited).toBe(0);
    const served = await home.serve();
    await using consumer = await Consumer.open();
    const login = { url: served.url, env: { TOKEN: served.superToken } };
    const [refused] = await consumer.run(runtime, options + follow, login);
    expect(refused).toStartWith("Unreachable undefined ");
    const trusting = { ...login.env, NODE_EXTRA_CA_CERTS: home.file("cert.pem") };
    const script = await consumer.start(runtime, options + follow, { ...login, env: trusting });
    await script.says(/connected/);
    await served.reload();
    await script.says(/received .*configuration/);
  });
}

eachRuntime("where there is no WebSocket, the error says both ways to get one", async (runtime) => {
  await using node = await testNode();
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `delete globalThis.WebSocket;
    console.log(await server.call("node-server_hello"));
    for (const subscribe of [
      () => server.subscribe("node-server_stream_log", { log_filter: "info" }),
      () => server.followLog({ log_filter: "info" }),
    ])
      try { for await (const _ of subscribe()) break; } catch (error) { console.log(error instanceof client.ClientError, error.message); }`,
    { url: node.url, token: node.superToken },
  );
  const advice = expect.stringMatching(/^true subscriptions need a WebSocket.* Node 22 .*`ws`.*`WebSocket`/);
  expect(lines).toEqual(["Node Server Is Running!", advice, advice]);
});

eachRuntime("what is not JSON-RPC ends the subscription with an error, not the program", async (runtime) => {
  await using other = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) => (server.upgrade(request) ? undefined : new Response("no")),
    websocket: { message: (socket) => void socket.send("<html>") },
  });
  await using consumer = await Consumer.open();
  const lines = await consumer.run(runtime, `const options = {};${follow}`, { url: other.url.origin });
  expect(lines).toEqual([expect.stringMatching(/^NotNodeServer undefined /)]);
});
