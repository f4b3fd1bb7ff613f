import { expect } from "bun:test";
import { join } from "node:path";
import { makeCertificate } from "../support/certificate.ts";
import { Wire } from "../support/hostile.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

const tlsTop = ({ path }: { readonly path: string }, more = "") =>
  `tls_cert = ${JSON.stringify(join(path, "cert.pem"))}\ntls_key = ${JSON.stringify(join(path, "key.pem"))}\n${more}`;
const trusting = { tls: { rejectUnauthorized: false } } as RequestInit;
const port = () => {
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return server.port;
};

test("http_listener sends every request to the same address of https, and serves nothing itself", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node"))) return;
  const plain = `127.0.0.1:${port()}`;
  await using node = await testNode({ top: tlsTop(folder, `http_listener = "${plain}"\n`) });
  const { port: https } = new URL(node.url);
  const ask = async (path: string, host: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://${plain}${path}`, { ...init, redirect: "manual", headers: { host } });
    return [answer.status, answer.headers.get("location"), answer.headers.get("strict-transport-security")];
  };
  for (const [path, host, location] of [
    ["/", "node.example.com", `https://node.example.com:${https}/`],
    ["/a%20b/%2e%2e?x=1&y=%2F", "Node.example.com:80", `https://node.example.com:${https}/?x=1&y=%2F`],
    ["/node/health", "127.0.0.1", `https://127.0.0.1:${https}/node/health`],
    ["/jsonrpc", "[::1]:80", `https://[::1]:${https}/jsonrpc`],
    [
      "/.well-known/acme-challenge/unknown",
      "a.example",
      `https://a.example:${https}/.well-known/acme-challenge/unknown`,
    ],
  ] as const)
    for (const method of ["GET", "HEAD", "OPTIONS", "PROPFIND"])
      expect([path, ...(await ask(path, host, { method }))]).toEqual([path, 308, location, null]);
  expect((await ask("/jsonrpc", "localhost", { method: "POST", body: "{}" }))[0]).toBe(308);
  using closing = await Wire.open(`http://${plain}`);
  closing.write("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
  await closing.hears(/^HTTP\/1\.1 308 [\s\S]*\r\n\r\n/);
  expect(closing.heard.toLowerCase()).toContain("\r\nconnection: close\r\n");
  const followed = await fetch(`http://${plain}/node/health`, trusting);
  expect([followed.status, new URL(followed.url).protocol]).toEqual([200, "https:"]);
  for (const head of [
    "GET / HTTP/1.0\r\n",
    "GET / HTTP/1.1\r\nHost: a b\r\n",
    "GET / HTTP/1.1\r\nHost: good.example@evil.example\r\n",
    "GET / HTTP/1.1\r\nHost: a/b\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
  ]) {
    using wire = await Wire.open(`http://${plain}`);
    wire.write(`${head}Connection: close\r\n\r\n`);
    await wire.hears(/^HTTP\/1\.[01] 400 /);
    expect(wire.heard.toLowerCase()).not.toContain("location:");
  }
});

test("Strict-Transport-Security is sent over https at the server's own name alone", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node"))) return;
  const socket = join(folder.path, "s");
  const unix = `enable_unix_socket = true\nunix_socket_path = ${JSON.stringify(socket)}\n`;
  const top = tlsTop(folder, `${unix}[tls]\nserver_name = "node.example.com"\nhsts_days = 365\n`);
  await using node = await testNode({ top });
  const hsts = async (host: string, path: string, url = node.url, init: RequestInit = {}) =>
    (await fetch(url + path, { ...trusting, ...init, headers: { host } })).headers.get(
      "strict-transport-security",
    );
  for (const path of ["/", "/node/console/", "/node/health", "/nothing"])
    expect([path, await hsts("NODE.example.com", path)]).toEqual([path, "max-age=31536000"]);
  for (const host of ["127.0.0.1", "localhost", "other.example.com", "[::1]"])
    expect([host, await hsts(host, "/node/health")]).toEqual([host, null]);
  expect(await hsts("node.example.com", "/", "http://localhost", { unix: socket } as RequestInit)).toBeNull();
});
