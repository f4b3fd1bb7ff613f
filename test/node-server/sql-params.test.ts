import { expect } from "bun:test";
import { bothDatabases, type DatabaseKind, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, execText, refusedSql, rows } from "../support/sql.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** The n-th placeholder. */
const mark = (kind: DatabaseKind, n: number) => (kind === "sqlite" ? "?" : `$${n}`);
const marks = (kind: DatabaseKind, count: number) =>
  Array.from({ length: count }, (_, at) => mark(kind, at + 1)).join(", ");

bothDatabases("params fill the placeholders, in every kind of statement", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  const [one, two] = [mark(kind, 1), mark(kind, 2)];
  await exec(node, `CREATE TABLE ${t} (id INT, name TEXT)`);
  expect(await exec(node, `INSERT INTO ${t} VALUES (${one}, ${two})`, [1, "O'Hara; --"])).toMatchObject({
    row_count: 1,
  });
  await exec(node, `INSERT INTO ${t} VALUES (${one}, ${two})`, [2, "other"]);
  expect(await rows(node, `SELECT name FROM ${t} WHERE id = ${one}`, [1])).toEqual([{ name: "O'Hara; --" }]);
  expect(await exec(node, `UPDATE ${t} SET name = ${one} WHERE id = ${two}`, ["new", 2])).toMatchObject({
    row_count: 1,
  });
  expect(await rows(node, `DELETE FROM ${t} WHERE name = ${one} RETURNING id`, ["new"])).toEqual([{ id: 2 }]);
  // A placeholder's look-alikes in texts and comments are none.
  expect(await rows(node, `SELECT '? $1' AS a /* ? $2 */ FROM ${t} WHERE id = ${one} -- ?`, [1])).toEqual([
    { a: "? $1" },
  ]);
  expect(await rows(node, `SELECT id FROM ${t}`, [])).toEqual([{ id: 1 }]);
  expect(await rows(node, `SELECT id FROM ${t}`, null)).toEqual([{ id: 1 }]);
});

bothDatabases("positional params of the call work as the named ones do", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const cast = kind === "sqlite" ? "?" : "$1::int";
  expect(await node.call("node-server_exec_sql", [node.superToken, `SELECT ${cast} AS a`, [5]])).toEqual({
    success: true,
    columns: ["a"],
    data: [{ a: 5 }],
    row_count: 1,
    truncated: false,
  });
});

test("numbered and named placeholders of SQLite are filled by position", async () => {
  await using node = await sharedNode();
  expect(await rows(node, "SELECT ?2 AS a, ?1 AS b, ?2 AS c", ["one", "two"])).toEqual([
    { a: "two", b: "one", c: "two" },
  ]);
  for (const [first, second] of [
    ["$1", "$2"],
    [":a", ":b"],
    ["@a", "@b"],
  ]) {
    expect(await rows(node, `SELECT ${first} AS a, ${second} AS b, ${first} AS c`, ["one", 2])).toEqual([
      { a: "one", b: 2, c: "one" },
    ]);
  }
});

test("a placeholder of PostgreSQL may stand twice", async () => {
  await using node = await sharedNode({ database: "postgres" });
  expect(await rows(node, "SELECT $2::text AS a, $1::int AS b, $2 || '!' AS c", [1, "two"])).toEqual([
    { a: "two", b: 1, c: "two!" },
  ]);
});

test("every JSON type binds on SQLite, with the storage class one would expect", async () => {
  await using node = await sharedNode();
  const t = node.own("t");
  const given = [null, true, false, 0, -5, 1.5, 1e300, "", "ü😀\n\u0001", ["a", null, 1], { a: { b: [] } }];
  await exec(node, `CREATE TABLE ${t} (v)`);
  for (const value of given) await exec(node, `INSERT INTO ${t} VALUES (?)`, [value]);
  expect(await rows(node, `SELECT v, typeof(v) AS type FROM ${t} ORDER BY rowid`)).toEqual([
    { v: null, type: "null" },
    { v: 1, type: "integer" },
    { v: 0, type: "integer" },
    { v: 0, type: "integer" },
    { v: -5, type: "integer" },
    { v: 1.5, type: "real" },
    { v: 1e300, type: "real" },
    { v: "", type: "text" },
    { v: "ü😀\n\u0001", type: "text" },
    { v: '["a",null,1]', type: "text" },
    { v: '{"a":{"b":[]}}', type: "text" },
  ]);
});

test("every JSON type binds on PostgreSQL, as the type that the placeholder stands for", async () => {
  await using node = await sharedNode({ database: "postgres" });
  const cases: Array<[type: string, given: unknown, comesBack?: unknown]> = [
    ["boolean", true],
    ["boolean", null],
    ["int", -5],
    ["smallint", 7],
    ["float8", 1.5],
    ["float8", 1e300],
    ["numeric", 1.25, "1.25"],
    ["numeric", "123456789012345678901234567890.5"],
    ["text", "ü😀\n\u0001"],
    ["text", "", ""],
    ["text", 5, "5"],
    ["text", { a: [1] }, '{"a":[1]}'],
    ["varchar(3)", "abc"],
    ["uuid", "0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"],
    ["date", "2026-11-15"],
    ["timestamptz", "2026-11-15T04:03:04.5+02:00", "2026-11-15T02:03:04.5+00:00"],
    ["jsonb", { a: [1, null, "x"] }],
    ["jsonb", [1, { b: 2 }]],
    ["jsonb", "text"],
    ["jsonb", true],
    ["jsonb", 5],
    ["json", []],
    ["int[]", [1, null, 3]],
    ["int[]", []],
    [
      "int[]",
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["text[]", ['a"b', "c,d", "{e}", "\\", "", "NULL", null, " x "]],
    ["float8[]", [1.5, null]],
    ["boolean[]", [true, false]],
    ["jsonb[]", [{ a: [1] }, "x", 5]],
    ["uuid[]", ["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"]],
    ["interval[]", ["P1D", null]],
  ];
  for (const [type, given, back = given] of cases) {
    const data = await rows(node, `SELECT $1::${type} AS v`, [given]);
    expect({ type, data }).toEqual({ type, data: [{ v: back }] });
  }
});

bothDatabases("integers keep all 64 bits, in and out", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a BIGINT)`);
  const numbers = [
    "9223372036854775807",
    "-9223372036854775808",
    "9007199254740993",
    "-9007199254740993",
    "9007199254740992",
    "1234567890123456789",
    "42",
  ];
  for (const number of numbers)
    expect(await execText(node, `INSERT INTO ${t} VALUES (${mark(kind, 1)})`, `[${number}]`)).toContain(
      '"row_count":1',
    );
  const text = await execText(node, `SELECT a FROM ${t}`);
  expect(text).toContain(`"data":[${numbers.map((number) => `{"a":${number}}`).join(",")}]`);
  const found = await execText(
    node,
    `SELECT count(*) AS n FROM ${t} WHERE a = ${mark(kind, 1)}`,
    "[9007199254740993]",
  );
  expect(found).toContain('"data":[{"n":1}]');
});

bothDatabases("an integer beyond 64 bits is refused, not bent", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a BIGINT)`);
  for (const number of ["9223372036854775808", "-9223372036854775809", "1".repeat(30)]) {
    const text = await execText(node, `INSERT INTO ${t} VALUES (${mark(kind, 1)})`, `[${number}]`);
    expect(text).toMatch(/"error":\{"code":(103|108),/);
  }
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
});

bothDatabases("integers within arrays and objects keep their digits too", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const [given, type] = ['{"a":[9007199254740993,1]}', kind === "sqlite" ? "" : "::json"];
  const text = await execText(node, `SELECT ${mark(kind, 1)}${type} AS v`, `[${given}]`);
  expect(text.replaceAll('\\"', '"')).toContain("[9007199254740993,1]");
});

test("a PostgreSQL array of 64-bit integers binds exactly", async () => {
  await using node = await sharedNode({ database: "postgres" });
  const text = await execText(node, "SELECT $1::int8[] AS v", "[[9007199254740993,null,-1]]");
  expect(text).toContain('"v":[9007199254740993,null,-1]');
});

bothDatabases("params that are no array are invalid input, and nothing runs", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  for (const params of [{}, { a: 1 }, "1", 1, true, false, 0, ""]) {
    const error = await refusedSql(node, `INSERT INTO ${t} VALUES (1)`, params);
    expect(error).toMatchObject({ code: 108, data: { kind: "InvalidInput", field: "params" } });
  }
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
});

bothDatabases("too few or too many params are refused before the statement runs", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT, b INT)`);
  const insert = `INSERT INTO ${t} VALUES (${marks(kind, 2)})`;
  for (const params of [[], [1], [1, 2, 3]]) {
    const error = await refusedSql(node, insert, params);
    expect(error).toMatchObject({ code: 108, data: { field: "params" } });
  }
  expect(await refusedSql(node, "SELECT 1", [1])).toMatchObject({ code: 108 });
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
});

bothDatabases("placeholders without any params are refused, not taken for NULL", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  expect(await refusedSql(node, `INSERT INTO ${t} VALUES (${mark(kind, 1)})`)).toMatchObject({
    code: 108,
    data: { field: "params" },
  });
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
});

bothDatabases("params go with a single statement, a closing semicolon or comment aside", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  const insert = `INSERT INTO ${t} VALUES (${mark(kind, 1)})`;
  for (const sql of [`${insert}; SELECT 1`, `SELECT 1; ${insert}`, `${insert}; ${insert}`]) {
    const error = await refusedSql(node, sql, [1]);
    expect(error).toMatchObject({ code: 108, data: { field: "params" } });
  }
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
  expect(await exec(node, `${insert}; -- ; done\n ; /* really */`, [1])).toMatchObject({ row_count: 1 });
});

bothDatabases("a value that the column cannot take is the database's own error", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT CHECK (a < 10))`);
  expect(await refusedSql(node, `INSERT INTO ${t} VALUES (${mark(kind, 1)})`, [11])).toMatchObject({
    code: 103,
    message: expect.stringMatching(/check/i),
  });
  if (kind === "postgres") {
    expect(await refusedSql(node, "SELECT $1::int AS a", ["one"])).toMatchObject({
      code: 103,
      data: { sqlstate: "22P02" },
    });
  }
});

bothDatabases("no param is written into the log", async (kind) => {
  await using node = await testNode({ database: kind, logging: 'memory_log_filter = "trace"' });
  const secret = "a-very-secret-value";
  await exec(node, `SELECT CAST(${mark(kind, 1)} AS TEXT) AS a`, [secret]);
  await refusedSql(node, `SELEC ${mark(kind, 1)}`, [secret]);
  const log = JSON.stringify(node.node.ring.entries());
  expect(log).toContain("node-server::exec_sql");
  expect(log).not.toContain(secret);
});
