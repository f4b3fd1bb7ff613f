import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { codeOf } from "../../src/base/fault.ts";
import { Wire } from "../support/hostile.ts";
import { hello, helloAt, newHome, type Server, story } from "../support/process.ts";
import { until } from "../support/until.ts";

const limited = (limit: string) => ["sh", "-c", `ulimit ${limit}; exec "$@"`, "sh"];
const descriptors = ({ pid }: Server) => readdirSync(`/proc/${pid}/fd`).length;

/** Opens connections that each send `text` and are then left alone. */
function connections(server: Server, count: number, text: string) {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(server.address).on("error", () => {});
    socket.resume().write(text);
    return socket;
  });
  return { sockets, [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) };
}

/** Begins requests and does not end them, until the server has no descriptor left. */
async function exhaust(server: Server, limit: number): Promise<Disposable> {
  const held = connections(server, limit + 20, "GET / HTTP/1.1\r\nHost: here\r\n");
  await until("no descriptor is left", () => descriptors(server) >= limit - 1);
  return held;
}

/** The error that another process, which this test is, gets when it binds the server's address; undefined if it can. */
function bindError({ host, port }: Server["address"]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const thief = createServer()
      .on("error", (error) => resolve(codeOf(error)))
      .listen(port, host, () => thief.close(() => resolve(undefined)));
  });
}

if (process.platform === "linux") {
  story("a server takes as many descriptors as the system lets it have", async () => {
    await using home = await newHome();
    const server = await home.serve({ as: limited("-Sn 128") });
    const limits = readFileSync(`/proc/${server.pid}/limits`, "utf8");
    const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(limits) ?? [];
    expect(Number(soft)).toBeGreaterThan(128);
    expect(soft).toBe(hard);
  });

  story("a server without descriptors keeps its address to itself, and comes back", async () => {
    await using home = await newHome({ top: 'enable_unix_socket = true\nunix_socket_path = "node.sock"' });
    const server = await home.serve({ as: limited("-n 64") });
    const socket = await server.socket();
    for (const round of [1, 2]) {
      const from = server.stderr.length;
      {
        using _held = await exhaust(server, 64);
        await server.says(/ERROR server: no file descriptor is left/, from);
        expect([round, await bindError(server.address)]).toEqual([round, "EADDRINUSE"]);
        expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
      }
      await server.says(/INFO server: file descriptors are free again/, from);
      expect([round, await helloAt(server.url)]).toEqual([round, hello]);
      expect(await helloAt("http://localhost", { unix: home.file("node.sock") })).toBe(hello);
    }
    expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(await socket.closed).toMatchObject({ code: 1001 });
  });

  story(
    "connections kept open between requests cannot keep others out of a server without descriptors",
    async () => {
      await using home = await newHome();
      const server = await home.serve({ as: limited("-n 64") });
      const socket = await server.socket();
      using idle = connections(server, 80, "GET / HTTP/1.1\r\nHost: here\r\n\r\n");
      const [, closed] = await server.says(
        /ERROR server: no file descriptor is left.*idle_connections_closed=(\d+)/,
      );
      expect(Number(closed)).toBeGreaterThan(0);
      await until("idle connections are closed", () => idle.sockets.some((kept) => kept.closed));
      expect(await until("a new client is answered", () => helloAt(server.url))).toBe(hello);
      expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
    },
  );

  story("an upload for which no descriptor is left is answered with 503, and works later", async () => {
    await using home = await newHome();
    const server = await home.serve({ as: limited("-n 64") });
    const token = server.superToken;
    await server.call("static-bucket_create", { token, name: "site" });
    using wire = await Wire.open(server.url);
    const [line, rest] = [
      "PUT /node/static-webdav/site/a.txt HTTP/1.1\r\n",
      `Host: here\r\nAuthorization: Basic ${btoa(token)}\r\nContent-Length: 3\r\n\r\nnew`,
    ];
    wire.write(line + rest);
    await wire.hears(/^HTTP\/1\.1 201/);
    {
      // The server closes connections without a request when no descriptor is left.
      wire.write(line);
      using _held = await exhaust(server, 64);
      wire.heard = "";
      wire.write(rest);
      const [answer] = await wire.hears(/^HTTP\/1\.1 503 [\s\S]*too many files and connections are open/);
      expect(answer.toLowerCase()).toContain("retry-after: ");
    }
    await until("the descriptors are free again", () => descriptors(server) < 40);
    using later = await Wire.open(server.url);
    later.write(line + rest);
    await later.hears(/^HTTP\/1\.1 20\d/);
    expect(await until("new connections are taken", () => helloAt(server.url))).toBe(hello);
  });
}
