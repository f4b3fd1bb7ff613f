import { expect, test } from "bun:test";
import { rename, writeFile } from "node:fs/promises";
import { connect } from "node:tls";
import { makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/postgres.ts";
import { applied, type Home, hello, helloAt, newHome, refused } from "../support/process.ts";
import { within } from "../support/until.ts";

const tls = 'tls_cert = "cert.pem"\ntls_key = "key.pem"';
const trusting = { tls: { rejectUnauthorized: false } };

/** The name in the certificate that is served at `port`. */
function servedName(port: number): Promise<string> {
  return within(
    "the handshake is done",
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
        const { subject } = socket.getPeerCertificate();
        socket.destroy();
        resolve(String(subject.CN));
      });
      socket.on("error", reject);
    }),
  );
}

interface Wss extends Disposable {
  /** What hello answers on this socket, or the code it was closed with. */
  hello(): Promise<unknown>;
}

async function openWss(url: string): Promise<Wss> {
  const socket = new WebSocket(`${url.replace("https", "wss")}/jsonrpc`, trusting);
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
  await within(
    "the socket is open",
    new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error("the WebSocket was refused"));
    }),
  );
  return {
    hello() {
      const answer = new Promise<unknown>((resolve) => {
        socket.onmessage = ({ data }) => resolve(JSON.parse(String(data)).result);
      });
      socket.send('{"jsonrpc":"2.0","method":"node-server_hello","id":1}');
      return within("the socket answers", Promise.race([answer, closed]));
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

test("with a certificate and its key the listener speaks https and wss, and nothing plain", async () => {
  await using home = await newHome({ top: tls });
  if (!(await makeCertificate(home, "first.test"))) return;
  const server = await home.serve();
  const { url } = server;
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await helloAt(url, trusting)).toBe(hello);
  using socket = await openWss(url);
  expect(await socket.hello()).toBe(hello);
  expect(await servedName(server.address.port)).toBe("first.test");
  expect(await helloAt(url)).toBeUndefined();
  expect(await helloAt(url.replace("https", "http"))).toBeUndefined();
  expect(await helloAt(url, trusting)).toBe(hello);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

test("SIGHUP turns TLS on and off on the same port", async () => {
  const port = await freePort();
  const listener = `ws_listener = "127.0.0.1:${port}"`;
  await using home = await newHome({ top: listener });
  if (!(await makeCertificate(home, "first.test"))) return;
  const server = await home.serve();
  const plain = server.url;
  expect(await helloAt(plain)).toBe(hello);
  await home.configure({ top: `${listener}\n${tls}` });
  expect(await server.reload()).toMatchObject(applied("listener"));
  expect(server.url).toBe(`https://127.0.0.1:${port}`);
  expect(await helloAt(server.url, trusting)).toBe(hello);
  expect(await helloAt(plain)).toBeUndefined();
  await home.configure({ top: listener });
  await server.reload();
  expect(await helloAt(plain)).toBe(hello);
});

test("a renewed certificate at the same path is served after SIGHUP; a broken one is not", async () => {
  await using home = await newHome({ top: `ws_listener = "127.0.0.1:${await freePort()}"\n${tls}` });
  if (!(await makeCertificate(home, "first.test"))) return;
  const server = await home.serve();
  const { port } = server.address;
  await makeCertificate(home, "second.test", "new-");
  await rename(home.file("new-cert.pem"), home.file("cert.pem"));
  expect(await server.reload()).toMatchObject(refused);
  expect(await servedName(port)).toBe("first.test");
  await rename(home.file("new-key.pem"), home.file("key.pem"));
  expect(await servedName(port)).toBe("first.test");
  expect(await server.reload()).toMatchObject(applied("listener"));
  expect(await servedName(port)).toBe("second.test");
  await writeFile(home.file("cert.pem"), "nonsense\n");
  expect(await server.reload()).toMatchObject(refused);
  expect(await servedName(port)).toBe("second.test");
  expect(await helloAt(server.url, trusting)).toBe(hello);
});

test("open sockets live through a renewed certificate, because the listener does not move", async () => {
  await using home = await newHome({ top: `ws_listener = "127.0.0.1:${await freePort()}"\n${tls}` });
  if (!(await makeCertificate(home, "first.test"))) return;
  const server = await home.serve();
  using socket = await openWss(server.url);
  expect(await socket.hello()).toBe(hello);
  await makeCertificate(home, "second.test");
  await server.reload();
  expect(await servedName(server.address.port)).toBe("second.test");
  expect(await socket.hello()).toBe(hello);
});

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;

const unusable: ReadonlyArray<[what: string, spoil: (home: Home) => Promise<unknown>, names: RegExp]> = [
  ["no PEM", (home) => writeFile(home.file("cert.pem"), "nonsense\n"), /cert\.pem/],
  [
    "a PEM that is broken inside",
    (home) => writeFile(home.file("cert.pem"), pem("bm9uc2Vuc2U=")),
    /cert\.pem/,
  ],
  ["empty", (home) => writeFile(home.file("cert.pem"), ""), /cert\.pem/],
  ["given a key that is no PEM", (home) => writeFile(home.file("key.pem"), "nonsense\n"), /key\.pem/],
  ["given an empty key", (home) => writeFile(home.file("key.pem"), ""), /key\.pem/],
  [
    "given the key of another certificate",
    async (home) => {
      await makeCertificate(home, "second.test", "other-");
      await rename(home.file("other-key.pem"), home.file("key.pem"));
    },
    /key\.pem/,
  ],
];

for (const [what, spoil, names] of unusable) {
  test(`a certificate that is ${what} is a clear error that names the file`, async () => {
    await using home = await newHome({ top: tls });
    if (!(await makeCertificate(home, "first.test"))) return;
    await home.run(["init"]);
    await spoil(home);
    const running = home.launch();
    await running.says(/listening on/).catch(() => {});
    const { code, stdout, stderr } = running.alive ? await running.stop() : await running.exited;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^node-server: [^\n]+\n$/),
    });
    expect(stderr).toMatch(names);
  });
}

for (const [given, missing] of [
  ["tls_cert", "tls_key"],
  ["tls_key", "tls_cert"],
] as const) {
  test(`${given} without ${missing} is an error`, async () => {
    await using home = await newHome({ top: `${given} = "some.pem"` });
    const { code, stdout, stderr } = await home.run(["serve"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(`^node-server: config\\.toml:2:\\d+: ${given}: needs ${missing}.*\\n$`),
    );
  });
}
