import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { newPostgresDatabase } from "../support/postgres.ts";
import { type Home, hello, helloAt, newHome, story, unchanged } from "../support/process.ts";
import { findProgram } from "../support/tools.ts";
import { until, within } from "../support/until.ts";

/** Prints each datagram as a line of JSON, with the clock that systemd counts with. */
const listener = `
import json, socket, sys, time
address = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + address[1:] if address.startswith("@") else address)
print(json.dumps({"text": "", "usec": 0}), flush=True)
while True:
    text = s.recv(65536).decode()
    print(json.dumps({"text": text, "usec": time.monotonic_ns() // 1000}), flush=True)
`;

interface Notice {
  readonly text: string;
  /** When it came, by CLOCK_MONOTONIC. */
  readonly usec: number;
}

/** What systemd would hear at `address`; the runtime has no Unix datagrams, so another program listens. */
async function openSystemd(address: string) {
  const python = findProgram("what systemd is told", "python3");
  if (python === undefined) return undefined;
  const child = Bun.spawn([python, "-c", listener, address], { stdin: "ignore", stdout: "pipe" });
  const notices: Notice[] = [];
  let bound = false;
  const reading = (async () => {
    let rest = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (bound) notices.push(JSON.parse(line) as Notice);
        bound = true;
      }
    }
  })();
  await until("the listener is there", () => bound);
  return {
    notices,
    get texts(): string[] {
      return notices.map(({ text }) => text);
    },
    /** Waits for a notice with this line among those from `from` on. */
    hears: (line: string, from = 0) =>
      until(`systemd hears ${line}; so far ${JSON.stringify(notices)}`, () =>
        notices.slice(from).find(({ text }) => text.split("\n").includes(line)),
      ),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      await reading;
    },
  };
}

const socketIn = (home: Home) => join(home.path, "notify");

story("systemd hears that the server is ready once it listens, and that it stops", async () => {
  await using home = await newHome();
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  const server = home.launch({ env: { NOTIFY_SOCKET: socketIn(home) } });
  await systemd.hears("READY=1");
  await server.ready();
  expect(await helloAt(server.url)).toBe(hello);
  expect(systemd.texts).toEqual(["READY=1\nSTATUS=serving"]);
  expect((await server.stop()).code).toBe(0);
  await systemd.hears("STOPPING=1");
  expect(systemd.texts.slice(1)).toEqual(["STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000"]);
});

story("systemd hears of a server of several processes from its supervisor alone, and once", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome();
  await mkdir(home.file("blobs"));
  await home.configure({ files: `url = "file://${home.file("blobs")}"` }, database.url);
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  const env = { NOTIFY_SOCKET: socketIn(home) };
  const server = await home.launch({ env }, ["serve", "--processes", "2"]).ready();
  await systemd.hears("READY=1");
  expect(systemd.texts).toEqual(["READY=1\nSTATUS=serving"]);
  server.signal("SIGHUP");
  await systemd.hears("RELOADING=1");
  await until("the reload has ended", () => systemd.texts.at(-1) === "READY=1");
  // The lines of the processes come by another way than the end of the reload.
  await until("both tell of it", () => (server.stderr.match(/event=config.unchanged/g)?.length ?? 0) >= 2);
  expect(server.stderr.match(/event=config.unchanged/g)).toHaveLength(2);
  expect((await server.stop()).code).toBe(0);
  await systemd.hears("STOPPING=1");
  expect(systemd.texts.filter((text) => text.includes("READY=1"))).toHaveLength(2);
  await database.drop();
});

story("a server that cannot start never says that it is ready", async () => {
  await using home = await newHome({ top: 'tls_cert = "nowhere.pem"\ntls_key = "nowhere.pem"\n' });
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  expect((await home.run(["serve"], { env: { NOTIFY_SOCKET: socketIn(home) } })).code).toBe(1);
  await using other = await newHome();
  // What comes from a second server comes after whatever the first one said.
  other.launch({ env: { NOTIFY_SOCKET: socketIn(home) } });
  await systemd.hears("READY=1");
  expect(systemd.texts).toHaveLength(1);
});

story("a reload is announced and its end too, whether it went well or not", async () => {
  await using home = await newHome();
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  const server = await home.serve({ env: { NOTIFY_SOCKET: socketIn(home) } });
  await systemd.hears("READY=1");
  for (const settings of [
    { top: "jsonrpc_max_connections = 50\n" },
    { top: "jsonrpc_max_connections = -1\n" },
  ]) {
    const from = systemd.notices.length;
    await home.configure(settings);
    await server.reload();
    await systemd.hears("READY=1", from);
    expect(systemd.texts.slice(from).map((text) => text.split("\n")[0])).toEqual(["RELOADING=1", "READY=1"]);
  }
  expect(await helloAt(server.url)).toBe(hello);
});

story("the time in the announcement of a reload is that of the clock systemd compares it with", async () => {
  await using home = await newHome();
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  const server = await home.serve({ env: { NOTIFY_SOCKET: socketIn(home) } });
  await systemd.hears("READY=1");
  await server.reload();
  const { text, usec } = await systemd.hears("RELOADING=1");
  const told = /^MONOTONIC_USEC=(\d+)$/m.exec(text)?.[1];
  // Not told at all is right too: only Type=notify-reload asks for it.
  if (told === undefined) return;
  expect(Number(told)).toBeLessThanOrEqual(usec);
  expect(usec - Number(told)).toBeLessThan(20_000_000);
});

/** A home whose database takes the connection and says nothing, which holds the start up. */
async function newSilentDatabase() {
  const reached = Promise.withResolvers<void>();
  const database = createServer(() => reached.resolve());
  await new Promise<void>((resolve) => database.listen(0, "127.0.0.1", resolve));
  const address = database.address();
  const port = typeof address === "object" ? address?.port : 0;
  const home = await newHome(
    { databaseKeys: "timeout_ms = 3000" },
    `postgres://who:secret@127.0.0.1:${port}/none`,
  );
  return {
    home,
    reached: () => within("the start waits for its database", reached.promise),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      database.close();
    },
  };
}

story("a reload that is asked for while the server still starts does not make it ready", async () => {
  await using silent = await newSilentDatabase();
  const { home } = silent;
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  const server = home.launch({ env: { NOTIFY_SOCKET: socketIn(home) } });
  await silent.reached();
  // Signals are handled in their order, so the first has been when the second ends it.
  server.signal("SIGHUP");
  await server.stop("SIGTERM");
  expect(server.url).toBe("");
  expect(systemd.texts.filter((text) => text.includes("READY=1"))).toEqual([]);
});

story(
  "a watchdog hears of a start at once, because an update goes on with the watchdog's old time",
  async () => {
    await using silent = await newSilentDatabase();
    const { home } = silent;
    await using systemd = await openSystemd(socketIn(home));
    if (systemd === undefined) return;
    // Half of an hour: nothing but the start itself can be heard of.
    const env = { NOTIFY_SOCKET: socketIn(home), WATCHDOG_USEC: "3600000000" };
    home.launch({ env });
    await silent.reached();
    await systemd.hears("WATCHDOG=1");
    expect(systemd.texts).toEqual(["WATCHDOG=1"]);
  },
);

story("a watchdog hears again and again of a start that takes long", async () => {
  await using silent = await newSilentDatabase();
  const { home } = silent;
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  home.launch({ env: { NOTIFY_SOCKET: socketIn(home), WATCHDOG_USEC: "400000" } });
  await silent.reached();
  const from = systemd.notices.length;
  await until("it was heard of three times", () => systemd.notices.length >= from + 3);
  expect(new Set(systemd.texts)).toEqual(new Set(["WATCHDOG=1"]));
});

story("a watchdog hears of the server at half of the time that it waits, again and again", async () => {
  await using home = await newHome();
  await using systemd = await openSystemd(socketIn(home));
  if (systemd === undefined) return;
  home.launch({ env: { NOTIFY_SOCKET: socketIn(home), WATCHDOG_USEC: "2000000" } });
  await systemd.hears("READY=1");
  const beats = () => systemd.notices.filter(({ text }) => text === "WATCHDOG=1").map(({ usec }) => usec);
  await until("it was heard of five times", () => beats().length >= 5);
  const gaps = beats().flatMap((usec, at, all) => (at === 0 ? [] : [usec - (all[at - 1] ?? 0)]));
  gaps.sort((a, b) => a - b);
  const middle = gaps[Math.floor(gaps.length / 2)] ?? 0;
  expect([middle > 700_000, middle < 1_800_000, middle]).toEqual([true, true, middle]);
});

story("a watchdog that waits for another process is left alone", async () => {
  await using home = await newHome();
  await using watched = await newHome();
  await using systemd = await openSystemd(socketIn(home));
  await using other = await openSystemd(socketIn(watched));
  if (systemd === undefined || other === undefined) return;
  const env = { WATCHDOG_USEC: "200000" };
  const server = await home.serve({ env: { ...env, NOTIFY_SOCKET: socketIn(home), WATCHDOG_PID: "1" } });
  await systemd.hears("READY=1");
  // A server that is watched beside it shows that the time for notices has come, five times.
  watched.launch({ env: { ...env, NOTIFY_SOCKET: socketIn(watched) } });
  await until(
    "the watched server reported five times",
    () => other.texts.filter((text) => text === "WATCHDOG=1").length >= 5,
  );
  expect((await server.stop()).code).toBe(0);
  await systemd.hears("STOPPING=1");
  expect(systemd.texts.filter((text) => text.includes("WATCHDOG"))).toEqual([]);
});

story("an abstract address, written with @, is reached", async () => {
  await using home = await newHome();
  const address = `@node-server-test/${process.pid}/${home.path.slice(-6)}`;
  await using systemd = await openSystemd(address);
  if (systemd === undefined) return;
  const server = home.launch({ env: { NOTIFY_SOCKET: address } });
  await systemd.hears("READY=1");
  await server.ready();
  await server.stop();
  await systemd.hears("STOPPING=1");
});

story("an address where nobody listens, or that is none, does not keep the server from serving", async () => {
  for (const address of [
    "",
    "nowhere",
    "/nowhere/at/all",
    "@nobody",
    `/${"x".repeat(300)}`,
    "vsock:2:1234",
  ]) {
    await using home = await newHome();
    const server = await home.serve({ env: { NOTIFY_SOCKET: address, WATCHDOG_USEC: "junk" } });
    expect(await helloAt(server.url)).toBe(hello);
    expect(await server.reload()).toMatchObject(unchanged);
    expect((await server.stop()).code).toBe(0);
  }
});
