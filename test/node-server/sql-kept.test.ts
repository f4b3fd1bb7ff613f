import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { eachDatabase, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, execText, refusedSql, rows, series } from "../support/sql.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** On SQLite the first call opens a connection, the second one prepares the statement there, the third one finds it prepared. */
const calls = [1, 2, 3];

test("a query has the same answer on a new connection and on a used one, whatever the values", async () => {
  await using node = await sharedNode();
  for (const [sql, json] of [
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["9007199254740993", "9007199254740993"],
    ["1e999", '"Infinity"'],
    ["-1e999", '"-Infinity"'],
    ["1e999 - 1e999", "null"],
    ["x'00ff10'", '"AP8Q"'],
    ["zeroblob(3)", '"AAAA"'],
    [`json('{"a": [1, {"b": null}]}')`, JSON.stringify('{"a":[1,{"b":null}]}')],
    ["char(0)", '"\\u0000"'],
    ["'a' || char(0) || 'b'", '"a\\u0000b"'],
    ["char(55296)", '"\ufffd\ufffd\ufffd"'],
    ["CAST(x'61ff62' AS TEXT)", '"a\ufffdb"'],
    ["'ü😀'", '"ü😀"'],
  ] as const) {
    const answers = [];
    for (const _ of calls) answers.push(await execText(node, `SELECT ${sql} AS v`));
    expect({ sql, answers: new Set(answers).size }).toEqual({ sql, answers: 1 });
    expect({ sql, answer: answers[0] }).toEqual({ sql, answer: expect.stringContaining(`[{"v":${json}}]`) });
  }
});

test("params of a prepared query are those of the call", async () => {
  await using node = await sharedNode();
  for (const value of [
    1,
    "text",
    null,
    true,
    "9007199254740993",
    '"\\ud800"',
    '"a\\u0000b"',
    [1, { a: null }],
  ]) {
    const json = typeof value === "string" && /^["\d]/.test(value) ? value : JSON.stringify(value);
    const first = await execText(node, "SELECT ?2 AS a, ?1 AS b", `[${json}, 7]`);
    const again = await execText(node, "SELECT ?2 AS a, ?1 AS b", `[${json}, 7]`);
    expect(again).toBe(first);
    expect(first).toContain('"data":[{"a":7,"b":');
  }
  expect(await refusedSql(node, "SELECT ?2 AS a, ?1 AS b", [1])).toMatchObject({ data: { field: "params" } });
  expect(await rows(node, "SELECT ?2 AS a, ?1 AS b", [1, 2])).toEqual([{ a: 2, b: 1 }]);
});

eachDatabase("a query that was run before has the columns that its table has now", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  /** On SQLite by another process's connection: a change by the same one would close it. */
  const change = async (sql: string) => {
    if (kind === "postgres") return void (await exec(node, sql));
    using file = new Database(join(node.folder, "data", "node.db"));
    file.run(sql);
  };
  const all = `SELECT * FROM ${t}`;
  await change(`CREATE TABLE ${t} (a INT); INSERT INTO ${t} VALUES (1)`);
  for (const _ of calls) expect(await rows(node, all)).toEqual([{ a: 1 }]);
  await change(`ALTER TABLE ${t} ADD COLUMN b BOOLEAN DEFAULT true`);
  for (const _ of calls) expect(await rows(node, all)).toEqual([{ a: 1, b: true }]);
  await change(`ALTER TABLE ${t} DROP COLUMN a`);
  for (const _ of calls) expect(await rows(node, all)).toEqual([{ b: true }]);
  await change(`DROP TABLE ${t}`);
  for (const _ of calls) expect((await refusedSql(node, all)).code).toBe(103);
  await change(`CREATE TABLE ${t} (z TEXT); INSERT INTO ${t} VALUES ('new')`);
  for (const _ of calls) expect(await rows(node, all)).toEqual([{ z: "new" }]);
});

test("no counter of a call is there in the next", async () => {
  await using node = await sharedNode();
  const t = node.own("t");
  const counters = "SELECT changes() AS a, total_changes() AS b, last_insert_rowid() AS c";
  await exec(node, `CREATE TABLE ${t} (a INTEGER PRIMARY KEY)`);
  for (const change of [
    `INSERT INTO ${t} VALUES (7)`,
    `WITH w AS (SELECT 8 AS n) INSERT INTO ${t} SELECT n FROM w`,
    `WITH w AS (SELECT 9 AS n) INSERT INTO ${t} SELECT n FROM w RETURNING a`,
    `DELETE FROM ${t} RETURNING a`,
  ]) {
    for (const _ of calls) expect(await rows(node, counters)).toEqual([{ a: 0, b: 0, c: 0 }]);
    await exec(node, change);
  }
  expect(await rows(node, counters)).toEqual([{ a: 0, b: 0, c: 0 }]);
});

test("a query leaves no lock and no old view of the file behind, also if it was cut short", async () => {
  await using node = await testNode();
  using file = new Database(join(node.folder, "data", "node.db"));
  for (const sql of [
    "SELECT count(*) AS n FROM token",
    `SELECT n, (SELECT count(*) FROM token) AS t FROM ${series("sqlite", 20_000)}`,
    `WITH w AS (SELECT count(*) AS n FROM token) SELECT n FROM w`,
  ]) {
    for (const _ of calls) {
      await exec(node, sql);
      await node.newToken([]);
      expect(file.query("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
    }
  }
  expect(await rows(node, "SELECT count(*) AS n FROM token")).toEqual([{ n: 10 }]);
});
