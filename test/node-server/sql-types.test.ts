import { expect } from "bun:test";
import { bothDatabases, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, execText, rows } from "../support/sql.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** One value each: how it is written in SQL, and the JSON text that comes back. */
type Table = ReadonlyArray<readonly [sql: string, json: string]>;

async function shows(node: Awaited<ReturnType<typeof testNode>>, table: Table): Promise<void> {
  const wrong: unknown[] = [];
  for (const [sql, json] of table) {
    const text = await execText(node, `SELECT ${sql} AS v`);
    const found = /"data":\[\{"v":(.*)\}\],"row_count":1,/.exec(text)?.[1] ?? text;
    if (found !== json) wrong.push({ sql, expected: json, found });
  }
  expect(wrong).toEqual([]);
}

test("each kind of value in SQLite comes back as decided", async () => {
  await using node = await sharedNode();
  await shows(node, [
    ["NULL", "null"],
    ["0", "0"],
    ["-1", "-1"],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["1.5", "1.5"],
    ["0.1 + 0.2", "0.30000000000000004"],
    ["1e300", "1e+300"],
    ["1e999", '"Infinity"'],
    ["-1e999", '"-Infinity"'],
    ["'text'", '"text"'],
    ["''", '""'],
    [`'a"\\'`, '"a\\"\\\\"'],
    ["'ü😀'", '"ü😀"'],
    ["char(10, 9, 1)", '"\\n\\t\\u0001"'],
    ["'1'", '"1"'],
    ["x'00ff10'", '"AP8Q"'],
    ["x''", '""'],
    ["zeroblob(3)", '"AAAA"'],
    ["1 = 1", "1"],
    ["date('2026-11-15')", '"2026-11-15"'],
    ["datetime('2026-11-15 02:03:04')", '"2026-11-15 02:03:04"'],
    [`json('{"a": 1}')`, JSON.stringify('{"a":1}')],
  ]);
});

test("a SQLite column that is declared boolean holds booleans", async () => {
  await using node = await testNode();
  await exec(node, "CREATE TABLE t (a BOOLEAN, b bool, c INTEGER, d TEXT)");
  await exec(node, "INSERT INTO t VALUES (1, 0, 1, '1'), (NULL, 7, 0, NULL), ('yes', true, false, true)");
  expect(await rows(node, "SELECT a, b, c, d FROM t")).toEqual([
    { a: true, b: false, c: 1, d: "1" },
    { a: null, b: 7, c: 0, d: null },
    { a: "yes", b: true, c: 0, d: "1" },
  ]);
  await exec(node, "INSERT INTO monitoring_uuid (uuid) VALUES ('u')");
  expect(await rows(node, "SELECT uuid, soft_delete FROM monitoring_uuid")).toEqual([
    { uuid: "u", soft_delete: false },
  ]);
});

test("SQLite text that is not UTF-8 does no harm", async () => {
  await using node = await sharedNode();
  expect(await rows(node, "SELECT CAST(x'61ff62' AS TEXT) AS v, 1 AS after")).toEqual([
    { v: "a\ufffdb", after: 1 },
  ]);
});

test("each type of PostgreSQL comes back as decided", async () => {
  await using node = await sharedNode({ database: "postgres" });
  await exec(
    node,
    "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (a int, b text); CREATE DOMAIN small AS int CHECK (VALUE < 10)",
  );
  await shows(node, [
    ["NULL", "null"],
    ["true", "true"],
    ["false", "false"],
    ["7::int2", "7"],
    ["-7::int4", "-7"],
    ["9223372036854775807::int8", "9223372036854775807"],
    ["(-9223372036854775808)::int8", "-9223372036854775808"],
    ["4294967295::oid", "4294967295"],
    ["1.5::float8", "1.5"],
    ["(0.1::float8 + 0.2::float8)", "0.30000000000000004"],
    ["1.1::float4", "1.1"],
    ["1e300::float8", "1e+300"],
    ["'NaN'::float8", '"NaN"'],
    ["'-Infinity'::float8", '"-Infinity"'],
    ["1.10::numeric", '"1.10"'],
    ["123456789012345678901234567890.123456789::numeric", '"123456789012345678901234567890.123456789"'],
    ["'NaN'::numeric", '"NaN"'],
    [`'a"\\'::text`, '"a\\"\\\\"'],
    ["'ü😀'::varchar", '"ü😀"'],
    ["'a'::char(3)", '"a  "'],
    ["'name'::name", '"name"'],
    ["'\\x00ff10'::bytea", '"AP8Q"'],
    ["''::bytea", '""'],
    ["'2026-11-15'::date", '"2026-11-15"'],
    ["'02:03:04.5'::time", '"02:03:04.5"'],
    ["'2026-11-15 02:03:04'::timestamp", '"2026-11-15T02:03:04"'],
    ["'2026-11-15 02:03:04.123456'::timestamp", '"2026-11-15T02:03:04.123456"'],
    ["'2026-11-15 02:03:04.5+02'::timestamptz", '"2026-11-15T00:03:04.5+00:00"'],
    ["'infinity'::timestamptz", '"infinity"'],
    ["'P1Y2M3DT4H5M6.5S'::interval", '"P1Y2M3DT4H5M6.5S"'],
    ["'0B6C9C0E-6D0C-4A86-8A55-2F4F7F1F6F10'::uuid", '"0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"'],
    [`'{"b": [1, null], "a": "x"}'::jsonb`, '{"a": "x", "b": [1, null]}'],
    [`'{"b":1,  "b":12345678901234567890}'::json`, '{"b":1,  "b":12345678901234567890}'],
    ["'null'::jsonb", "null"],
    [`'"text"'::jsonb`, '"text"'],
    ["'10.0.0.1/8'::inet", '"10.0.0.1/8"'],
    ["'1 day'::interval", '"P1D"'],
    ["B'101'", '"101"'],
    ["int4range(1, 5)", '"[1,5)"'],
    ["point(1, 2)", '"(1,2)"'],
    ["'ok'::mood", '"ok"'],
    ["ROW(1, 'x')::pair", '"(1,x)"'],
    ["5::small", "5"],
  ]);
});

test("PostgreSQL arrays come back as arrays of what they hold", async () => {
  await using node = await sharedNode({ database: "postgres" });
  await exec(node, "CREATE TYPE weather AS ENUM ('sad', 'ok')");
  await shows(node, [
    ["'{}'::int[]", "[]"],
    ["ARRAY[1, NULL, 3]", "[1,null,3]"],
    ["ARRAY[[1, 2], [3, 4]]", "[[1,2],[3,4]]"],
    ["'[0:1]={7,8}'::int[]", "[7,8]"],
    ["ARRAY[9007199254740993::int8]", "[9007199254740993]"],
    ["ARRAY[true, false]", "[true,false]"],
    ["ARRAY[1.5::float8, 'NaN']", '[1.5,"NaN"]'],
    ["ARRAY[1.10::numeric]", '["1.10"]'],
    [
      `ARRAY['a', 'b c', 'd"e', 'f\\g', 'h,i', '{j}', '', 'NULL', NULL]`,
      '["a","b c","d\\"e","f\\\\g","h,i","{j}","","NULL",null]',
    ],
    ["ARRAY['a']::varchar[]", '["a"]'],
    [`ARRAY['{"a": [1]}'::jsonb, 'null'::jsonb, NULL]`, '[{"a": [1]},null,null]'],
    ["ARRAY['\\x00ff'::bytea]", '["AP8="]'],
    ["ARRAY['2026-11-15 02:03:04+00'::timestamptz]", '["2026-11-15T02:03:04+00:00"]'],
    ["ARRAY['0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10'::uuid]", '["0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10"]'],
    ["ARRAY['ok'::weather]", '["ok"]'],
    ["ARRAY['1 day'::interval]", '["P1D"]'],
    ["ARRAY['2026-11-15'::date]", '["2026-11-15"]'],
    ["ARRAY[E'a\\nb']", '["a\\nb"]'],
  ]);
});

test("a PostgreSQL array that is not parted by commas comes back right too", async () => {
  await using node = await sharedNode({ database: "postgres" });
  await shows(node, [["ARRAY[box '(1,1),(0,0)', box '(2,2),(0,0)']", '["(1,1),(0,0)","(2,2),(0,0)"]']]);
});

test("a PostgreSQL array of a domain holds what the domain is made of", async () => {
  await using node = await sharedNode({ database: "postgres" });
  await exec(node, "CREATE DOMAIN tiny AS int");
  await shows(node, [["ARRAY[1, 2]::tiny[]", "[1,2]"]]);
});

test("settings of the same call do not change how PostgreSQL's values are read", async () => {
  await using node = await sharedNode({ database: "postgres" });
  expect(await rows(node, "SET bytea_output = 'escape'; SELECT 'abc'::bytea AS v")).toEqual([{ v: "YWJj" }]);
  expect(
    await rows(node, "SET timezone = 'Asia/Kolkata'; SELECT '2026-11-15 00:00+00'::timestamptz AS v"),
  ).toEqual([{ v: "2026-11-15T05:30:00+05:30" }]);
});

bothDatabases("columns of the same name are numbered, so that none hides another", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const text = await execText(node, "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS b, 5 AS a");
  expect(text).toContain('"data":[{"a":1,"a_2":2,"a_2_2":3,"b":4,"a_3":5}]');
  const joined = "SELECT * FROM (SELECT 1 AS id) x JOIN (SELECT 1 AS id) y ON x.id = y.id";
  expect(await rows(node, joined)).toEqual([{ id: 1, id_2: 1 }]);
});

bothDatabases("any name of a column comes back, in the order of the statement", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const names = ["__proto__", "constructor", "10", "9", 'a"b', "weiß", " ", "toString"];
  const list = names.map((name, at) => `${at} AS "${name.replaceAll('"', '""')}"`).join(", ");
  const text = await execText(node, `SELECT ${list}`);
  const expected = names.map((name, at) => `${JSON.stringify(name)}:${at}`).join(",");
  expect(text).toContain(`"data":[{${expected}}]`);
});
