import { expect, test } from "bun:test";
import { withoutValues } from "../../src/db/operator/statement-text.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { eachDatabase } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, refusedSql } from "../support/sql.ts";
import { until, within } from "../support/until.ts";

const sharedNode = sharedNodes();

eachDatabase("a statement of exec_sql is an event of the database, without its values", async (database) => {
  await using node = await sharedNode({ database });
  await using socket = await node.socket();
  const token = node.superToken;
  await socket.call("node-server_stream_log", { token, log_filter: "off,db=trace" });
  const table = node.own("logged").replaceAll(/\W/g, "_");
  const heard = async (marker: string) => {
    const found: LogEntry[] = [];
    await until("the statement is heard", async () => {
      const { params } = (await within("an event comes", socket.next())) as { params: { result: LogEntry } };
      if (/exec_sql/.test(params.result.message) || params.result.message.includes(marker))
        found.push(params.result);
      return params.result.message.includes(marker);
    });
    return found.map(({ target, level, message, fields }) => [target, level, message, fields]);
  };
  const placeholder = database === "sqlite" ? "?" : "$1";
  await exec(node, `CREATE TABLE ${table} (a TEXT, n INTEGER)`);
  await heard(table);
  await exec(node, `INSERT INTO ${table} (a, n) VALUES ('s3cret', 4711) -- s3cret`);
  expect(await heard(table)).toEqual([
    ["db", "DEBUG", "exec_sql succeeded", { elapsed_ms: expect.any(Number), rows: 1 }],
    ["db", "TRACE", `INSERT INTO ${table} (a, n) VALUES (?, ?)`, { elapsed_ms: expect.any(Number) }],
  ]);
  await exec(node, `SELECT a FROM ${table} WHERE a = ${placeholder}`, ["s3cret"]);
  expect(await heard(table)).toMatchObject([
    ["db", "DEBUG", "exec_sql succeeded", { rows: 1 }],
    ["db", "TRACE", `SELECT a FROM ${table} WHERE a = ${placeholder}`, {}],
  ]);
  await refusedSql(node, `SELECT nothing FROM ${table} WHERE a = 's3cret'`);
  expect(await heard(table)).toMatchObject([
    ["db", "DEBUG", "exec_sql failed", { kind: "DatabaseError" }],
    ["db", "TRACE", `SELECT nothing FROM ${table} WHERE a = ?`, {}],
  ]);
});

test("no spelling of a value gets into the logged text of a statement", () => {
  const both = [
    ["SELECT 'a''s3cret' , 1.5e3, x'00ff'", "SELECT ? , ?, x?"],
    ["SELECT t1.a FROM t1 /* s3cret */ WHERE b=-17", "SELECT t1.a FROM t1   WHERE b=-?"],
    ["SELECT 1 -- s3cret\n, 2", "SELECT ? \n, ?"],
    ["SELECT 'without an end s3cret", "SELECT ?"],
    [
      "UPDATE token SET password_hash = 's3cret'; DELETE FROM kv",
      "UPDATE token SET password_hash = ?; DELETE FROM kv",
    ],
  ];
  const sqlite = [
    ['SELECT "s3cret", "without an end s3cret', "SELECT ?, ?"],
    ["SELECT [it's], 's3cret'", "SELECT [it's], ?"],
    ["SELECT `it's`, e'a\\', 's3cret', ?1, :name", "SELECT `it's`, e?, ?, ?1, :name"],
    ["SELECT 1 /* s3cret", "SELECT ?"],
    ["SELECT [s3cret", "SELECT ?"],
  ];
  const postgres = [
    ["SELECT \"Name\", E'it\\'s s3cret', 's3cret'", 'SELECT "Name", ?, ?'],
    ["SELECT $tag$ s3cret' $tag$, $$s3cret$$, $1", "SELECT ?, ?, $1"],
    ["SELECT 1 /* a /* s3cret */ s3cret */ + 2", "SELECT ?   + ?"],
    ["SELECT E'without an end\\' s3cret", "SELECT ?"],
    ["SELECT $$ s3cret", "SELECT ?"],
    ['SELECT "s3cret', "SELECT ?"],
    ["SET standard_conforming_strings = off; SELECT 'it\\'s s3cret'", "?"],
  ];
  for (const [kind, cases] of [
    ["sqlite", [...both, ...sqlite]],
    ["postgres", [...both, ...postgres]],
  ] as const)
    for (const [sql = "", shown = ""] of cases) expect(withoutValues(sql, kind)).toBe(shown);
  const long = withoutValues(`SELECT '${"s3cret ".repeat(10_000)}'`, "sqlite");
  expect(long).toBe("SELECT ? …");
});
