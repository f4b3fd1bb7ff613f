import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SQL } from "bun";
import { type DatabaseKind, eachDatabase } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { cpuSeconds } from "../support/proc.ts";
import { hello, newHome, type Server, sqliteUrl } from "../support/process.ts";
import { endless, residentMiB, type SqlResult, series, sqlChildrenOf } from "../support/sql.ts";
import { until } from "../support/until.ts";

const exec = async (server: Server, sql: string) =>
  (await server.call("node-server_exec_sql", [server.superToken, sql])) as SqlResult;

/** A statement under way; whether its answer comes is of no interest. */
function begin(server: Server, sql: string): void {
  void server.send("node-server_exec_sql", [server.superToken, sql]).catch(() => {});
}

const isAlive = (pid: number) => Bun.file(`/proc/${pid}/stat`).exists();
const allGone = (pids: readonly number[]) =>
  until(`the processes ${pids} are gone`, async () =>
    (await Promise.all(pids.map(isAlive))).includes(true) ? undefined : true,
  );
const busyChildren = (server: Server, count: number) =>
  until(`${count} children run`, async () => {
    const children = await sqlChildrenOf(server.pid);
    return children.length === count ? children : undefined;
  });

async function databaseFor(kind: DatabaseKind): Promise<AsyncDisposable & { url: string }> {
  if (kind === "sqlite") return { url: sqliteUrl, [Symbol.asyncDispose]: async () => {} };
  const { url, drop } = await newPostgresDatabase();
  return { url, [Symbol.asyncDispose]: drop };
}

eachDatabase(
  "a SELECT over a million rows leaves the memory of the server and its children flat",
  async (kind) => {
    await using database = await databaseFor(kind);
    await using home = await newHome({}, database.url);
    const server = await home.serve();
    const fill = `CREATE TABLE big AS SELECT n, 'row number ' || n AS words FROM ${series(kind, 1_000_000)}`;
    if (kind === "sqlite") {
      using file = new Database(home.file("data/node.db"));
      file.run(fill);
    } else {
      await using client = new SQL({ url: database.url, max: 1 });
      await client.unsafe(fill);
    }
    await exec(server, "SELECT 1 AS warm");
    const before = await residentMiB(server.pid);
    let highest = before;
    let asking = true;
    const watch = (async () => {
      while (asking) {
        highest = Math.max(highest, await residentMiB(server.pid));
        await Bun.sleep(10);
      }
    })();
    for (const sql of ["SELECT * FROM big", "SELECT * FROM big ORDER BY words DESC"]) {
      const { data, row_count, truncated } = await exec(server, sql);
      expect({ shown: data.length, row_count, truncated }).toEqual({
        shown: 10_000,
        row_count: 10_000,
        truncated: true,
      });
    }
    asking = false;
    await watch;
    console.log(`${kind}: ${before.toFixed(0)} MiB before, ${highest.toFixed(0)} MiB at the most`);
    expect(highest - before).toBeLessThan(60);
  },
  // A million rows are made, and read twice.
  60_000,
);

test("a server that is killed takes its running and its idle children with it", async () => {
  await using home = await newHome({ databaseKeys: "sql_timeout_ms = 0" });
  const server = await home.serve();
  for (let n = 0; n < 3; n += 1) begin(server, endless("sqlite"));
  await exec(server, "SELECT 1 AS one");
  const children = await busyChildren(server, 4);
  server.signal("SIGKILL");
  await server.exited;
  await allGone(children);
  const again = await home.serve();
  expect(await again.call("node-server_hello")).toBe(hello);
});

test("a server that is stopped takes its children with it", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await exec(server, "SELECT 1 AS one");
  const children = await busyChildren(server, 1);
  expect(await server.stop()).toMatchObject({ code: 0 });
  await allGone(children);
});

test("statements that run when PostgreSQL's client is killed do not go on for ever", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome({ databaseKeys: "sql_timeout_ms = 10000" }, database.url);
  const server = await home.serve();
  await using client = new SQL({ url: database.url, max: 1 });
  const sleeping = async () =>
    (
      await client.unsafe(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
      )
    ).length;
  // Before the time of the statement begins, the client is connected.
  expect(await sleeping()).toBe(0);
  begin(server, "SELECT pg_sleep(600)");
  await until("the statement runs", async () => ((await sleeping()) === 1 ? true : undefined));
  server.signal("SIGKILL");
  await until("PostgreSQL ended it", async () => ((await sleeping()) === 0 ? true : undefined));
  await client.close();
  await database.drop();
  // The statement has ten seconds before it is ended.
}, 45_000);

test("one warm child serves statement after statement", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await exec(server, "SELECT 1 AS one");
  const [first] = await busyChildren(server, 1);
  for (let n = 0; n < 20; n += 1) await exec(server, `SELECT ${n} AS n`);
  expect(await sqlChildrenOf(server.pid)).toEqual([first ?? 0]);
});

test("a child that dies takes its statement with it and no other", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const failed = server.send("node-server_exec_sql", [server.superToken, endless("sqlite")]);
  const [busy = 0] = await busyChildren(server, 1);
  await until("the child computes", async () => (await cpuSeconds({ pid: busy })) > 0.5);
  process.kill(busy, "SIGKILL");
  expect((await failed).error).toMatchObject({ code: 103, message: expect.stringContaining("ended") });
  expect((await exec(server, "SELECT 1 AS one")).data).toEqual([{ one: 1 }]);
});

test("a child that dies while it has nothing to do is not missed", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await exec(server, "SELECT 1 AS one");
  const children = await busyChildren(server, 1);
  for (const child of children) process.kill(child, "SIGKILL");
  await allGone(children);
  expect((await exec(server, "SELECT 2 AS two")).data).toEqual([{ two: 2 }]);
});

test("a stopped statement leaves no process behind", async () => {
  await using home = await newHome({ databaseKeys: "sql_timeout_ms = 10000" });
  const server = await home.serve();
  const calls = Array.from({ length: 4 }, () =>
    server.send("node-server_exec_sql", [server.superToken, endless("sqlite")]),
  );
  const children = await busyChildren(server, 4);
  for (const { error } of await Promise.all(calls)) expect(error?.message).toContain("sql_timeout_ms");
  await allGone(children);
});
