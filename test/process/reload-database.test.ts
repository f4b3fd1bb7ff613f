import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { SQL } from "bun";
import { lockWaiters, newPostgresDatabase } from "../support/postgres.ts";
import {
  applied,
  type Home,
  hello,
  newHome,
  refused,
  type Server,
  sqliteUrl,
  story,
  unchanged,
} from "../support/process.ts";
import { until } from "../support/until.ts";

const otherUrl = "sqlite://other/node.db?mode=rwc";

/** Makes the database that the configuration names, and tells its Super Token. */
async function init(home: Home): Promise<string> {
  return /^Super Token: (\S+)$/m.exec((await home.run(["init"])).stdout)?.[1] ?? "";
}

async function knows(server: Server, token: string): Promise<boolean> {
  return (await server.send("token_get", [token])).error === undefined;
}

story("SIGHUP moves the server to another SQLite file and back; each keeps its own tokens", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const first = server.superToken;
  await using socket = await server.socket();
  expect(await socket.call("token_get", [first])).toHaveProperty("result");

  await home.configure({}, otherUrl);
  const second = await init(home);
  expect(await server.reload()).toMatchObject(applied("database"));
  expect(server.stderr).toContain(`database=${home.file("other/node.db")} `);
  expect(second).not.toBe(first);
  expect([await knows(server, first), await knows(server, second)]).toEqual([false, true]);
  expect(await socket.call("token_get", [first])).toHaveProperty("error.code", 102);
  await until("the old file is closed", () => !existsSync(home.file("data/node.db-wal")));

  await home.configure();
  await server.reload();
  expect([await knows(server, first), await knows(server, second)]).toEqual([true, false]);
  expect(server.stdout.match(/Super Token/g)).toHaveLength(1);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

story("the claim on the SQLite file moves with the server", async () => {
  await using home = await newHome();
  await using neighbour = await newHome({}, `sqlite://${home.file("data/node.db")}?mode=rwc`);
  const server = await home.serve();
  await home.configure({}, otherUrl);
  await init(home);
  await server.reload();
  const other = await neighbour.serve();
  await home.configure();
  expect(await server.reload()).toMatchObject({
    ...refused,
    line: expect.stringMatching(new RegExp(`data/node\\.db.* ${other.pid}\\b`)),
  });
  expect(await server.call("node-server_hello")).toBe(hello);
  await home.configure({}, otherUrl);
  expect(await server.reload()).toMatchObject(unchanged);
  await neighbour.configure({}, `sqlite://${home.file("other/node.db")}?mode=rwc`);
  expect(await other.reload()).toMatchObject({
    ...refused,
    line: expect.stringMatching(new RegExp(`other/node\\.db.* ${server.pid}\\b`)),
  });
});

story("SIGHUP moves the server from SQLite to PostgreSQL and back, with the same UUID", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome();
  const server = await home.serve();
  const uuid = await server.call("node-server_uuid");
  const first = server.superToken;
  await home.configure({}, database.url);
  const second = await init(home);
  expect(await server.reload()).toMatchObject(applied("database"));
  expect([await knows(server, first), await knows(server, second)]).toEqual([false, true]);
  expect(await server.call("node-server_uuid")).toBe(uuid);
  await until("the old file is closed", () => !existsSync(home.file("data/node.db-wal")));
  await home.configure();
  await server.reload();
  expect([await knows(server, first), await knows(server, second)]).toEqual([true, false]);
  expect(await server.call("node-server_uuid")).toBe(uuid);
  await until("the connections to PostgreSQL are closed", async () => {
    await using sql = new SQL({ url: database.url, max: 1 });
    const [row] = await sql`
      SELECT count(*)::int AS others FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    return row.others === 0;
  });
  await database.drop();
});

story("a call that runs while the database is replaced ends well on the old one", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome();
  const token = await init(home);
  await home.configure({ databaseKeys: "timeout_ms = 60000" }, database.url);
  const server = await home.serve();
  const { superToken } = server;
  await using sql = new SQL({ url: database.url, max: 1 });
  await sql
    .begin(async (lock) => {
      await lock`LOCK TABLE token IN ACCESS EXCLUSIVE MODE`;
      const running = server.send("token_list_all_tokens", [superToken]);
      await until("the call waits", async () => (await lockWaiters(database.url)) === 1);
      await home.configure();
      await server.reload();
      expect(await knows(server, token)).toBe(true);
      return { running };
    })
    .then(async ({ running }) => {
      expect((await running).result).toHaveProperty("tokens.0.username", "root");
    });
  expect(await server.stop()).toMatchObject({ code: 0 });
  await database.drop();
});

story("timeouts of the database change on the same SQLite file, under the same claim", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { superToken } = server;
  for (const acquire of [100, 200, 3000]) {
    await home.configure({ databaseKeys: `timeout_ms = ${acquire}` });
    expect(await server.reload()).toMatchObject(applied("database"));
    expect(await knows(server, superToken)).toBe(true);
  }
  const second = await home.run(["serve"]);
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`process ${server.pid}`);
  expect(server.stdout.match(/Super Token/g)).toHaveLength(1);
  expect(await server.stop()).toMatchObject({ code: 0 });
  expect(existsSync(home.file("data/node.db-wal"))).toBe(false);
});

story("the same SQLite file may be spelled another way, and stays claimed", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { superToken } = server;
  const outcomes: string[] = [];
  for (const url of ["sqlite:./data/node.db", `sqlite://${home.file("data/node.db")}`, sqliteUrl]) {
    await home.configure({}, url);
    outcomes.push((await server.reload()).event);
    expect(await knows(server, superToken)).toBe(true);
  }
  const second = home.launch();
  await second.says(/listening on|in use/).catch(() => {});
  expect(second.stderr).toContain(`process ${server.pid}`);
  expect(outcomes).not.toContain(refused.event);
});
