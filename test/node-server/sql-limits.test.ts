import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SQL } from "bun";
import { ManualClock } from "../support/manual-clock.ts";
import { type DatabaseKind, eachDatabase, type TestNode, testNode, type WireReply } from "../support/node.ts";
import { endless, exec, execText, refusedSql, rows, series, untilComputing } from "../support/sql.ts";
import { until, within } from "../support/until.ts";

const hello = "node-server_hello";

/** Whether a statement holds the writer's place (SQLite), or waits in `pg_sleep` (PostgreSQL). */
async function isWriting({ databaseUrl }: TestNode, kind: DatabaseKind): Promise<boolean> {
  if (kind === "postgres") {
    await using sql = new SQL({ url: databaseUrl, max: 1 });
    const [found] =
      await sql`SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    return found.n > 0;
  }
  using database = new Database(databaseUrl.replace(/^sqlite:\/\/|\?.*$/g, ""));
  try {
    database.run("BEGIN IMMEDIATE");
    database.run("ROLLBACK");
    return false;
  } catch {
    return true;
  }
}

eachDatabase("10,000 rows are shown whole; of more the first 10,000, and that is said", async (kind) => {
  await using node = await testNode({ database: kind });
  for (const [count, shown, truncated] of [
    [9_999, 9_999, false],
    [10_000, 10_000, false],
    [10_001, 10_000, true],
    [25_000, 10_000, true],
  ] as const) {
    const result = await exec(node, `SELECT n FROM ${series(kind, count)}`);
    expect(result).toMatchObject({ success: true, row_count: shown, truncated });
    expect(result.data.length).toBe(shown);
    expect(result.data.every(({ n }, at) => n === at + 1)).toBe(true);
  }
});

eachDatabase("a change of more than 10,000 rows counts all of them, however it is written", async (kind) => {
  await using node = await testNode({ database: kind });
  await exec(node, "CREATE TABLE t (a INT)");
  const insert = `INSERT INTO t SELECT n FROM ${series(kind, 10_001)} WHERE true`;
  expect(await exec(node, insert)).toMatchObject({ data: [], row_count: 10_001, truncated: false });
  for (const before of ["", "/* with a word before */ ", "-- and a line\n", "WITH one AS (SELECT 1) "]) {
    const { data, ...counts } = await exec(node, `${before}${insert} RETURNING a`);
    expect({ before, shown: data.length, ...counts }).toEqual({
      before,
      shown: 10_000,
      success: true,
      columns: ["a"],
      row_count: 10_001,
      truncated: true,
    });
  }
  expect(await exec(node, "DELETE FROM t RETURNING a")).toMatchObject({
    row_count: 50_005,
    truncated: true,
  });
  expect(await rows(node, "SELECT a FROM t")).toEqual([]);
});

eachDatabase("rows beyond max_response_body_size are an error that says so", async (kind) => {
  await using node = await testNode({ database: kind, top: "max_response_body_size = 100_000" });
  const wide = kind === "sqlite" ? "hex(zeroblob(500))" : "repeat('0', 1000)";
  expect((await exec(node, `SELECT ${wide} AS a FROM ${series(kind, 90)}`)).row_count).toBe(90);
  for (const count of [120, 5_000_000]) {
    const error = await refusedSql(node, `SELECT ${wide} AS a FROM ${series(kind, count)}`);
    expect(error).toMatchObject({
      code: -32008,
      data: { kind: "ResponseTooBig", limit: 100_000, detail: expect.any(String) },
    });
    expect(error.message).toContain("max_response_body_size");
  }
  const huge = kind === "sqlite" ? "hex(zeroblob(10000000))" : "repeat('0', 20000000)";
  expect(await refusedSql(node, `SELECT ${huge} AS a`)).toMatchObject({ code: -32008 });
  expect(await rows(node, "SELECT 1 AS a")).toEqual([{ a: 1 }]);
});

/** How many rows `t` holds after `insert` was refused as too big. */
async function keptAfter(node: TestNode, insert: string): Promise<unknown> {
  expect(await refusedSql(node, insert)).toMatchObject({ code: -32008 });
  return (await rows(node, "SELECT count(*) AS n FROM t"))[0]?.n;
}

eachDatabase("a change whose rows do not fit into the answer is undone", async (kind) => {
  await using node = await testNode({ database: kind, top: "max_response_body_size = 2000" });
  await exec(node, "CREATE TABLE t (a TEXT)");
  const value = `'${"x".repeat(100)}'`;
  const insert = `INSERT INTO t SELECT ${value} FROM ${series(kind, 30)} WHERE true RETURNING a`;
  expect(await keptAfter(node, insert)).toBe(0);
  expect(await keptAfter(node, `WITH w AS (SELECT 1) ${insert}`)).toBe(0);
  expect(await keptAfter(node, `/* first */ ${insert}`)).toBe(0);
  expect(await keptAfter(node, `BEGIN; ${insert}; COMMIT`)).toBe(0);
  await exec(node, insert.replace(" RETURNING a", ""));
  for (const change of ["UPDATE t SET a = a || '!'", "DELETE FROM t"]) {
    expect(await keptAfter(node, `${change} RETURNING a`)).toBe(30);
  }
  expect(await rows(node, "SELECT count(*) AS n FROM t WHERE a LIKE '%!'")).toEqual([{ n: 0 }]);
});

eachDatabase("a change is undone too when only the envelope makes the answer too big", async (kind) => {
  await using node = await testNode({ database: kind, top: "max_response_body_size = 2000" });
  await exec(node, "CREATE TABLE t (a TEXT)");
  expect(await keptAfter(node, `INSERT INTO t VALUES ('${"x".repeat(1980)}') RETURNING a`)).toBe(0);
});

eachDatabase("a change is undone too when a batch has no room left for its answer", async (kind) => {
  await using node = await testNode({ database: kind, top: "max_response_body_size = 2000" });
  await exec(node, "CREATE TABLE t (a TEXT)");
  const sql = `INSERT INTO t VALUES ('${"x".repeat(1200)}') RETURNING a`;
  const params = { token: node.superToken, sql };
  const call = { jsonrpc: "2.0", method: "node-server_exec_sql", params, id: 1 };
  const replies = (await (await node.post(JSON.stringify([call, call]))).json()) as unknown[];
  expect(replies).toMatchObject([{ result: { row_count: 1 } }, { error: { code: -32008 } }]);
  expect(await rows(node, "SELECT count(*) AS n FROM t")).toEqual([{ n: 1 }]);
});

/** The limit of the product. */
const limitMs = 60_000;

/** How many statements sleep in PostgreSQL. */
async function sleeping(node: TestNode): Promise<unknown> {
  const sql =
    "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
  return (await rows(node, sql))[0]?.n;
}

/** Runs statements of which the last does not end, lets their time pass while that one runs, and returns the error. */
async function stopped(node: TestNode & { readonly clock: ManualClock }, kind: DatabaseKind, sql: string) {
  const run = () => refusedSql(node, sql);
  const { result } = kind === "sqlite" ? await untilComputing(run) : { result: run() };
  if (kind === "postgres") await until("it sleeps", async () => (await sleeping(node)) === 1);
  await node.clock.advance(limitMs);
  return within("the statement is stopped", result);
}

eachDatabase("a statement that runs too long is stopped, and that is said", async (kind) => {
  const slowChange =
    kind === "sqlite"
      ? `INSERT INTO t ${endless(kind)}`
      : "INSERT INTO t SELECT n FROM generate_series(1, 5) AS s(n), pg_sleep(60)";
  const stories = [endless(kind), slowChange, `BEGIN; INSERT INTO t VALUES (1); ${endless(kind)}`];
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, clock });
  await exec(node, "CREATE TABLE t (a INT)");
  for (const sql of stories) {
    const error = await stopped({ ...node, clock }, kind, sql);
    expect(error).toMatchObject({ code: 103, data: { limit: limitMs } });
    expect(error.message).toContain("60000 ms (sql_timeout_ms)");
    expect(await rows(node, "SELECT a FROM t")).toEqual([]);
    await node.newToken([]);
    if (kind === "sqlite") continue;
    // A process of PostgreSQL may be stopped by a busy machine; the sleep would end by itself only later.
    await until("nothing of it runs", async () => (await sleeping(node)) === 0, 30_000);
  }
});

eachDatabase("statements that are stopped say what of them was kept, and that is true", async (kind) => {
  const insert = (value: number) => `INSERT INTO t VALUES (${value});`;
  const first = "its first statement was committed, the rest was not";
  const three = "its first 3 statements were committed, the rest was not";
  const stories = [
    [endless(kind), 0, [], "nothing was committed"],
    [`${insert(1)} ${endless(kind)}`, 1, [1], first],
    [`BEGIN; ${insert(1)} ${endless(kind)}`, 0, [], "nothing was committed"],
    [`${insert(1)} BEGIN; ${insert(2)} ${endless(kind)}`, 1, [1], first],
    [`BEGIN; ${insert(1)} COMMIT; ${endless(kind)}`, 3, [1], three],
  ] as const;
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, clock });
  for (const [sql, kept, values, words] of stories) {
    await exec(node, "CREATE TABLE t (a INT)");
    const error = await stopped({ ...node, clock }, kind, sql);
    expect(error).toMatchObject({ code: 103, data: { reason: "sql_timeout", limit: limitMs, kept } });
    expect(error.message).toEndWith(`and was stopped; ${words}`);
    expect(await rows(node, "SELECT a FROM t")).toEqual(values.map((a) => ({ a })));
    await exec(node, "DROP TABLE t");
  }
});

test("what a stopped DO, CALL or chained transaction kept on PostgreSQL is told, or that it is not known", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ database: "postgres", clock });
  await exec(node, "CREATE TABLE t (a INT)");
  await exec(
    node,
    "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (2); COMMIT; PERFORM pg_sleep(60); END $$",
  );
  const commits = "DO $$ BEGIN INSERT INTO t VALUES (1); COMMIT; PERFORM pg_sleep(60); END $$";
  const sleeps = "DO $$ BEGIN INSERT INTO t VALUES (9); PERFORM pg_sleep(60); END $$";
  const unknown = "it is not known which of its statements were committed; check before you run it again";
  const chain = "BEGIN; INSERT INTO t VALUES (3); COMMIT AND CHAIN; INSERT INTO t VALUES (9);";
  const stories = [
    [`SELECT 1; /* commits */ ${commits}`, null, unknown],
    ["CALL p()", null, unknown],
    [`BEGIN; ${sleeps}`, 0, "nothing was committed"],
    [
      `${chain} ROLLBACK AND CHAIN; ${endless("postgres")}`,
      3,
      "its first 3 statements were committed, the rest was not",
    ],
  ] as const;
  for (const [sql, kept, words] of stories) {
    const error = await stopped({ ...node, clock }, "postgres", sql);
    expect({ sql, data: error.data }).toEqual({
      sql,
      data: {
        kind: "DatabaseError",
        reason: "sql_timeout",
        limit: limitMs,
        kept,
        detail: expect.any(String),
      },
    });
    expect(error.message).toEndWith(`and was stopped; ${words}`);
  }
  expect(await rows(node, "SELECT a FROM t ORDER BY a")).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
});

eachDatabase("sql_timeout_ms = 0 sets no limit, and a reload changes it", async (kind) => {
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, databaseKeys: "sql_timeout_ms = 0", clock });
  const config = await Bun.file(node.configPath).text();
  const slow =
    kind === "sqlite"
      ? `SELECT count(*) AS n FROM ${series(kind, 6_000_000)}`
      : "SELECT pg_sleep(1)::text AS n";
  await exec(node, "SELECT 1 AS a");
  const run = () => exec(node, slow);
  const { result } = kind === "sqlite" ? await untilComputing(run) : { result: run() };
  if (kind === "postgres") await until("it sleeps", async () => (await sleeping(node)) === 1);
  await clock.jump(24 * 3600_000);
  expect((await result).row_count).toBe(1);
  await Bun.write(node.configPath, config.replace("sql_timeout_ms = 0", `sql_timeout_ms = ${limitMs}`));
  expect(await node.node.reload()).toBe("applied");
  await exec(node, "SELECT 1 AS a");
  const error = await stopped({ ...node, clock }, kind, endless(kind));
  expect(error.message).toContain("60000 ms (sql_timeout_ms)");
});

eachDatabase("while statements run for long, everybody else is answered", async (kind) => {
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, clock });
  await using socket = await node.socket();
  const slow = Array.from({ length: 4 }, async () => (await refusedSql(node, endless(kind))).message);
  for (let turn = 0; turn < 40; turn += 1) {
    await node.call(hello);
    await socket.call(hello);
    await node.call("token_get", [node.superToken]);
  }
  // A fifth waits for its turn, and gets it.
  const fifth = rows(node, "SELECT 1 AS a");
  for (const message of await clock.settle(Promise.all(slow), limitMs))
    expect(message).toContain("sql_timeout_ms");
  expect(await fifth).toEqual([{ a: 1 }]);
});

eachDatabase("a statement that writes for long holds up nobody who has no need to wait", async (kind) => {
  await using node = await testNode({ database: kind });
  await exec(node, "CREATE TABLE t (a INT)");
  const sql = `BEGIN; INSERT INTO t VALUES (1); ${endless(kind)}`;
  const body = { jsonrpc: "2.0", id: 1, method: "node-server_exec_sql", params: [node.superToken, sql] };
  const writtenMeanwhile = async (attempts: number): Promise<WireReply> => {
    const leaving = new AbortController();
    let running = true;
    const slow = fetch(`${node.url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
      .catch((error: Error) => error.name)
      .finally(() => {
        running = false;
      });
    await until("it has written", () => isWriting(node, kind));
    // On SQLite this one has to wait for the writer; the server must not stand still with it.
    const writes = node.send("token_create", [node.superToken, { token_limit: [] }]);
    await Bun.sleep(50);
    for (let turn = 0; turn < 20; turn += 1) await node.call(hello);
    expect(running).toBe(true);
    leaving.abort();
    expect(await slow).toBe("AbortError");
    const reply = await writes;
    if (reply.error === undefined || attempts === 1) return reply;
    // It waits for five seconds only, and a busy machine may have stood still for longer.
    await until("the writer is gone", async () => !(await isWriting(node, kind)));
    return writtenMeanwhile(attempts - 1);
  };
  expect(await writtenMeanwhile(4)).toHaveProperty("result.key");
});

test("statements queue for their turn and come back each with its own result", async () => {
  await using node = await testNode();
  const texts = await Promise.all(
    Array.from({ length: 60 }, (_, n) => execText(node, `SELECT ${n} AS n, hex(zeroblob(${n * 1000})) AS z`)),
  );
  texts.forEach((text, n) => {
    expect(text).toContain(`"data":[{"n":${n},"z":"${"00".repeat(n * 1000)}"}]`);
  });
});
