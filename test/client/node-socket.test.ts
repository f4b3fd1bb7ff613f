import { expect, test } from "bun:test";
import fc from "fast-check";
import { frame as clientFrame, FrameReader, opcodes } from "../../src/client/frames.ts";
import { newHome } from "../support/process.ts";
import { Consumer, type Script } from "./consumer.ts";
import { Peer, serverFrame } from "./peer.ts";

/** Prints what it hears and how the connection ended, and ends itself. */
const follow = `
try {
  const options = { reconnect: false, onConnect: () => console.log("connected") };
  for await (const event of server.subscribe("node-server_stream_log", { log_filter: "x".repeat(+process.env.LONG || 1) }, options)) {
    console.log(event.length > 50 ? event.length : event);
    if (event === "bye") break;
  }
  console.log("left");
} catch (error) {
  console.log(error.name, error.code, error.message);
}
`;
const event = (result: string) => JSON.stringify({ jsonrpc: "2.0", params: { subscription: "s", result } });
const closeFrame = (code: number, reason = "") =>
  serverFrame(Buffer.concat([Uint8Array.of(code >> 8, code & 255), Buffer.from(reason)]), 0x88);
const closeCode = (payload: Buffer) => payload.readUInt16BE(0);

async function onNode(
  story: (peer: Peer, script: Script) => Promise<void>,
  { long = 1, accept }: { long?: number; accept?: (key: string) => string } = {},
): Promise<void> {
  await using peer = await Peer.open(accept);
  await using consumer = await Consumer.open();
  await story(peer, await consumer.start("node", follow, { url: peer.url, env: { LONG: String(long) } }));
}

test("on Node the handshake is a WebSocket's, and what is sent is masked, short or long", async () => {
  for (const long of [1, 1000, 100_000]) {
    await onNode(
      async (peer, script) => {
        const asked = await peer.subscribed();
        expect(peer.head).toMatch(/^GET \/jsonrpc HTTP\/1\.1\r\n/);
        expect(peer.head).toMatch(/^upgrade: websocket$/im);
        expect(peer.head).toMatch(/^sec-websocket-version: 13$/im);
        expect(asked).toMatchObject({ final: true, opcode: 1, masked: true });
        expect(JSON.parse(asked.payload.toString()).params.log_filter).toHaveLength(long);
        peer.write(serverFrame(event("bye")));
        expect(closeCode((await peer.hears()).payload)).toBe(1000);
        peer.write(closeFrame(1000));
        peer.socket?.end();
        expect(await script.lines()).toEqual(["connected", "bye", "left"]);
      },
      { long },
    );
  }
});

test("on Node messages may come in parts, with pings between them, cut anywhere", async () => {
  await onNode(async (peer, script) => {
    await peer.subscribed();
    const text = Buffer.from(event("größer"));
    // The cut goes through a letter of two bytes.
    const cut = text.indexOf("ö") + 1;
    const bytes = Buffer.concat([
      serverFrame(text.subarray(0, cut), 0x01),
      serverFrame("are you there?", 0x89),
      serverFrame("", 0x00),
      serverFrame(text.subarray(cut), 0x80),
      serverFrame("nobody asked", 0x8a),
      serverFrame(event("y".repeat(1000))),
      serverFrame(event("z".repeat(100_000))),
    ]);
    peer.socket?.setNoDelay(true);
    for (let at = 0; at < 80; at++) {
      peer.write(bytes.subarray(at, at + 1));
      if (at % 8 === 0) await Bun.sleep(1);
    }
    peer.write(bytes.subarray(80));
    expect(await peer.hears()).toMatchObject({
      opcode: 10,
      masked: true,
      payload: Buffer.from("are you there?"),
    });
    peer.write(serverFrame(event("bye")));
    // The server never says goodbye and never hangs up; the program ends all the same.
    expect(await script.lines()).toEqual(["connected", "größer", "1000", "100000", "bye", "left"]);
  });
});

test("on Node the code and the words of a goodbye are told, and the goodbye is answered", async () => {
  for (const [code, reason] of [
    [1012, "the server restarts"],
    [1001, ""],
    [4321, "own"],
  ] as const) {
    await onNode(async (peer, script) => {
      await peer.subscribed();
      peer.write(serverFrame(event("last")), closeFrame(code, reason));
      const answer = await peer.hears();
      expect([answer.opcode, closeCode(answer.payload)]).toEqual([8, code]);
      const lines = await script.lines();
      expect(lines.slice(0, 2)).toEqual(["connected", "last"]);
      expect(lines[2]).toStartWith(
        `Disconnected ${code} the connection to ${peer.url}/jsonrpc broke (${code}${reason && `, ${reason}`})`,
      );
    });
  }
});

test("on Node a connection that is cut is told as 1006", async () => {
  await onNode(async (peer, script) => {
    await peer.subscribed();
    await script.says(/connected/);
    peer.socket?.destroy();
    expect((await script.lines())[1]).toStartWith("Disconnected 1006 ");
  });
});

const violations: Readonly<Record<string, readonly [bytes: Buffer, code: number]>> = {
  "a reserved bit": [serverFrame("x", 0xc1), 1002],
  "a reserved opcode": [serverFrame("x", 0x83), 1002],
  "a masked frame": [Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]), 1002],
  "a long ping": [serverFrame("x".repeat(126), 0x89), 1002],
  "a ping in parts": [serverFrame("x", 0x09), 1002],
  "a part of nothing": [serverFrame("x", 0x80), 1002],
  "a message inside another": [Buffer.concat([serverFrame("x", 0x01), serverFrame("y")]), 1002],
  "half a close code": [serverFrame("x", 0x88), 1002],
  "a close code that does not exist": [closeFrame(1006), 1002],
  "a binary message": [serverFrame("x", 0x82), 1003],
  "a text that is no UTF-8": [serverFrame(Uint8Array.of(0xff)), 1007],
  "a message too long to take": [Buffer.from([0x81, 127, 0, 0, 1, 0, 0, 0, 0, 0]), 1009],
};

for (const [name, [bytes, code]] of Object.entries(violations)) {
  test(`on Node ${name} ends the connection with ${code}`, async () => {
    await onNode(async (peer, script) => {
      await peer.subscribed();
      peer.write(bytes);
      const answer = await peer.hears();
      expect([answer.opcode, closeCode(answer.payload)]).toEqual([8, code]);
      expect((await script.lines())[1]).toMatch(/^Disconnected 1006 .*broke \(1006, /);
    });
  });
}

test("on Node a handshake that proves nothing is no connection", async () => {
  await onNode(
    async (_, script) => {
      expect(await script.lines()).toEqual([expect.stringMatching(/^Unreachable undefined .*handshake/)]);
    },
    { accept: () => "somebody else's proof" },
  );
});

test("on Node what is no JSON-RPC ends the subscription with an error, not the program", async () => {
  await onNode(async (peer, script) => {
    await peer.subscribed();
    peer.write(serverFrame("<html>"));
    expect((await script.lines())[1]).toStartWith("NotNodeServer undefined ");
  });
});

test("on Node subscriptions go over TLS, and an unknown certificate is refused", async () => {
  if (Bun.which("openssl") === null)
    return console.log("SKIPPED: the stories of TLS need openssl (apt install openssl)");
  await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
  const args =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem";
  const made = Bun.spawn(["openssl", ...args.split(" ")], {
    cwd: home.path,
    stdout: "ignore",
    stderr: "ignore",
  });
  expect(await made.exited).toBe(0);
  const served = await home.serve();
  await using consumer = await Consumer.open();
  const code = `
    try {
      const entries = server.subscribe("node-server_stream_log", { log_filter: "info" }, { onConnect: () => console.log("connected") });
      for await (const { message } of entries) { console.log(message); break; }
    } catch (error) { console.log(error.name, error.message); }
  `;
  const login = { url: served.url, token: served.superToken };
  const [refused] = await consumer.run("node", code, login);
  expect(refused).toMatch(/^Unreachable .*certificate/);
  const env = { NODE_EXTRA_CA_CERTS: home.file("cert.pem") };
  const script = await consumer.start("node", code, { ...login, env });
  await script.says(/connected/);
  await served.reload();
  expect((await script.lines())[1]).toContain("configuration");
});

test("whatever way frames are cut, the messages are the same", () => {
  const message = fc.tuple(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 4 }));
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 6 }),
      fc.array(fc.nat(200), { minLength: 1 }),
      (messages, cuts) => {
        const frames = messages.flatMap(([text, parts]) => {
          const bytes = Buffer.from(text);
          const size = Math.ceil(bytes.length / parts) || 1;
          return Array.from({ length: parts }, (_, i) =>
            serverFrame(
              bytes.subarray(i * size, (i + 1) * size),
              (i === 0 ? 1 : 0) | (i === parts - 1 ? 0x80 : 0),
            ),
          );
        });
        const whole = Buffer.concat(frames);
        const reader = new FrameReader();
        const heard: unknown[] = [];
        for (let at = 0, i = 0; at < whole.length; i++) {
          const step = 1 + (cuts[i % cuts.length] ?? 0);
          heard.push(...reader.push(whole.subarray(at, at + step)));
          at += step;
        }
        expect(heard).toEqual(
          messages.map(([text]) => ({ kind: "text", text: Buffer.from(text).toString() })),
        );
      },
    ),
  );
});

test("two frames of the same content have different masks", () => {
  const frames = Array.from({ length: 8 }, () =>
    Buffer.from(clientFrame(opcodes.text, Buffer.from("hello"))).toString("hex"),
  );
  expect(new Set(frames).size).toBeGreaterThan(1);
});
