import { expect } from "bun:test";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { hello } from "../support/process.ts";
import { Consumer, eachRuntime } from "./consumer.ts";

/** `show(promise)` prints what it comes to: a result as JSON, or every class of the error, and its words. */
const show = `
const show = (work) => Promise.resolve(work).then(
  (result) => console.log(JSON.stringify(result)),
  (error) => {
    const classes = [];
    for (let at = Object.getPrototypeOf(error); at !== Object.prototype; at = Object.getPrototypeOf(at)) classes.push(at.constructor.name);
    console.log(classes.filter((name) => name !== "Error").join(" < ") + ": " + error.message);
  },
);
`;

/** Answers every request alike. */
function standIn(answer: (request: Request) => Response | Promise<Response>) {
  return Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
}

eachRuntime("each kind of refusal is a class of its own", async (runtime) => {
  await using node = await testNode({ top: "max_request_body_size = 65536" });
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `${show}
    const stranger = new client.NodeServerClient(server.url, { token: "nobody:nothing" });
    await show(stranger.call("static-bucket_list"));
    await show(server.call("static-bucket_delete", { name: "nowhere" }));
    await show(server.call("static-bucket_create", { name: "a/b" }));
    await show(server.call("node-server_exec_sql", { sql: "select nonsense" }));
    await show(server.call("node-server_edit_config", { config_string: "= 1" }));
    await show(server.callAny("no_such_method"));
    await show(server.callAny("toString"));
    await show(server.call("static-bucket-file_upload", { name: "x", path: "y", body: "z".repeat(70_000) }));
    `,
    { url: node.url, token: node.superToken },
  );
  expect(lines.map((line) => line.split(":")[0])).toEqual([
    "PermissionDenied < RpcError < ClientError",
    "NotFound < RpcError < ClientError",
    "InvalidInput < RpcError < ClientError",
    "DatabaseError < RpcError < ClientError",
    "ParseError < RpcError < ClientError",
    "MethodNotFound < RpcError < ClientError",
    "MethodNotFound < RpcError < ClientError",
    "LimitReached < RpcError < ClientError",
  ]);
});

eachRuntime("what is no node-server is told from one that says no", async (runtime) => {
  const bodies: Record<string, () => Response> = {
    html: () =>
      new Response("<h1>Bad Gateway</h1>", { status: 502, headers: { "content-type": "text/html" } }),
    json: () => Response.json({ jsonrpc: "2.0" }),
    list: () => Response.json([1, null]),
    other: () => Response.json({ jsonrpc: "2.0", result: true, id: 12345 }),
    empty: () => new Response(null, { status: 204 }),
  };
  await using proxy = standIn(({ url }) => {
    const name = new URL(url).pathname.split("/")[1] ?? "";
    if (name === "moved") return Response.redirect(new URL("/html/jsonrpc", url).href, 301);
    return bodies[name]?.() ?? new Response("?", { status: 500 });
  });
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `${show}
    for (const name of ["html", "json", "list", "other", "empty", "moved"]) {
      const other = new client.NodeServerClient(server.url + "/" + name + "/");
      await show(other.call("node-server_hello"));
      await show(other.batch([["node-server_hello"]]));
    }
    await show(new client.NodeServerClient("http://127.0.0.1:${await freePort()}").call("node-server_hello"));
    `,
    { url: proxy.url.origin },
  );
  const last = lines.pop();
  expect(lines).toHaveLength(12);
  for (const line of lines)
    expect(line).toStartWith(`NotNodeServer < Unreachable < ClientError: ${proxy.url.origin}/`);
  expect(lines[0]).toContain("it answers 502 with text/html");
  expect(lines[10]).toContain("it redirects to");
  expect(last).toStartWith("Unreachable < ClientError: http://127.0.0.1:");
});

eachRuntime("a call ends when its time is up or its signal fires, and says which", async (runtime) => {
  await using silent = standIn(() => new Promise<Response>(() => {}));
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `${show}
    await show(server.call("node-server_hello", {}, { timeoutMs: 50 }));
    await show(server.batch([["node-server_hello"]], { timeoutMs: 50 }));
    await show(new client.NodeServerClient(server.url, { timeoutMs: 50 }).call("node-server_uuid"));
    const stop = new AbortController();
    setTimeout(() => stop.abort(new RangeError("enough")), 50);
    await show(server.call("node-server_hello", {}, { signal: stop.signal, timeoutMs: 60000 }));
    await show(server.callAny("node-server_hello", {}, { signal: stop.signal }));
    console.log("done");
    `,
    { url: silent.url.origin },
  );
  const late = /^TimedOut < Unreachable < ClientError: \S+ did not answer within 50 ms$/;
  for (const line of lines.slice(0, 3)) expect(line).toMatch(late);
  // The script ended by itself, so no timer of 60 seconds was left behind.
  expect(lines.slice(3)).toEqual(["RangeError: enough", "RangeError: enough", "done"]);
});

eachRuntime("a batch of 100 is answered in order, each with its own result or error", async (runtime) => {
  await using node = await testNode();
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `${show}
    const calls = Array.from({ length: 100 }, (_, i) =>
      i % 3 === 0 ? ["node-server_hello"] : i % 3 === 1
        ? ["static-bucket_create", { name: "b" + i }]
        : ["static-bucket_delete", { name: "none" + i }]);
    const answers = await server.batch(calls);
    await show(answers.length);
    await show(answers.every((answer, i) =>
      i % 3 === 0 ? answer === ${JSON.stringify(hello)} : i % 3 === 1 ? answer.name === "b" + i : answer instanceof client.NotFound));
    await show(server.batch([]));
    await show(server.batch(Array(1001).fill(["node-server_hello"])));
    `,
    { url: node.url, token: node.superToken },
  );
  expect(lines.slice(0, 3)).toEqual(["100", "true", "[]"]);
  expect(lines[3]).toStartWith("LimitReached < RpcError < ClientError: Batch too long");
});

eachRuntime("a token that is revoked is refused from the next call on", async (runtime) => {
  await using node = await testNode();
  const limit = [{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }];
  const token = await node.newToken(limit, { username: "temp", password: "temporary" });
  await using consumer = await Consumer.open();
  const script = await consumer.start(
    runtime,
    `${show}
    const byName = new client.NodeServerClient(server.url, { token: "temp|temporary" });
    await show(server.call("node-server_get_database_type"));
    await show(byName.call("node-server_get_database_type"));
    for (let answer; !(answer instanceof Error); await new Promise((done) => setTimeout(done, 20)))
      answer = await server.call("node-server_get_database_type").catch((error) => error);
    await show(server.call("node-server_get_database_type"));
    await show(byName.call("node-server_get_database_type"));
    `,
    { url: node.url, token },
  );
  await script.says(/sqlite[\s\S]*sqlite/);
  await node.call("token_delete", [node.superToken, "temp"]);
  const [, , ...refused] = await script.lines();
  expect(refused).toHaveLength(2);
  for (const line of refused) expect(line).toStartWith("PermissionDenied < RpcError < ClientError: ");
});

eachRuntime("an address that is none is refused where it is given, without its password", async (runtime) => {
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `${show}
    for (const url of ["", "node.example.com:2211", "ftp://host", "http://me:hidden@host"])
      await show((async () => new client.NodeServerClient(url).url)());
    for (const url of ["http://host/", "https://host:1/jsonrpc", "http://host/behind/proxy/?q#h"])
      await show(new client.NodeServerClient(url).url);
    `,
  );
  for (const line of lines.slice(0, 4)) {
    expect(line).toStartWith("ClientError: ");
    expect(line).not.toContain("hidden");
  }
  expect(lines.slice(4)).toEqual(['"http://host"', '"https://host:1"', '"http://host/behind/proxy"']);
});
