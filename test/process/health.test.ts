import { expect } from "bun:test";
import { makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/postgres.ts";
import { newHome, story } from "../support/process.ts";

story("health asks the server of the configuration, and ends with 0 while it is well", async () => {
  const port = await freePort();
  await using home = await newHome({ top: `ws_listener = "0.0.0.0:${port}"` });
  const server = await home.serve();
  for (const args of [["health"], ["health", server.url], ["health", `${server.url}/node/health`]]) {
    const { code, stdout, stderr } = await home.run(args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ status: "ok" });
  }
  expect(await home.runProcess(["health", "--ready"])).toMatchObject({ code: 0, stderr: "" });
  // A path that nobody answers.
  const { code, stderr } = await home.run(["health", `${server.url}/node/nothing`]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("/node/nothing answers 404") });
  await server.stop();
  const gone = await home.runProcess(["health"]);
  expect(gone).toMatchObject({ code: 1, stdout: "" });
  expect(gone.stderr).toContain(
    `node-server: http://127.0.0.1:${port}/node/health cannot be reached: nothing listens there\n`,
  );
});

story(
  "health finds the address in the environment, as the server does, and trusts its certificate",
  async () => {
    const port = await freePort();
    await using home = await newHome();
    if (!(await makeCertificate(home, "health"))) return;
    const env = {
      NODE_SERVER_WS_LISTENER: `127.0.0.1:${port}`,
      NODE_SERVER_TLS_CERT: "cert.pem",
      NODE_SERVER_TLS_KEY: "key.pem",
    };
    const server = await home.serve({ env });
    expect(server.url).toStartWith("https:");
    expect(await home.run(["health"], { env })).toMatchObject({ code: 0, stderr: "" });
    await server.stop();
  },
);

story("health of a given address trusts the certificates of --ca, and explains what is wrong", async () => {
  await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
  if (!(await makeCertificate(home, "health"))) return;
  const server = await home.serve();
  const ca = ["--ca", "cert.pem"];
  expect(await home.run(["health", server.url, ...ca])).toMatchObject({ code: 0, stderr: "" });
  const unknown = await home.run(["health", server.url]);
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/its certificate is not trusted .*--ca FILE or NODE_EXTRA_CA_CERTS\n$/),
  ]);
  const misnamed = await home.run(["health", server.url.replace("127.0.0.1", "localhost"), ...ca]);
  expect([misnamed.code, misnamed.stderr]).toEqual([
    1,
    expect.stringMatching(/its certificate is for other names; use one .* in the address: 127\.0\.0\.1\n$/),
  ]);
  expect((await home.run(["health", ...ca])).code).toBe(2);
  await server.stop();
});

story("health asks through a Unix socket", async () => {
  await using home = await newHome({ top: 'enable_unix_socket = true\nunix_socket_path = "node.sock"' });
  const server = await home.serve();
  await server.says(/listening on unix:/);
  const address = `unix:${home.file("node.sock")}`;
  for (const args of [
    ["health", address],
    ["health", "unix:node.sock"],
    ["health", address, "--ready"],
  ]) {
    const { code, stdout, stderr } = await home.run(args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    expect(stdout).toMatch(/^\{/);
  }
  await server.stop();
  const gone = await home.run(["health", address]);
  expect([gone.code, gone.stderr]).toEqual([
    1,
    expect.stringContaining(`${address} cannot be reached: there is no such socket; `),
  ]);
});

story("health of something that is no address is wrong usage", async () => {
  await using home = await newHome();
  const { code, stderr } = await home.run(["health", "127.0.0.1:2211"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("write it as http://127.0.0.1:2211"),
  });
});
