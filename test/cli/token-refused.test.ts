import { expect } from "bun:test";
import { loggedIn, User } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { chosenFor } from "../support/tier.ts";

for (const kind of chosenFor("refused", databaseKinds)) {
  story(`a token that is not valid is told from one that may not do something (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    const run = (token: string, ...args: string[]) =>
      user.run(args, { env: { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token } });
    const again = `log in again with \`node-server login ${node.url}\``;
    const wrong = {
      text: "the token is not valid: it was mistyped",
      token: "no:body",
    };
    const over = {
      text: "the token is not valid: it has expired",
      token: await node.newToken([], { timestamp_to: 1 }),
    };
    const early = {
      text: "the token is not valid yet",
      token: await node.newToken([], { timestamp_from: Date.now() + 3_600_000 }),
    };
    const cases = [
      { ...wrong, commands: [["buckets"], ["sql", "SELECT 1"], ["status"], ["logs", "-f"]] },
      { ...over, commands: [["storage"], ["status"]] },
      { ...early, commands: [["storage"]] },
    ];
    for (const { text, token, commands } of cases)
      for (const args of commands) {
        const { code, stderr } = await run(token, ...args);
        expect([args, code]).toEqual([args, 3]);
        expect(stderr).toContain(text);
        expect(stderr).toContain(again);
        expect(stderr).not.toContain(token);
      }
    const weak = await node.newToken([]);
    for (const [missing, ...args] of [
      ["Node::ReadStorage required in scope global", "storage"],
      ["Node::ReadLogs required in scope global", "logs"],
      ["Node::ReadLogs required in scope global", "logs", "-f"],
      ["Super token required", "buckets"],
    ]) {
      const { code, stderr } = await run(weak, ...args);
      expect([code, stderr]).toEqual([
        3,
        `node-server: Permission Denied: ${missing}; \`node-server status\` shows what this token may do\n`,
      ]);
    }
    const login = await user.run(["login", node.url], { stdin: "no:body" });
    expect([login.code, login.stderr]).toEqual([3, expect.stringContaining(wrong.text)]);
  });
}

story("a server that is too old for a command is named as such", async () => {
  await using user = await User.open();
  // An older server answers so to every method that it does not know.
  using older = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) =>
      Response.json({
        jsonrpc: "2.0",
        error: { code: -32601, message: "Method not found", data: { kind: "MethodNotFound" } },
        id: ((await request.json()) as { id: unknown }).id,
      }),
  });
  const url = older.url.origin;
  const { code, stderr } = await user.run(["storage"], {
    env: { NODE_SERVER_URL: url, NODE_SERVER_TOKEN: "a:b" },
  });
  expect([code, stderr]).toEqual([
    1,
    `node-server: the server at ${url} is too old for this command; update it\n`,
  ]);
});

story("users whose names hold a colon are made, logged in, rolled and ended by name", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const name = "[agent]:7f8a4e52-0000-4000-8000-000000000001";
  const env = { NODE_SERVER_NEW_PASSWORD: "a:b|c and more" };
  await user.does(["tokens", "create", "--bucket", "x", "--username", name, "--password"], { env });
  await user.does(["login", node.url, "--name", "agent"], { stdin: `${name}|a:b|c and more` });
  expect(JSON.parse(await user.does(["status", "--json", "-s", "agent"]))).toMatchObject({
    token: { username: name },
  });
  const rolled = await user.does(["tokens", "roll", name, "--yes", "-s", "here"]);
  expect(rolled).toMatch(/^[A-Za-z0-9]{16}:[A-Za-z0-9]{32}\n$/);
  expect(await user.does(["tokens", "list", "-s", "here"])).toContain(`\t${name}\t`);
  const pushed = await user.run(["pull", "x", "copy", "-s", "agent"]);
  expect(pushed.code).not.toBe(0);
  await user.does(["tokens", "delete", name, "--yes", "-s", "here"]);
  expect((await user.run(["status", "-s", "agent"])).code).toBe(3);
});

story(
  "a change with a token that may only read says which actions it needs, and which command grants them",
  async () => {
    await using scene = await loggedIn();
    const { node, user } = scene;
    await node.call("static-bucket_create", { token: node.superToken, name: "site" });
    const body = Buffer.from("page").toString("base64");
    await node.call("static-bucket-file_upload", {
      token: node.superToken,
      name: "site",
      path: "a.html",
      body,
    });
    const made = await user.run(["tokens", "create", "--bucket", "site", "--allow", "read,list", "--json"]);
    const { key, secret } = JSON.parse(made.stdout) as { key: string; secret: string };
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: `${key}:${secret}` };
    const { code, stderr } = await user.run(["rm", "site/a.html"], { env });
    expect([code, stderr]).toEqual([3, expect.stringContaining("(read, write, list, delete)")]);
    expect(stderr).toContain("`node-server tokens create --webdav BUCKET`");
  },
);
