import { expect } from "bun:test";
import { join } from "node:path";
import { bothDatabases, type DatabaseKind, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { exec, refusedSql, rows, series } from "../support/sql.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** What a statement without rows to show answers. */
const affected = (row_count: number) => ({
  success: true,
  columns: [] as string[],
  data: [],
  row_count,
  truncated: false,
});
const shows = (...data: Record<string, unknown>[]) => ({
  success: true,
  columns: Object.keys(data[0] ?? {}),
  data,
  row_count: data.length,
  truncated: false,
});
const idColumn = (kind: DatabaseKind) => (kind === "sqlite" ? "INTEGER PRIMARY KEY" : "SERIAL PRIMARY KEY");

bothDatabases("a SELECT answers its rows, everything else how many rows it changed", async (kind) => {
  await using node = await testNode({ database: kind });
  expect(await exec(node, `CREATE TABLE fruit (id ${idColumn(kind)}, name TEXT, n INT)`)).toEqual(
    affected(0),
  );
  expect(await exec(node, "INSERT INTO fruit (name, n) VALUES ('fig', 1), ('pear', 2), ('plum', 3)")).toEqual(
    affected(3),
  );
  expect(await exec(node, "UPDATE fruit SET n = n + 1 WHERE n > 1")).toEqual(affected(2));
  expect(await exec(node, "UPDATE fruit SET n = 0 WHERE n > 100")).toEqual(affected(0));
  expect(await exec(node, "SELECT id, name, n FROM fruit ORDER BY id")).toEqual(
    shows({ id: 1, name: "fig", n: 1 }, { id: 2, name: "pear", n: 3 }, { id: 3, name: "plum", n: 4 }),
  );
  expect(await exec(node, "SELECT id FROM fruit WHERE n > 100")).toEqual({ ...shows(), columns: ["id"] });
  expect(await exec(node, "DELETE FROM fruit WHERE name <> 'fig'")).toEqual(affected(2));
  expect(await exec(node, "ALTER TABLE fruit RENAME TO fruits")).toEqual(affected(0));
  expect(await exec(node, "CREATE INDEX by_name ON fruits (name)")).toEqual(affected(0));
  expect(await exec(node, "CREATE VIEW seen AS SELECT name FROM fruits")).toEqual(affected(0));
  expect(await exec(node, "SELECT * FROM seen")).toEqual(shows({ name: "fig" }));
  expect(await exec(node, "DROP VIEW seen; DROP TABLE fruits")).toEqual(affected(0));
  expect(await exec(node, "VACUUM")).toEqual(affected(0));
});

bothDatabases("a statement that returns what it changed shows the rows and counts them all", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const fruit = node.own("fruit");
  await exec(node, `CREATE TABLE ${fruit} (name TEXT UNIQUE, n INT)`);
  const insert = `INSERT INTO ${fruit} VALUES ('fig', 1), ('pear', 2) RETURNING name, n * 10 AS tens`;
  expect(await exec(node, insert)).toEqual(shows({ name: "fig", tens: 10 }, { name: "pear", tens: 20 }));
  expect(await exec(node, `UPDATE ${fruit} SET n = 9 WHERE n = 2 RETURNING name`)).toEqual(
    shows({ name: "pear" }),
  );
  expect(await exec(node, `UPDATE ${fruit} SET n = 9 WHERE n = 77 RETURNING name`)).toEqual({
    ...shows(),
    columns: ["name"],
  });
  const upsert = `WITH given(name, n) AS (VALUES ('fig', 5)) INSERT INTO ${fruit} SELECT name, n FROM given WHERE true ON CONFLICT (name) DO UPDATE SET n = excluded.n RETURNING n`;
  expect(await exec(node, upsert)).toEqual(shows({ n: 5 }));
  expect(await exec(node, `DELETE FROM ${fruit} WHERE name = 'pear' RETURNING *`)).toEqual(
    shows({ name: "pear", n: 9 }),
  );
  expect(await exec(node, `DELETE FROM ${fruit}`)).toEqual(affected(1));
  expect(await rows(node, `SELECT * FROM ${fruit}`)).toEqual([]);
});

bothDatabases("VALUES, WITH and EXPLAIN answer rows", async (kind) => {
  await using node = await testNode({ database: kind });
  expect(await exec(node, "VALUES (1, 'a'), (2, 'b')")).toEqual(
    shows({ column1: 1, column2: "a" }, { column1: 2, column2: "b" }),
  );
  expect(await exec(node, "WITH two AS (SELECT 2 AS n) SELECT n + 1 AS three FROM two")).toEqual(
    shows({ three: 3 }),
  );
  expect(await exec(node, `SELECT sum(n) AS total FROM ${series(kind, 100)}`)).toEqual(
    shows({ total: 5050 }),
  );
  const explain = kind === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN";
  const plan = await exec(node, `${explain} SELECT * FROM token WHERE id = 1`);
  expect(plan.row_count).toBeGreaterThan(0);
  expect(JSON.stringify(plan.data)).toContain("token");
  await exec(node, `EXPLAIN INSERT INTO monitoring_uuid (uuid) VALUES ('${crypto.randomUUID()}')`);
  expect(await rows(node, "SELECT * FROM monitoring_uuid")).toEqual([]);
});

test("PRAGMA answers rows where it has something to tell, and sets where it sets", async () => {
  await using node = await testNode();
  expect(await rows(node, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  expect(await rows(node, "PRAGMA foreign_keys")).toEqual([{ foreign_keys: 1 }]);
  const columns = await rows(node, "PRAGMA table_info(kv)");
  expect(columns.map(({ name }) => name)).toEqual(["id", "namespace", "key", "value"]);
  expect(await exec(node, "PRAGMA user_version = 7")).toEqual(affected(0));
  expect(await rows(node, "PRAGMA user_version")).toEqual([{ user_version: 7 }]);
  expect(await rows(node, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
});

test("SQLite's full reach is there: a statement can attach and fill another file", async () => {
  await using node = await sharedNode();
  const file = join(node.folder, "other.db");
  const sql = `ATTACH '${file}' AS other; CREATE TABLE other.t (a); INSERT INTO other.t VALUES (5); SELECT a FROM other.t`;
  expect(await rows(node, sql)).toEqual([{ a: 5 }]);
  expect(await Bun.file(file).exists()).toBe(true);
});

test("PostgreSQL's own statements run: SHOW, DO, CALL, VACUUM, an index built beside the traffic", async () => {
  await using node = await testNode({ database: "postgres" });
  expect((await rows(node, "SHOW server_encoding"))[0]).toEqual({ server_encoding: "UTF8" });
  expect(await exec(node, "DO $$ BEGIN RAISE NOTICE 'a;b'; END $$")).toEqual(affected(0));
  await exec(
    node,
    "CREATE PROCEDURE fill() LANGUAGE sql AS $$ INSERT INTO kv (namespace, key, value) VALUES ('a', 'b', '1') $$",
  );
  expect(await exec(node, "CALL fill()")).toEqual(affected(0));
  expect(await exec(node, "CREATE INDEX CONCURRENTLY later ON kv (value)")).toEqual(affected(0));
  expect(await exec(node, "CREATE TABLE copied AS SELECT * FROM kv WHERE namespace = 'a'")).toEqual(
    affected(1),
  );
  expect(await rows(node, "MERGE INTO kv USING copied c ON kv.id = c.id WHEN MATCHED THEN DELETE")).toEqual(
    [],
  );
  expect(await rows(node, "SELECT id FROM kv WHERE namespace = 'a'")).toEqual([]);
  for (const copy of ["COPY kv FROM STDIN", "COPY kv TO STDOUT"]) {
    expect((await refusedSql(node, copy)).message).toContain("COPY");
    expect(await rows(node, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  }
});

bothDatabases("several statements run in order, and the last one's result is answered", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  const sql = `CREATE TABLE ${t} (a INT); INSERT INTO ${t} VALUES (1), (2);; SELECT 'no'; SELECT sum(a) AS sum FROM ${t};\n`;
  expect(await exec(node, sql)).toEqual(shows({ sum: 3 }));
  expect(await exec(node, `SELECT a FROM ${t}; UPDATE ${t} SET a = a + 1`)).toEqual(affected(2));
  expect(await exec(node, `INSERT INTO ${t} VALUES (9); DROP TABLE ${t}`)).toEqual(affected(0));
});

bothDatabases("a statement that fails ends the run, and what stood before it is kept", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  const error = await refusedSql(
    node,
    `INSERT INTO ${t} VALUES (1); INSERT INTO nowhere VALUES (1); INSERT INTO ${t} VALUES (2)`,
  );
  expect(error).toMatchObject({ code: 103, message: expect.stringContaining("nowhere") });
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([{ a: 1 }]);
});

bothDatabases("semicolons in texts, names and comments part nothing", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const sql = `-- one; two
    /* three; 'four */ SELECT ';' AS "a;b", 'it''s; so' AS c /* ; */ -- ; last
    ; -- done;
    /* and; never closed`;
  expect(await rows(node, sql)).toEqual([{ "a;b": ";", c: "it's; so" }]);
  expect(await rows(node, "/* ; */ ; SELECT 1 AS a -- ; SELECT 2 AS a")).toEqual([{ a: 1 }]);
});

test("the body of a SQLite trigger is one statement", async () => {
  await using node = await sharedNode();
  const log = node.own("log");
  const t = node.own("t");
  await exec(
    node,
    `CREATE TABLE ${t} (a); CREATE TABLE ${log} (a);
     CREATE TRIGGER watch AFTER INSERT ON ${t} BEGIN
       INSERT INTO ${log} VALUES (new.a); -- once;
       INSERT INTO ${log} VALUES (CASE WHEN new.a > 1 THEN 'big;' ELSE 'small;' END);
     END;
     CREATE TRIGGER also AFTER DELETE ON ${t} BEGIN DELETE FROM ${log}; END`,
  );
  // What the trigger changes is not counted: the caller's statement changed two rows.
  expect(await exec(node, `INSERT INTO ${t} VALUES (1), (2)`)).toEqual(affected(2));
  expect((await rows(node, `SELECT a FROM ${log} ORDER BY rowid`)).map(({ a }) => a)).toEqual([
    1,
    "small;",
    2,
    "big;",
  ]);
});

test("PostgreSQL's bodies are one statement: dollar quotes, BEGIN ATOMIC, escapes", async () => {
  await using node = await sharedNode({ database: "postgres" });
  const sql = `CREATE FUNCTION a() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 2; END; $$;
    CREATE FUNCTION b() RETURNS text LANGUAGE plpgsql AS $body$ BEGIN RETURN $$;$$ || 'x;'; END; $body$;
    SELECT a() AS a, b() AS b`;
  expect(await rows(node, sql)).toEqual([{ a: 2, b: ";x;" }]);
  const atomic = `CREATE FUNCTION d(n int) RETURNS int LANGUAGE sql
      BEGIN ATOMIC
        SELECT CASE WHEN n > 1 THEN 1 ELSE CASE WHEN n > 0 THEN 2 END END;
        SELECT n * 10;
      END; SELECT d(4) AS d`;
  expect(await rows(node, atomic)).toEqual([{ d: 40 }]);
  const quotes = `SELECT E'a\\';b' AS a, e'\\\\' AS b, $x$;$y$;$x$ AS c, /* /* ; */ ; */ U&'\\0061;' AS d; `;
  expect(await rows(node, quotes)).toEqual([{ a: "a';b", b: "\\", c: ";$y$;", d: "a;" }]);
  expect(await rows(node, 'SELECT $$a$b;$$ AS a, 1 AS b$c, 2 AS "x"";"')).toEqual([
    { a: "a$b;", b$c: 1, 'x";': 2 },
  ]);
});

test("a PostgreSQL rule with several commands in parentheses is one statement", async () => {
  await using node = await sharedNode({ database: "postgres" });
  const log = node.own("log");
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT); CREATE TABLE ${log} (a INT)`);
  await exec(
    node,
    `CREATE RULE twice AS ON INSERT TO ${t} DO ALSO (INSERT INTO ${log} VALUES (1); INSERT INTO ${log} VALUES (2))`,
  );
  await exec(node, `INSERT INTO ${t} VALUES (0)`);
  expect(await rows(node, `SELECT a FROM ${log} ORDER BY a`)).toEqual([{ a: 1 }, { a: 2 }]);
});

bothDatabases("where there is no statement, that is said", async (kind) => {
  await using node = await sharedNode({ database: kind });
  for (const sql of ["", "  \n", ";", " ; -- nothing\n /* at; all */ ;"]) {
    expect(await refusedSql(node, sql)).toMatchObject({ code: 108, data: { field: "sql" } });
  }
});

bothDatabases("a NUL character is refused before anything runs", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (a INT)`);
  const error = await refusedSql(node, `INSERT INTO ${t} VALUES (1)\0; INSERT INTO ${t} VALUES (2)`);
  expect(await rows(node, `SELECT a FROM ${t}`)).toEqual([]);
  expect(error).toMatchObject({ code: 108 });
});

bothDatabases("statements of megabytes pass unharmed", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const text = "ü😀\u2028''".repeat(300_000);
  const sql = `${" ".repeat(1_000_000)}/*${"*".repeat(1_000_000)}*/ SELECT length('${text}') AS n`;
  expect(await rows(node, sql)).toEqual([{ n: 4 * 300_000 }]);
});

bothDatabases("the columns are named in order, also without rows, and each name once", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const columnsOf = async (sql: string) => (await exec(node, sql)).columns;
  // An object would put names that look like numbers first.
  expect(await columnsOf('SELECT 1 AS b, 2 AS "7", 3 AS b, 4 AS "10"')).toEqual(["b", "7", "b_2", "10"]);
  expect(await columnsOf("SELECT id, username FROM token WHERE 1 = 2")).toEqual(["id", "username"]);
  expect(await columnsOf("SELECT 1 AS a; SELECT 2 AS b WHERE 1 = 2")).toEqual(["b"]);
  expect(await columnsOf("SELECT 1 AS a; DELETE FROM js_result WHERE 1 = 2")).toEqual([]);
  const call = (id: number, sql: string) => ({
    jsonrpc: "2.0",
    id,
    method: "node-server_exec_sql",
    params: { token: node.superToken, sql },
  });
  const calls = [call(1, "SELECT 1 AS x WHERE 1 = 2"), call(2, "SELECT 2 AS y")];
  const answers = (await (await node.post(JSON.stringify(calls))).json()) as Array<{ result: unknown }>;
  expect(answers.map(({ result }) => result)).toMatchObject([{ columns: ["x"] }, { columns: ["y"] }]);
});
