import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { lockSqlite } from "../../src/db/sqlite/sqlite-lock.ts";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";
import { hello, newHome, type Server, story } from "../support/process.ts";

const contests = 30;

story("a second server on the same SQLite file names the process that holds it and ends with 1", async () => {
  await using home = await newHome();
  const first = await home.serve();
  const { code, stdout, stderr } = await home.run(["serve"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(new RegExp(`^node-server: .*data/node\\.db.* process ${first.pid}\\b.*\\n$`));
  expect(await first.call("node-server_hello")).toBe(hello);
});

story("a SQLite file is the same one under every name that leads to it", async () => {
  await using home = await newHome();
  const first = await home.serve();
  await symlink("data", home.file("linked-folder"));
  await symlink("node.db", home.file("data/linked.db"));
  for (const url of [
    `sqlite://${home.file("data/node.db")}?mode=rwc`,
    "sqlite:linked-folder/node.db",
    "sqlite:data/linked.db",
  ]) {
    await home.configure({}, url);
    const second = home.launch();
    expect([url, await readyOrEnded(second)]).toEqual([url, "ended"]);
    expect(second.stderr).toContain(`process ${first.pid}`);
  }
});

story(
  "of servers that start together on one SQLite file exactly one comes up, and the others name it",
  async () => {
    for (let round = 0; round < 2; round += 1) {
      await using home = await newHome();
      const servers = [home.launch(), home.launch(), home.launch()];
      const outcomes = await Promise.all(servers.map((server) => readyOrEnded(server)));
      expect({ round, outcomes: outcomes.sort() }).toEqual({ round, outcomes: ["ended", "ended", "ready"] });
      const winner = servers.find((server) => server.alive);
      for (const loser of servers.filter((server) => server !== winner)) {
        expect(loser.stderr).toContain(`process ${winner?.pid}`);
      }
      expect(servers.map(({ stdout }) => stdout).join("")).toMatch(
        /^Super Token: \S+\nRoot Password: \S+\n$/,
      );
    }
  },
);

story("of two processes that ask for a SQLite file at the very same moment exactly one gets it", async () => {
  await using home = await newHome();
  const source = resolve(import.meta.dir, "../../src/db/sqlite/sqlite-lock.ts");
  // Starting a server takes too long, and too differently long, to meet another one at the same microsecond. A loser waits for the
  // name of the winner, so nobody awaits one contest before the next.
  const script = `
    import { lockSqlite } from ${JSON.stringify(source)};
    const lines = console[Symbol.asyncIterator]();
    console.log("ready");
    const begin = Number((await lines.next()).value);
    const contests = [];
    // A lock that nobody keeps ends when its handle is collected.
    const kept = [];
    for (let round = 0; round < ${contests}; round += 1) {
      while (performance.timeOrigin + performance.now() < begin + round * 10);
      contests.push(lockSqlite("data/" + round + ".db").then(
        (release) => { kept.push(release); return "won " + process.pid; },
        (error) => "lost " + (error.data?.pid ?? error.message),
      ));
    }
    console.log((await Promise.all(contests)).join("\\n"));
    // Nobody lets go before both are through.
    await lines.next();
    for (const release of kept) release();`;
  const children = [1, 2].map(() =>
    Bun.spawn([process.execPath, "-e", script], { cwd: home.path, stdin: "pipe", stdout: "pipe" }),
  );
  const readers = children.map(({ stdout }) => linesOf(stdout));
  try {
    for (const reader of readers) expect((await reader.next()).value).toBe("ready");
    const begin = Date.now() + 50;
    for (const { stdin } of children) stdin.write(`${begin}\n`);
    for (const { stdin } of children) await stdin.flush();
    const outcomes: string[] = [];
    for (let round = 0; round < contests; round += 1) {
      const told = await Promise.all(readers.map(async (reader) => String((await reader.next()).value)));
      outcomes.push(told.sort().join(", "));
    }
    expect(outcomes.filter((outcome) => !/^lost (\d+), won \1$/.test(outcome))).toEqual([]);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ exited }) => exited));
  }
});

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

story("a process that is stopped between its lock and its name is waited for, and named", async () => {
  await using home = await newHome();
  // What the server does, with a pause in the middle.
  const script = `
    import { Database } from "bun:sqlite";
    const lock = new Database("node.db.lock");
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    console.log("locked");
    // Longer than the time in which a process usually writes its name.
    await Bun.sleep(700);
    lock.run("PRAGMA user_version = " + process.pid);
    lock.run("COMMIT");
    await Bun.sleep(600_000);`;
  const holder = Bun.spawn([process.execPath, "-e", script], { cwd: home.path, stdout: "pipe" });
  try {
    await holder.stdout.getReader().read();
    const pid = await lockSqlite(home.file("node.db")).then(
      () => "won",
      (error) => error.data?.pid ?? error.message,
    );
    expect(pid).toBe(holder.pid);
  } finally {
    holder.kill("SIGKILL");
    await holder.exited;
  }
});

async function readyOrEnded(server: Server): Promise<"ready" | "ended"> {
  return server.says(/listening on/).then(
    () => "ready",
    () => "ended",
  );
}

story(
  "a SQLite file can be opened again at once after kill -9, and what was answered is still there",
  async () => {
    await using home = await newHome();
    const first = await home.serve();
    const { superToken } = first;
    const token = await first.newToken();
    first.signal("SIGKILL");
    await first.exited;
    const second = await home.serve();
    expect(second.stdout).toBe("");
    expect(await second.call("token_get", { token })).toMatchObject({ token_key: token.split(":")[0] });
    expect(await second.newToken(superToken)).toMatch(/:/);
  },
);

story("a damaged lock file, as a power loss may leave it, does not keep the server down", async () => {
  await using home = await newHome();
  await home.run(["init"]);
  const remains = {
    nothing: "",
    zeros: "\0".repeat(4096),
    garbage: "garbage ".repeat(512),
    half: "SQLite format 3\0",
  };
  for (const [what, bytes] of Object.entries(remains)) {
    await writeFile(home.file("data/node.db.lock"), bytes);
    const server = home.launch();
    expect([what, await readyOrEnded(server)]).toEqual([what, "ready"]);
    expect(await server.stop()).toMatchObject({ code: 0 });
  }
});

story("two servers on one port: the second names the address and ends with 1", async () => {
  await using home = await newHome();
  await using other = await newHome();
  const first = await home.serve();
  const address = `127.0.0.1:${first.address.port}`;
  await other.run(["init"]);
  await other.configure({ top: `ws_listener = "${address}"` });
  const { code, stdout, stderr } = await other.run(["serve"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(new RegExp(`^node-server: cannot listen on ${address}: another program.*\\n$`, "m"));
  expect(existsSync(other.file("data/node.db-wal"))).toBe(false);
  expect(await first.call("node-server_hello")).toBe(hello);
});

story("a listener on an address that this machine does not have is one clear line", async () => {
  await using home = await newHome({ top: 'ws_listener = "192.0.2.1:2211"' });
  await home.run(["init"]);
  const { code, stderr } = await home.run(["serve"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^node-server: cannot listen on 192\.0\.2\.1:2211: .*\n$/m);
  expect(stderr).not.toContain("another program");
});

story(
  "a database that cannot be reached is one clear line with its address, in every command that needs it",
  async () => {
    const port = await freePort();
    await using home = await newHome({}, `postgres://node:hunter2@127.0.0.1:${port}/node`);
    for (const args of [["serve"], ["roll-super-token", "--yes"]]) {
      const { code, stdout, stderr } = await home.run(args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toMatch(
        new RegExp(`^node-server: PostgreSQL at 127\\.0\\.0\\.1:${port}/node cannot be reached: .+\\n$`),
      );
      expect(stderr).not.toContain("hunter2");
    }
  },
);

story("a database that accepts and never answers is given up after timeout_ms", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = silent;
  await using home = await newHome(
    { databaseKeys: "timeout_ms = 300" },
    `postgres://node:hunter2@127.0.0.1:${port}/node`,
  );
  const { code, stderr } = await home.run(["serve"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(`^node-server: PostgreSQL at 127\\.0\\.0\\.1:${port}/node cannot be reached: .+\\n$`),
  );
});

story("a database that does not exist on its server is one clear line", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome({}, `${database.url}_gone`);
  const { code, stderr } = await home.run(["serve"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^node-server: PostgreSQL at .*_gone" does not exist; create it .*, or name another in database_url\n$/,
  );
  await database.drop();
});

eachDatabase("a database made by a newer version is refused and left as it is", async (kind) => {
  await using home = await newHome();
  const database = await newDatabase(kind, home.path);
  await home.configure({}, database.url);
  await home.run(["init"]);
  await database.run("INSERT INTO seaql_migrations VALUES ('m29990101_000001_from_the_future', 1)");
  for (const args of [["serve"], ["init"], ["roll-super-token", "--yes"]]) {
    const { code, stdout, stderr } = await home.run(args);
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
    expect(stderr).toMatch(/^node-server: .*newer version.*m29990101_000001_from_the_future.*$/m);
    expect(stderr).not.toContain("this is a bug");
  }
  await database.run("DELETE FROM seaql_migrations WHERE version LIKE 'm2999%'");
  expect(await (await home.serve()).call("node-server_hello")).toBe(hello);
  await database.drop();
});
