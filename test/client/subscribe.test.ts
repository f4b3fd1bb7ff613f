import { expect } from "bun:test";
import { connect, createServer, type Socket as TcpSocket } from "node:net";
import { openNode } from "../../src/node.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { newHome } from "../support/process.ts";
import { until } from "../support/until.ts";
import { Consumer, eachRuntime, type Script } from "./consumer.ts";

/** `listen(options)` subscribes to what tests log, and tells of its connection. */
const listen = `
const listen = (options = {}) => server.subscribe("node-server_stream_log", { log_filter: "off,task=info" }, {
  onConnect: (again) => console.log(again ? "again" : "connected"),
  onBreak: (waitMs, why) => console.log("broke", why.name, why.code, waitMs > 0 && waitMs <= 10000),
  ...options,
});
`;
const follow = `${listen}
try {
  for await (const { message } of listen()) console.log("heard", message);
  console.log("ended");
} catch (error) {
  console.log("threw", error.name);
}
`;

function login({ url, superToken }: Pick<TestNode, "url" | "superToken">) {
  return { url, token: superToken };
}

eachRuntime("a subscription outlives a server that is killed and started again", async (runtime) => {
  const port = await freePort();
  await using home = await newHome({ top: `ws_listener = "127.0.0.1:${port}"` });
  const first = await home.serve();
  await using consumer = await Consumer.open();
  const script = await consumer.start(runtime, follow.replaceAll("off,task=info", "info"), {
    url: first.url,
    token: first.superToken,
  });
  await script.says(/connected/);
  await first.stop("SIGKILL");
  await script.says(/broke Disconnected 1006 true/);
  // Some attempts meet nobody.
  await script.says(/(broke Unreachable undefined true\n){1}/);
  const second = await home.serve();
  await script.says(/again\n/);
  const from = script.stdout.length;
  await second.reload();
  await until("an entry of the new server is heard", () =>
    /heard .*configuration/.test(script.stdout.slice(from)),
  );
});

eachRuntime("a server that restarts says so, and the subscription comes back by itself", async (runtime) => {
  const port = await freePort();
  await using node = await testNode({ top: `ws_listener = "127.0.0.1:${port}"\n` });
  await using consumer = await Consumer.open();
  const script = await consumer.start(runtime, follow, login(node));
  await script.says(/connected/);
  node.node.hub.logger("task").info("before");
  await script.says(/heard before/);
  await node.node.close("restart");
  await script.says(/broke Disconnected 1012 true/);
  const next = await openNode({
    configPath: node.configPath,
    workingDirectory: node.folder,
    env: { RUST_LOG: "off" },
    show: () => {},
  });
  try {
    await script.says(/again/);
    next.hub.logger("task").info("after");
    await script.says(/heard after/);
  } finally {
    await next.close();
  }
});

eachRuntime("with reconnect: false a break is an error", async (runtime) => {
  await using node = await testNode();
  await using consumer = await Consumer.open();
  const script = await consumer.start(
    runtime,
    follow.replace("listen()", "listen({ reconnect: false })"),
    login(node),
  );
  await script.says(/connected/);
  await node.node.close();
  expect(await script.lines()).toEqual(["connected", "threw Disconnected"]);
});

eachRuntime(
  "a revoked token ends the loop with a refusal, after the words that tell why",
  async (runtime) => {
    for (const reconnect of [true, false]) {
      await using node = await testNode();
      await using consumer = await Consumer.open();
      const code = follow.replace("listen()", `listen({ reconnect: ${reconnect} })`);
      const script = await consumer.start(runtime, code, login(node));
      await script.says(/connected/);
      await node.call("token_roll_token_secret", [node.superToken, "root"]);
      expect(await script.lines()).toEqual([
        "connected",
        "heard this log stream ends: its token was revoked or has expired",
        "threw PermissionDenied",
      ]);
    }
  },
);

eachRuntime("a subscription that is refused or meets nobody is an error at once", async (runtime) => {
  await using node = await testNode();
  await using page = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<p>") });
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `for (const [url, token, log_filter] of [
      [server.url, "nobody:nothing", "info"],
      [server.url, ${JSON.stringify(node.superToken)}, "=="],
      ["http://127.0.0.1:${await freePort()}", "a:b", "info"],
      [${JSON.stringify(page.url.origin)}, "a:b", "info"],
    ]) {
      const other = new client.NodeServerClient(url, { token });
      try {
        for await (const _ of other.subscribe("node-server_stream_log", { log_filter })) break;
      } catch (error) {
        console.log(error.name);
      }
    }`,
    { url: node.url },
  );
  expect(lines.slice(0, 1)).toEqual(["PermissionDenied"]);
  expect(["InvalidInput", "ParseError"]).toContain(lines[1] ?? "");
  expect(lines.slice(2)).toEqual(["Unreachable", "Unreachable"]);
});

eachRuntime("leaving the loop gives the connection back", async (runtime) => {
  // One connection for all: a socket that stayed would keep the next one out.
  await using node = await testNode({ top: "jsonrpc_max_connections = 1" });
  await using consumer = await Consumer.open();
  const script = await consumer.start(
    runtime,
    `${listen}
    const free = async () => {
      for (;;) {
        const answer = await server.call("node-server_hello").catch((error) => error);
        if (answer instanceof client.Busy) await new Promise((done) => setTimeout(done, 10));
        else return console.log("free");
      }
    };
    for await (const { message } of listen()) { console.log("heard", message); break; }
    await free();
    try { for await (const _ of listen()) throw new Error("mine"); } catch (error) { console.log("threw", error.message); }
    await free();
    const stop = new AbortController();
    for await (const _ of listen({ signal: stop.signal })) stop.abort();
    await free();
    const waiting = listen({ onConnect: () => setTimeout(() => waiting.return().then(() => console.log("returned"))) });
    console.log("next", (await waiting.next()).done);
    await free();
    const idle = new AbortController();
    for await (const _ of listen({ signal: idle.signal, onConnect: () => idle.abort() })) console.log("never");
    await free();
    for await (const _ of listen({ signal: AbortSignal.abort() })) console.log("never");
    console.log("done");
    `,
    login(node),
  );
  const talk = setInterval(() => {
    // The fourth subscription waits in vain.
    if ((script.stdout.match(/free/g)?.length ?? 0) < 3) node.node.hub.logger("task").info("event");
  }, 10);
  try {
    expect(await script.lines()).toEqual([
      ...["connected", "heard event", "free"],
      ...["connected", "threw mine", "free"],
      ...["connected", "free"],
      ...["next true", "returned", "free"],
      ...["free", "done"],
    ]);
  } finally {
    clearInterval(talk);
  }
});

eachRuntime("a peer that vanished without a word is found out, and left", async (runtime) => {
  await using node = await testNode();
  const target = { host: "127.0.0.1", port: Number(new URL(node.url).port) };
  const sockets = new Set<TcpSocket>();
  const frozen = new Set<TcpSocket>();
  let answers = 0;
  const relay = (from: TcpSocket, to: TcpSocket) => {
    sockets.add(from);
    from.on("data", (bytes) => void (frozen.has(from) || to.write(bytes)));
    from.on("error", () => {}).on("close", () => to.destroy());
  };
  const proxy = createServer((near) => {
    const far = connect(target);
    relay(near, far);
    relay(far, near);
    far.on("data", () => {
      answers += 1;
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
  await using consumer = await Consumer.open();
  try {
    // Silence alone is no reason: the server answers when it is asked.
    const quiet = async (heartbeatMs: number): Promise<Script> => {
      const code = follow.replace("listen()", `listen({ heartbeatMs: ${heartbeatMs} })`);
      const script = await consumer.start(runtime, code, { ...login(node), url: `http://127.0.0.1:${port}` });
      await script.says(/connected/);
      const before = answers;
      await until("the server has answered twice", () => answers >= before + 2);
      if (script.stdout === "connected\n" || heartbeatMs > 5000) return script;
      // A busy machine may need longer than that.
      await script[Symbol.asyncDispose]();
      return quiet(heartbeatMs * 3);
    };
    const script = await quiet(300);
    expect(script.stdout).toBe("connected\n");
    for (const socket of sockets) frozen.add(socket);
    await script.says(/broke Disconnected 1006 true/);
    await script.says(/again/);
    await until("what comes after is heard", () => {
      // Again and again, because the next connection may be left too where the machine is busy.
      node.node.hub.logger("task").info("after");
      return script.stdout.includes("heard after");
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  }
});

eachRuntime("a slow loop loses the newest events and is told how many", async (runtime) => {
  let send = (_: string) => {};
  let ping = () => {};
  let pongs = 0;
  let go = false;
  // A stand-in, because it can send a ping: a client that answers has taken all that was sent before.
  await using standIn = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) =>
      server.upgrade(request) ? undefined : Response.json({ jsonrpc: "2.0", result: go, id: 2 }),
    websocket: {
      message(socket, text) {
        const { id } = JSON.parse(String(text));
        socket.send(JSON.stringify({ jsonrpc: "2.0", result: "x", id }));
        send = (message) =>
          void socket.send(
            JSON.stringify({ jsonrpc: "2.0", params: { subscription: "x", result: { message } } }),
          );
        ping = () => void socket.ping("all");
      },
      pong(_, data) {
        if (data.toString() === "all") pongs += 1;
      },
    },
  });
  await using consumer = await Consumer.open();
  const script = await consumer.start(
    runtime,
    `${listen}
    const seen = [];
    const onMissed = (events) => console.log("missed", events);
    for await (const { message } of listen({ buffer: 3, onMissed })) {
      seen.push(message);
      if (message === "0") {
        console.log("slow");
        const mayGo = async () => (await fetch(server.url)).json();
        while (!(await mayGo()).result) await new Promise((done) => setTimeout(done, 20));
      }
      if (message === "end") break;
    }
    console.log(seen.join(" "));
    `,
    { url: standIn.url.origin },
  );
  await script.says(/connected/);
  send("0");
  await script.says(/slow/);
  for (let i = 1; i <= 10; i++) send(String(i));
  ping();
  await until("the client has taken them all", () => pongs === 1);
  go = true;
  await script.says(/missed/);
  send("end");
  expect((await script.lines()).slice(1)).toEqual(["slow", "missed 7", "0 1 2 3 end"]);
});
