import { expect } from "bun:test";
import { join } from "node:path";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, refusedSql, rows } from "../support/sql.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** More calls than there are connections or children, so that every one of them is met. */
const rounds = Array.from({ length: 12 }, (_, round) => round);

eachDatabase(
  "a transaction that is left open is rolled back, and the next calls do not notice",
  async (kind) => {
    await using node = await sharedNode({ database: kind });
    const t = node.own("t");
    await exec(node, `CREATE TABLE ${t} (a INT)`);
    for (const round of rounds) {
      const result = await exec(node, `BEGIN; INSERT INTO ${t} VALUES (${round})`);
      expect(result).toMatchObject({ data: [], row_count: 1 });
      expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
    }
    await Promise.all(rounds.map((round) => exec(node, `BEGIN; SELECT ${round} AS a`)));
    // Nobody holds a lock any more: the server's own tables can be written.
    await node.newToken([]);
    expect(await exec(node, `BEGIN; INSERT INTO ${t} VALUES (1); COMMIT`)).toMatchObject({ row_count: 0 });
    await exec(node, `BEGIN; INSERT INTO ${t} VALUES (2); ROLLBACK`);
    expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([{ a: 1 }]);
  },
);

eachDatabase("a transaction that fails leaves nothing behind", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  const error = await refusedSql(node, `BEGIN; INSERT INTO ${t} VALUES (1); SELECT nonsense; COMMIT`);
  expect(error).toMatchObject({ code: 103, message: expect.stringContaining("nonsense") });
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
  await exec(node, `INSERT INTO ${t} VALUES (2)`);
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([{ a: 2 }]);
});

eachDatabase("no temporary table outlives its call", async (kind) => {
  await using node = await testNode({ database: kind });
  const sql = "CREATE TEMP TABLE token (a INT); INSERT INTO token VALUES (7); SELECT a FROM token";
  for (const _ of rounds) {
    expect(await rows(node, sql)).toEqual([{ a: 7 }]);
    expect(await rows(node, "SELECT username FROM token")).toEqual([{ username: "root" }]);
  }
});

test("no attached file and no pragma of a call is there in the next", async () => {
  await using node = await testNode();
  const file = join(node.folder, "side.db");
  const set = `ATTACH '${file}' AS side; PRAGMA foreign_keys = OFF; PRAGMA query_only = ON; PRAGMA busy_timeout = 1; PRAGMA case_sensitive_like = ON`;
  for (const round of rounds) {
    await exec(node, set);
    expect((await rows(node, "PRAGMA database_list")).map(({ name }) => name)).toEqual(["main"]);
    expect(await rows(node, "PRAGMA foreign_keys")).toEqual([{ foreign_keys: 1 }]);
    expect(await rows(node, "PRAGMA busy_timeout")).toEqual([{ timeout: 5000 }]);
    expect(await rows(node, "SELECT 'A' LIKE 'a' AS same")).toEqual([{ same: 1 }]);
    await exec(node, `INSERT INTO kv (namespace, key, value) VALUES ('n', '${round}', '1')`);
  }
});

test("no setting, role, prepared statement or lock of a call is there in the next", async () => {
  await using node = await sharedNode({ database: "postgres" });
  const set =
    "SET search_path TO nowhere; SET default_transaction_read_only = on; SET timezone = 'Asia/Tokyo'; PREPARE p AS SELECT 1; SELECT pg_advisory_lock(1)";
  for (const round of rounds) {
    await exec(node, set);
    expect(
      await rows(node, "SELECT current_schema() AS s, pg_try_advisory_lock(1) AS free, now()::text AS now"),
    ).toEqual([{ s: "public", free: true, now: expect.stringMatching(/\+00$/) }]);
    expect(await rows(node, "SELECT name FROM pg_prepared_statements WHERE name = 'p'")).toEqual([]);
    await exec(node, `INSERT INTO kv (namespace, key, value) VALUES ('n', '${round}', '1')`);
  }
  expect(await node.call("token_get", [node.superToken])).toMatchObject({ username: "root" });
});

eachDatabase("what a statement changes counts for the very next call", async (kind) => {
  await using node = await testNode({ database: kind });
  const limits = [{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }];
  const token = await node.newToken(limits, { username: "alice", password: "incorrect horse" });
  const ask = () => node.send("node-server_get_database_type", { token });
  await using socket = await node.socket();
  const askThere = () => socket.call("node-server_get_database_type", { token: "alice|incorrect horse" });
  expect(await ask()).toHaveProperty("result");
  expect(await askThere()).toHaveProperty("result");
  const change = async (set: string) =>
    expect(await exec(node, `UPDATE token SET ${set} WHERE username = 'alice'`)).toMatchObject({
      row_count: 1,
    });
  await change("token_limit = '[]'");
  expect((await ask()).error?.data.reason).toBe("missing_permission");
  await change(`token_limit = '${JSON.stringify(limits)}', time_stamp_to = 1`);
  expect((await ask()).error?.data.reason).toBe("expired");
  await change("time_stamp_to = NULL, password_hash = NULL");
  expect(await ask()).toHaveProperty("result");
  expect((await askThere()).error?.data.reason).toBe("invalid_credentials");
  await exec(node, "DELETE FROM token WHERE username = 'alice'");
  expect((await ask()).error?.data.reason).toBe("invalid_credentials");
  await exec(node, "INSERT INTO monitoring_uuid (uuid) VALUES ('0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10')");
  expect(await node.call("agent-uuid_list_all", { token: node.superToken })).toEqual([
    "0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10",
  ]);
});

eachDatabase("a password hash that is none refuses like a wrong password", async (kind) => {
  await using node = await testNode({ database: kind });
  await exec(node, "UPDATE token SET password_hash = 'none' WHERE id = 1");
  expect(await node.refused("token_get", [`root|${node.rootPassword}`])).toMatchObject({
    code: 102,
    data: { reason: "invalid_credentials" },
  });
});

eachDatabase("what the server changes is seen by the next statement", async (kind) => {
  await using node = await testNode({ database: kind });
  for (const round of rounds) {
    await node.newToken([]);
    expect(await rows(node, "SELECT count(*) AS n FROM token")).toEqual([{ n: round + 2 }]);
  }
});

eachDatabase("running SQL and reading the kind of database are two permissions", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const holding = (scopes: unknown[], ...actions: string[]) =>
    node.newToken([{ scopes, permissions: actions.map((action) => ({ node: action })) }]);
  const runs = (token: string) => node.send("node-server_exec_sql", { token, sql: "SELECT 1 AS a" });
  const tells = (token: string) => node.send("node-server_get_database_type", { token });
  const denied = { code: 102, data: { reason: "missing_permission" } };
  const one = await holding(["global"], "exec_sql");
  expect((await runs(one)).result).toMatchObject({ success: true, data: [{ a: 1 }] });
  expect((await tells(one)).error).toMatchObject(denied);
  const other = await holding(["global"], "get_database_type");
  expect((await tells(other)).result).toEqual({ success: true, data: kind });
  expect((await runs(other)).error).toMatchObject(denied);
  const both = await holding(["global"], "exec_sql", "get_database_type");
  expect([(await runs(both)).error, (await tells(both)).error]).toEqual([undefined, undefined]);
  for (const scope of [{ static_bucket: "*" }, { db: "*" }, { agent_uuid: crypto.randomUUID() }]) {
    const narrow = await holding([scope], "exec_sql", "get_database_type");
    expect((await runs(narrow)).error).toMatchObject(denied);
    expect((await tells(narrow)).error).toMatchObject(denied);
  }
  // The permission of the `db` namespace is another one.
  const foreign = await node.newToken([{ scopes: ["global"], permissions: [{ db: "exec_sql" }] }]);
  expect((await runs(foreign)).error).toMatchObject(denied);
  for (const call of [runs, tells]) {
    expect((await call("no:body")).error).toMatchObject({
      code: 102,
      data: { reason: "invalid_credentials" },
    });
    expect((await call("nonsense")).error).toMatchObject({ code: 101 });
    expect(await call(`root|${node.rootPassword}`)).toHaveProperty("result.success", true);
  }
});

eachDatabase("without permission not even the statement's form is looked at", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }]);
  for (const sql of ["DROP TABLE token", "SELEC", ""]) {
    expect(await node.refused("node-server_exec_sql", { token, sql, params: {} })).toMatchObject({
      code: 102,
    });
  }
  expect(await node.call("token_get", { token })).toMatchObject({ token_key: token.split(":")[0] });
});

eachDatabase("a broken statement is told in the database's words, with its place", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const fails = async (sql: string) => {
    const { code, message, data } = await refusedSql(node, sql);
    expect({ code, kind: data.kind }).toEqual({ code: 103, kind: "DatabaseError" });
    const { position, line, column } = data;
    return { message, position, line, column };
  };
  const near = (word: string) =>
    `DatabaseError: ${kind === "sqlite" ? `near "${word}": syntax error` : `syntax error at or near "${word}"`}`;
  const noColumn = `DatabaseError: ${kind === "sqlite" ? "no such column: nope" : 'column "nope" does not exist'}`;
  expect(await fails("SELEC 1")).toEqual({ message: near("SELEC"), position: 1, line: 1, column: 1 });
  expect(await fails("SELECT id,\n  'ü',\n  nope FROM token")).toEqual({
    message: noColumn,
    position: 21,
    line: 3,
    column: 3,
  });
  expect(await fails("SELECT 1;\n -- two\n SELECT 2 FROM token WHERE nope = 1")).toEqual({
    message: noColumn,
    position: 46,
    line: 3,
    column: 28,
  });
});

eachDatabase("the place of an error counts as editors do, emoji included", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const sql = "SELECT '😀😀', nope FROM token";
  const { data } = await refusedSql(node, sql);
  expect(data).toMatchObject({ position: sql.indexOf("nope") + 1, column: sql.indexOf("nope") + 1, line: 1 });
});

eachDatabase("an error of running has no place to point at, and hurts nothing", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT UNIQUE, b INT NOT NULL)`);
  for (const [values, word] of [
    ["(1, 1), (1, 2)", /unique/i],
    ["(2, NULL)", /null/i],
  ] as const) {
    const error = await refusedSql(node, `INSERT INTO ${t} VALUES ${values}`);
    expect(error.code).toBe(103);
    expect(error.message).toMatch(word);
    expect(error.data.line).toBeUndefined();
  }
  expect(await rows(node, `SELECT * FROM ${t}`)).toEqual([]);
});
