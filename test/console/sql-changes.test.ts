import { expect, test } from "bun:test";
import fc from "fast-check";
import { countStatements, type Dialect, mayChange } from "../../src/console/pages/sql/model.ts";
import "./texts.ts";

const dialects: readonly Dialect[] = ["sqlite", "postgres"];
const dialect = fc.constantFrom(...dialects);

test("what only reads is run without asking", () => {
  for (const sql of [
    "SELECT * FROM token",
    "  -- DELETE all\n select 'drop table token; delete' as \"insert\"",
    "WITH a AS (SELECT 1) SELECT * FROM a;",
    "(SELECT 1) UNION (SELECT 2)",
    "VALUES (1), (2)",
    "SELECT replace(a, 'x', 'y') FROM t;; SELECT 2 /* ; DROP TABLE t */",
    "SELECT 1 FROM t FOR NO KEY UPDATE",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN QUERY PLAN SELECT 1",
    "EXPLAIN (ANALYZE, BUFFERS) SELECT 1",
    // Mistyped: the database answers with a syntax error.
    "selec 1",
    "SLECT * FROM token",
    "",
  ])
    for (const one of dialects) expect([sql, mayChange(sql, one)]).toEqual([sql, false]);
  for (const sql of ["PRAGMA table_info(token)", "PRAGMA main.journal_mode", "SELECT 1 AS [a;b], 2 AS `c;d`"])
    expect([sql, mayChange(sql, "sqlite")]).toEqual([sql, false]);
  for (const sql of [
    "SHOW work_mem",
    "SELECT $a$; DROP TABLE t; $$ $a$",
    "SELECT E'it\\'s; DROP TABLE t'",
    "/* a /* b */ ; DROP TABLE t */ SELECT 1",
  ])
    expect([sql, mayChange(sql, "postgres")]).toEqual([sql, false]);
});

test("what may change something is asked about first", () => {
  for (const sql of [
    "DELETE FROM token",
    "SELECT 1; DROP TABLE token",
    "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
    "SELECT * INTO copy FROM token",
    "EXPLAIN ANALYZE DELETE FROM t",
    "EXPLAIN (ANALYZE) UPDATE t SET a = 1",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version(5)",
    "PRAGMA wal_checkpoint",
    "ATTACH 'x' AS y",
    "BEGIN",
    "CREATE TABLE t (a)",
    "frobnicate",
    "SET a = 1",
    "selec 1; DELETE FROM token",
  ])
    for (const one of dialects) expect([sql, mayChange(sql, one)]).toEqual([sql, true]);
  expect(mayChange("SELECT E'a\\'' ; DROP TABLE t; --'", "postgres")).toBe(true);
  expect(mayChange("/* a /* b */ ; DROP TABLE t; -- */ SELECT 1", "sqlite")).toBe(true);
});

test("while the kind of database is unknown, a text must be harmless on both", () => {
  expect(mayChange("SELECT 1", undefined)).toBe(false);
  expect(mayChange("SELECT 1 AS [a;drop table t]", undefined)).toBe(true);
  expect(mayChange("/* a /* b */ ; DROP TABLE t; -- */ SELECT 1", undefined)).toBe(true);
});

test("a change is found whatever stands around it, and a word in a string or a comment is none", () => {
  const change = fc.constantFrom(
    "DELETE FROM t",
    "update t set a = 1",
    "Drop Table t",
    "INSERT INTO t VALUES (1)",
  );
  const gap = fc.constantFrom(" ", "\n", ";", "-- it's\n", '/* " */', " ; ");
  const harmless = fc.constantFrom("SELECT 1;", "SELECT 'a''b' AS \"c;d\";", "VALUES ('--');", "SELECT ';';");
  fc.assert(
    fc.property(
      dialect,
      fc.array(fc.oneof(gap, harmless)),
      change,
      fc.array(gap),
      (one, before, sql, after) => {
        expect(mayChange([...before, ";", sql, ...after].join(""), one)).toBe(true);
        const quoted = `SELECT '${sql}' /* ; ${sql} */ AS "${sql}" -- ; ${sql}`;
        expect(mayChange([...before, ";", quoted].join(""), one)).toBe(false);
      },
    ),
  );
});

test("any text is judged, and the end of the text ends what is open in it", () => {
  const pieces = fc.constantFrom(
    "'",
    '"',
    "`",
    "[",
    "]",
    "/*",
    "*/",
    "--",
    "$$",
    "$a$",
    "E'",
    "\\",
    "\n",
    ";",
    "select",
    "(",
  );
  fc.assert(
    fc.property(dialect, fc.array(pieces, { maxLength: 30 }), (one, parts) => {
      expect(typeof mayChange(parts.join(" "), one)).toBe("boolean");
    }),
  );
});

test("statements are counted, and a trigger is one with its body", () => {
  for (const [sql, count] of [
    ["", 0],
    ["SELECT ';'; -- ; a comment", 1],
    ["SELECT 1; SELECT 2;", 2],
    ["CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END;", 1],
    ["SELECT 1; CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END;", 2],
  ] as const)
    for (const one of dialects) expect([sql, countStatements(sql, one)]).toEqual([sql, count]);
});
