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
  expect(await home.run(["health", "--ready"])).toMatchObject({ code: 0, stderr: "" });
  // A path that nobody answers.
  const { code, stderr } = await home.run(["health", `${server.url}/node/nothing`]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("/node/nothing answers 404") });
  await server.stop();
  const gone = await home.run(["health"]);
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

story("health of something that is no address is wrong usage", async () => {
  await using home = await newHome();
  const { code, stderr } = await home.run(["health", "127.0.0.1:2211"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("write it as http://127.0.0.1:2211"),
  });
});
