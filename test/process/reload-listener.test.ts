import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { halfCall } from "../support/half-call.ts";
import { freePort } from "../support/postgres.ts";
import { hello, helloAt, newHome } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const listener = (address: string, more = "") => ({ top: `ws_listener = "${address}"\n${more}` });
const gone = async (url: string) => until(`${url} refuses`, async () => (await helloAt(url)) === undefined);

test("SIGHUP moves the listener to another port: the new one answers, the old one refuses, running calls finish", async () => {
  const [from, to] = [await freePort(), await freePort()];
  await using home = await newHome(listener(`127.0.0.1:${from}`));
  const server = await home.serve();
  await using socket = await server.socket();
  using call = await halfCall(server.address);
  expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
  await home.configure(listener(`127.0.0.1:${to}`));
  expect(await server.reload()).toMatch(/configuration reloaded: listener$/);
  expect(server.url).toBe(`http://127.0.0.1:${to}`);
  expect(await server.call("node-server_hello")).toBe(hello);
  await gone(`http://127.0.0.1:${from}`);
  expect(await call.finish()).toMatchObject({ result: hello });
  expect(await within("the socket of the old listener closes", socket.closed)).toMatchObject({ code: 1001 });
  await using next = await server.socket();
  expect(await next.call("node-server_hello")).toMatchObject({ result: hello });
});

test("SIGHUP moves the listener to another host on the same port, and back", async () => {
  const port = await freePort();
  const hasIpv6 = networkInterfaces().lo?.some(({ address }) => address === "::1") ?? false;
  await using home = await newHome(listener(`127.0.0.1:${port}`));
  const server = await home.serve();
  const hosts = [
    "0.0.0.0",
    "127.0.0.1",
    "127.0.0.2",
    "localhost",
    ...(hasIpv6 ? ["[::1]"] : []),
    "127.0.0.1",
  ];
  for (const host of hosts) {
    await home.configure(listener(`${host}:${port}`));
    expect([host, await server.reload()]).toEqual([host, expect.stringMatching(/reloaded: listener$/)]);
    expect(server.url).toBe(`http://${host}:${port}`);
    const reachable = host === "0.0.0.0" ? "127.0.0.2" : host;
    expect([host, await helloAt(`http://${reachable}:${port}`)]).toEqual([host, hello]);
  }
  await gone(`http://127.0.0.2:${port}`);
  if (hasIpv6) await gone(`http://[::1]:${port}`);
});

test("a listener that moves in the same reload as the limits obeys the new limits", async () => {
  await using home = await newHome(listener("127.0.0.1:0", "max_request_body_size = 1000"));
  const server = await home.serve();
  await home.configure(listener(`127.0.0.1:${await freePort()}`));
  expect(await server.reload()).toMatch(/reloaded: limits, listener$/);
  await using socket = await server.socket();
  const answer = Promise.race([socket.call("node-server_hello", ["x".repeat(2000)]), socket.closed]);
  expect(await within("the call is answered", answer)).toMatchObject({ result: hello });
});

test("a listener on any free port stays where it is while its configuration does", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { url } = server;
  await home.configure({ logging: 'log_filter = "debug"' });
  await server.reload();
  expect(server.url).toBe(url);
  // The same address, now spelled with the port that was found.
  await home.configure(listener(url.replace("http://", "")));
  expect(await server.reload()).not.toContain("not reloaded");
  expect(await helloAt(url)).toBe(hello);
});

test("SIGHUP opens the Unix socket, moves it and takes it away", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { url } = server;
  const at = (unix: string) => helloAt("http://localhost", { unix: home.file(unix) });
  await home.configure({ top: "enable_unix_socket = true" });
  expect(await server.reload()).toMatch(/reloaded: unix socket$/);
  expect(await at("data/node.sock")).toBe(hello);
  await home.configure({ top: 'enable_unix_socket = true\nunix_socket_path = "run/deep/node.sock"' });
  await server.reload();
  expect(await at("run/deep/node.sock")).toBe(hello);
  expect(existsSync(home.file("data/node.sock"))).toBe(false);
  await home.configure();
  await server.reload();
  expect(existsSync(home.file("run/deep/node.sock"))).toBe(false);
  expect(await helloAt(url)).toBe(hello);
  await home.configure({ top: 'enable_unix_socket = true\nunix_socket_path = "run/deep/node.sock"' });
  await server.reload();
  expect(await at("run/deep/node.sock")).toBe(hello);
});

test("the Unix socket may be spelled another way without moving", async () => {
  await using home = await newHome({ top: 'enable_unix_socket = true\nunix_socket_path = "node.sock"' });
  const server = await home.serve();
  const unix = home.file("node.sock");
  await home.configure({ top: `enable_unix_socket = true\nunix_socket_path = "${unix}"` });
  expect(await server.reload()).not.toContain("not reloaded");
  expect(await helloAt("http://localhost", { unix })).toBe(hello);
});
