import { expect } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { User } from "../support/cli.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { hello, story } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const listening = { top: "enable_unix_socket = true", logging: 'memory_log_filter = "info"' };
const socketOf = (node: TestNode) => `unix:${join(node.folder, "data/node.sock")}`;
const credentials = (node: TestNode) => ({ env: { NODE_SERVER_TOKEN: node.superToken } });

story("a login through the Unix socket is saved with its whole path and used from then on", async () => {
  await using node = await testNode(listening);
  await using user = await User.open();
  const address = socketOf(node);
  const { code, stderr } = await user.run(["login", "unix:data/node.sock"], {
    cwd: node.folder,
    stdin: `${node.superToken}\n`,
  });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `logged in to node.sock (${address}) as root\ncan: everything (Super Token)\n`,
  });
  expect(await user.does(["servers"])).toBe(`*\tnode.sock\t${address}\n`);
  expect(await user.does(["call", "node-server_hello"])).toBe(`"${hello}"\n`);
  expect(await user.does(["status"])).toContain(address);
  expect(await user.does(["sql", "--csv", "SELECT username FROM token"])).toContain("root");
  const created = await user.run(["buckets", "create", "site"]);
  expect(created.stdout).toBe("/node/static/site/\n");
});

story("push, pull and logs -f work through the Unix socket", async () => {
  await using node = await testNode(listening);
  await using user = await User.open();
  const server = ["-s", socketOf(node)];
  await user.does(["buckets", "create", "site", ...server], credentials(node));
  await mkdir(user.file("public/a b"), { recursive: true });
  await writeFile(user.file("public/index.html"), "hello");
  await writeFile(user.file("public/a b/ü.txt"), "below");
  const follow = user.launch(["logs", "-f", "--filter", "server=info", ...server], credentials(node));
  node.node.hub.logger("server").info("before");
  await until("the log is followed", () => follow.stdout.includes("before"));
  await user.does(["push", "public", "site", ...server], credentials(node));
  expect(await (await fetch(`${node.url}/node/static/site/a%20b/%C3%BC.txt`)).text()).toBe("below");
  await user.does(["pull", "site", "copy", ...server], credentials(node));
  expect(await readFile(user.file("copy/index.html"), "utf8")).toBe("hello");
  node.node.hub.logger("server").info("after");
  await until("the live entry is shown", () => follow.stdout.includes("after"));
  follow.signal("SIGINT");
  expect(await within("it ends", follow.exited)).toMatchObject({ code: 0 });
});

story("a socket that does not answer is named, with what to do", async () => {
  await using node = await testNode(listening);
  await using user = await User.open();
  await writeFile(user.file("file"), "");
  const fails = async (path: string) => {
    const { code, stderr } = await user.run(
      ["call", "node-server_uuid", "-s", `unix:${path}`],
      credentials(node),
    );
    expect(code).toBe(4);
    return stderr;
  };
  expect(await fails("missing.sock")).toContain(
    `unix:${user.file("missing.sock")} cannot be reached: there is no such socket; set enable_unix_socket = true`,
  );
  expect(await fails("file")).toContain("it is not a socket; name the server's unix_socket_path");
  const refused = await user.run(["call", "static-bucket_list", "-s", socketOf(node)], {
    env: { NODE_SERVER_TOKEN: "AAAAAAAAAAAAAAAA:wrong" },
  });
  expect(refused).toMatchObject({ code: 3 });
  expect(refused.stderr).toContain(`node-server login ${socketOf(node)}`);
});

story("the curl line in the help of a method goes through the socket", async () => {
  await using node = await testNode(listening);
  await using user = await User.open();
  const help = await user.does(["call", "node-server_hello", "--help", "-s", socketOf(node)]);
  expect(help).toContain(`--unix-socket '${join(node.folder, "data/node.sock")}' http://localhost/jsonrpc`);
});
