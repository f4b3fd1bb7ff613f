import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";

const kept = ".config/node-server/servers.json";
const hello = '"Node Server Is Running!"\n';

story("a token from standard input is checked, kept for its owner alone, and used from then on", async () => {
  await using node = await testNode();
  await using user = await User.open();
  const { code, stdout, stderr } = await user.run(["login", `${node.url}/`, "--name", "one"], {
    stdin: `${node.superToken}\n`,
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "",
    stderr: `logged in to one (${node.url}) as root\ncan: everything (Super Token)\n`,
  });
  expect((await stat(user.file(kept))).mode & 0o777).toBe(0o600);
  expect((await stat(user.file(".config/node-server"))).mode & 0o777).toBe(0o700);
  expect(await user.does(["call", "static-bucket_list"])).toBe("[]\n");
  expect(await user.does(["servers"])).toBe(`*\tone\t${node.url}\n`);
});

story("a token that the server refuses is not kept, nor one for a server that is not there", async () => {
  await using node = await testNode();
  await using user = await User.open();
  const refused = await user.run(["login", node.url], { stdin: "wrong:token" });
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(refused.stderr).not.toContain("wrong:token");
  expect(await user.run(["login", "http://127.0.0.1:1"], { stdin: "a:b" })).toMatchObject({ code: 4 });
  expect(await user.run(["login", node.url], { stdin: "" })).toMatchObject({ code: 1 });
  expect(existsSync(user.file(kept))).toBe(false);
});

story(
  "an address that is none, or that holds a secret, is wrong usage, and the secret is not said",
  async () => {
    await using user = await User.open();
    for (const address of ["127.0.0.1:2211", "ftp://host", "http://root:s3cret@127.0.0.1:1"]) {
      const { code, stdout, stderr } = await user.run(["login", address], { stdin: "a:b" });
      expect([address, code, stdout]).toEqual([address, 2, ""]);
      expect(stderr).not.toContain("s3cret");
    }
    expect(await user.run(["login", "http://127.0.0.1:1", "--name", "a b"])).toMatchObject({ code: 2 });
    const { stderr } = await user.run(["login", "127.0.0.1:2211"], { stdin: "a:b" });
    expect(stderr).toContain(
      "write `node-server login https://127.0.0.1:2211`, or `node-server login http://127.0.0.1:2211`",
    );
  },
);

story("login to a page of the server says to leave its path out", async () => {
  await using node = await testNode();
  await using user = await User.open();
  for (const path of ["/node/console/", "/node/rpc", "/node/console//"]) {
    const { code, stderr } = await user.run(["login", node.url + path], { stdin: node.superToken });
    expect([path, code]).toEqual([path, 4]);
    expect(stderr).toContain(`; use ${node.url}, without a path\n`);
  }
  expect(existsSync(user.file(kept))).toBe(false);
  await user.does(["login", `${node.url}/jsonrpc/`], { stdin: node.superToken });
});

story("on a terminal the token is asked for and not shown", async () => {
  await using node = await testNode();
  await using user = await User.open();
  const terminal = user.terminal(["login", node.url, "--name", "typed"]);
  await terminal.shows(/Token for http\S+: /);
  await terminal.type(`${node.superToken}x\x7f\r`);
  await terminal.shows(/logged in to typed/);
  expect(await terminal.ends()).toBe(0);
  expect(terminal.screen).not.toContain(node.superToken.slice(0, 8));
  expect(await user.does(["call", "static-bucket_list"])).toBe("[]\n");
  const interrupted = user.terminal(["login", node.url, "--name", "other"]);
  await interrupted.shows(/Token for http\S+: /);
  await interrupted.type("\x03");
  expect(await interrupted.ends()).toBe(130);
  expect(await user.does(["servers"])).not.toContain("other");
});

story(
  "several servers are known by name; one is in use, another is named, and one is forgotten",
  async () => {
    await using first = await testNode();
    await using second = await testNode();
    await using user = await User.open();
    await first.call("static-bucket_create", [first.superToken, "alpha"]);
    await user.does(["login", first.url, "--name", "first"], { stdin: first.superToken });
    await user.does(["login", second.url, "--name", "second"], { stdin: `root|${second.rootPassword}` });
    expect(JSON.parse(await user.does(["servers", "--json"]))).toEqual([
      { name: "first", url: first.url, current: false },
      { name: "second", url: second.url, current: true },
    ]);
    const list = ["call", "static-bucket_list"];
    expect(await user.does(list)).toBe("[]\n");
    expect(await user.does([...list, "-s", "first"])).toBe('["alpha"]\n');
    expect(await user.does([...list, "--server", first.url])).toBe('["alpha"]\n');
    expect(await user.does(["-s", "first", "ls"])).toBe("alpha/\n");
    expect(await user.does(["buckets", "-s", "first", "list"])).toStartWith("alpha\t");
    expect(await user.does(["tokens", "--json", "--server=first", "list"])).toStartWith("[{");
    await user.does(["servers", "use", "first"]);
    expect(await user.does(list)).toBe('["alpha"]\n');
    expect(await user.run([...list, "-s", "constructor"])).toMatchObject({ code: 2, stdout: "" });
    await user.does(["logout"]);
    expect(await user.does(["servers"])).toBe(`\tsecond\t${second.url}\n`);
    expect(await Bun.file(user.file(kept)).text()).not.toContain(first.superToken);
    const unsure = await user.run(list);
    expect(unsure.code).toBe(1);
    expect(unsure.stderr).toContain("servers use");
    expect(await user.run(["logout", "first"])).toMatchObject({ code: 2 });
  },
);

story("a token goes to no other server than the one it is meant for", async () => {
  await using first = await testNode();
  await using second = await testNode();
  await using user = await User.open();
  await first.call("static-bucket_create", [first.superToken, "alpha"]);
  await user.does(["login", second.url, "--name", "second"], { stdin: second.superToken });
  const env = { NODE_SERVER_URL: first.url, NODE_SERVER_TOKEN: first.superToken };
  const list = ["call", "static-bucket_list"];
  expect(await user.does(list, { env })).toBe('["alpha"]\n');
  expect(await user.does([...list, "-s", "second"], { env })).toBe("[]\n");
  // Without an address beside it, the variable is for the server in use, and not for a login that is named.
  const alone = { NODE_SERVER_TOKEN: "wrong:token" };
  const inUse = await user.run(list, { env: alone });
  expect(inUse).toMatchObject({ code: 3, stdout: "" });
  expect(inUse.stderr).toContain("using NODE_SERVER_TOKEN, not the token saved");
  for (const args of [
    [...list, "-s", "second"],
    [...list, "-s", second.url],
    ["-s", "second", ...list],
  ]) {
    const used = await user.run(args, { env: alone });
    expect(used).toMatchObject({ code: 0, stdout: "[]\n" });
    expect(used.stderr).toContain(", not NODE_SERVER_TOKEN; to use the latter");
  }
  // With one, it is for that address, also when there is a login to it.
  const wrong = { ...alone, NODE_SERVER_URL: second.url };
  expect(await user.run(list, { env: wrong })).toMatchObject({ code: 3, stdout: "" });
  expect(await user.run([...list, "-s", second.url], { env: wrong })).toMatchObject({ code: 3, stdout: "" });
  const named = { NODE_SERVER_TOKEN: first.superToken };
  expect(await user.does([...list, "-s", first.url], { env: named })).toBe('["alpha"]\n');
  const elsewhere = { ...named, NODE_SERVER_URL: second.url };
  const none = await user.run([...list, "-s", first.url], { env: elsewhere });
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toContain(`there is no token for ${first.url}`);
  const login = await user.run(["login", first.url], { env: elsewhere, stdin: "typed:wrong" });
  expect(login).toMatchObject({ code: 3, stdout: "" });
  expect(login.stderr).not.toContain("using the token in NODE_SERVER_TOKEN");
});

story("what is open needs an address and no token; what is not says that a token is missing", async () => {
  await using node = await testNode();
  await using user = await User.open();
  expect(await user.does(["call", "node-server_hello", "-s", node.url])).toBe(hello);
  const { code, stderr } = await user.run(["call", "static-bucket_list", "-s", node.url]);
  expect(code).toBe(1);
  expect(stderr).toContain(`node-server login ${node.url}`);
});

story("a file of servers that cannot be read is named, and nothing of it is said", async () => {
  await using user = await User.open();
  await Bun.write(user.file(kept), '{"servers": {"a": {"url": "http://x", "token": "k:s3cret"}');
  const { code, stderr } = await user.run(["servers"]);
  expect(code).toBe(1);
  expect(stderr).toContain(kept);
  expect(stderr).not.toContain("s3cret");
});
