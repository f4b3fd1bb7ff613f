import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { makeCertificate } from "../support/certificate.ts";
import { orderingCertificates } from "../support/certs.ts";
import { errorOf, loggedIn, User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { hello, newHome, sqliteUrl, story } from "../support/process.ts";

/** Words of the runtime that are for programmers. */
const runtimeWords = /verbose|Is the computer able|fetch\(\)|ECONN|EPROTO|\/proc\/self/;

story("an address that cannot be reached is explained in plain words", async () => {
  await using user = await User.open();
  using closing = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket) => socket.terminate(), data() {} },
  });
  const wrong: [string, RegExp][] = [
    [`http://127.0.0.1:${await freePort()}`, /cannot be reached: nothing listens there$/m],
    ["http://nosuch.invalid", /cannot be reached: no such host is known$/m],
    [
      `http://127.0.0.1:${closing.port}`,
      /cannot be reached: the connection was closed before an answer came$/m,
    ],
  ];
  for (const [url, said] of wrong) {
    const { code, stderr } = await user.run(["call", "node-server_hello", "-s", url]);
    expect([url, code]).toEqual([url, 4]);
    expect(stderr).toMatch(said);
    expect(stderr).not.toMatch(runtimeWords);
  }
});

story(
  "a server that waits for its first certificate is told apart from one with another of its own",
  async () => {
    await using node = await testNode({ ...orderingCertificates });
    await using user = await User.open();
    const { code, stderr } = await user.run(["login", node.url], { stdin: node.superToken });
    expect([code, stderr]).toEqual([4, expect.stringContaining("waits for its first certificate")]);
    expect(stderr).not.toContain("--ca");
  },
);

story("http to an https port, https to an http port, and a private certificate are told apart", async () => {
  await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' }, sqliteUrl);
  if (!(await makeCertificate(home, "node"))) return;
  const server = await home.serve();
  await using scene = await loggedIn();
  const { user, node } = scene;
  const { port } = server.address;
  const secure = `https://127.0.0.1:${port}`;
  const plain = await user.run(["call", "node-server_hello", "-s", `http://127.0.0.1:${port}`]);
  expect(plain.code).toBe(4);
  expect(plain.stderr).toContain(`the server at 127.0.0.1:${port} speaks https; use ${secure}`);
  const reverse = await user.run(["call", "node-server_hello", "-s", node.url.replace("http", "https")]);
  expect(reverse.code).toBe(4);
  expect(reverse.stderr).toContain(`it does not speak https; if it has no certificate, use ${node.url}`);
  const unknown = await user.run(["login", secure], { stdin: server.superToken });
  expect(unknown.code).toBe(4);
  expect(unknown.stderr).toMatch(/its certificate is not trusted .*--ca FILE or NODE_EXTRA_CA_CERTS/);
  for (const { stderr } of [plain, reverse, unknown]) expect(stderr).not.toMatch(runtimeWords);

  const ca = ["--ca", home.file("cert.pem")];
  const otherName = ["login", `https://localhost:${port}`, ...ca];
  const misnamed = await user.run(otherName, { stdin: server.superToken });
  expect([misnamed.code, misnamed.stderr]).toEqual([
    4,
    `node-server: https://localhost:${port}/jsonrpc cannot be reached: its certificate is for other names; use one that it contains in the address: 127.0.0.1\n`,
  ]);
  const call = ["call", "node-server_hello", "-s", secure];
  expect(await user.does([...call, ...ca])).toBe(`"${hello}"\n`);
  // The runtime reads this variable when the process starts.
  const env = { NODE_EXTRA_CA_CERTS: home.file("cert.pem") };
  expect(await user.runProcess(call, { env })).toMatchObject({ code: 0, stdout: `"${hello}"\n` });
  await user.does(["login", secure, "--name", "tls", ...ca], { stdin: server.superToken });
  // Kept with the login, for calls, files and subscriptions.
  expect(await user.does(["call", "node-server_hello"])).toBe(`"${hello}"\n`);
  await user.does(["buckets", "create", "site"]);
  await mkdir(user.file("www"));
  await Bun.write(user.file("www/index.html"), "hello");
  await user.does(["push", "www", "site"]);
  const log = user.launch(["logs", "-f"]);
  await user.does(["sql", "SELECT 1"]);
  await log
    .stop("SIGINT")
    .then(({ code, stdout }) => expect([code, stdout]).toEqual([0, expect.any(String)]));
  const missing = await user.run([...call, "--ca", "nosuch.pem"]);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("nosuch.pem cannot be read")]);
});

story("pull of a bucket that does not exist does not advise to create it; push does", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  await mkdir(user.file("empty"));
  const pulled = await user.run(["pull", "nosuch", "copy", "--json"]);
  expect([pulled.code, errorOf(pulled).kind]).toEqual([1, "NotFound"]);
  expect(pulled.stderr).not.toContain("buckets create");
  const pushed = await user.run(["push", "empty", "nosuch"]);
  expect(pushed.stderr).toContain("`node-server buckets create nosuch` creates it");
});
