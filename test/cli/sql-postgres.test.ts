import { expect } from "bun:test";
import { loggedIn, type Scene } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { chosenFor } from "../support/tier.ts";

const onPostgres = (): Promise<Scene> => loggedIn({ database: "postgres" });

for (const kind of chosenFor("sql", databaseKinds)) {
  story(`sql: whole numbers, NULL, text and counts look the same on both databases (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const whole = kind === "sqlite" ? "INTEGER" : "bigint";
    const make = `CREATE TABLE t (id ${whole}, name text); INSERT INTO t VALUES (9223372036854775807, 'it''s'), (-9007199254740993, NULL)`;
    const made = await user.run(["sql", make]);
    expect(made).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^note: these are several statements.*\n\(2 rows, \d+ ms\)\n$/),
    });
    const all = "SELECT id, name FROM t ORDER BY id";
    expect(await user.does(["sql", all])).toBe(
      [
        "                 id | name",
        "--------------------+-----",
        "  -9007199254740993 | NULL",
        "9223372036854775807 | it's",
        "",
      ].join("\n"),
    );
    expect(await user.does(["sql", "--csv", all])).toBe(
      "id,name\r\n-9007199254740993,\r\n9223372036854775807,it's\r\n",
    );
    expect(await user.does(["sql", "--json", all])).toBe(
      '[{"id":-9007199254740993,"name":null},{"id":9223372036854775807,"name":"it\'s"}]\n',
    );
    expect(await user.does(["sql", "--json", "SELECT id FROM t WHERE 1 = 0"])).toBe("[]\n");
    const one = kind === "sqlite" ? "?" : "$1";
    const found = `SELECT name FROM t WHERE id = ${one}`;
    expect(await user.does(["sql", "--csv", found, "--param", "9223372036854775807"])).toBe(
      "name\r\nit's\r\n",
    );
  });

  story(`sql: \\dt lists the tables, and \\d shows the columns and indexes of one (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const [whole, small] = kind === "sqlite" ? ["INTEGER", "TEXT"] : ["integer", "text"];
    await user.does([
      "sql",
      "CREATE TABLE shelf (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'it''s', note TEXT); CREATE UNIQUE INDEX shelf_by_name ON shelf (name, note); CREATE VIEW tall AS SELECT name FROM shelf",
    ]);
    const tables = JSON.parse(await user.does(["sql", "--json", "\\dt"])) as { name: string; type: string }[];
    expect(tables).toEqual(
      expect.arrayContaining([
        { name: "token", type: "table" },
        { name: "tall", type: "view" },
      ]),
    );
    expect(tables.filter(({ name }) => name.startsWith("sqlite_") || name.startsWith("pg_"))).toEqual([]);
    const text = kind === "sqlite" ? "'it''s'" : "'it''s'::text";
    expect(await user.does(["sql", "--csv", "\\d shelf"])).toBe(
      `column,type,nullable,default\r\nid,${whole},no,\r\nname,${small},no,${text}\r\nnote,${small},yes,\r\n`,
    );
    const piped = await user.does(["sql"], { stdin: "\\d shelf\n\\d tall;\n" });
    expect(piped).toMatch(/^shelf_by_name +\| unique +\| name, note$/m);
    expect(piped).toMatch(/^name +\| text +\| yes/im);
    const missing = await user.run(["sql", "\\d it's"]);
    expect(missing).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("\\dt lists the tables"),
    });
  });

  story(`sql: an error is the database's own words on stderr, and ends with 1 (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const words = kind === "sqlite" ? 'near "SELEC": syntax error' : 'syntax error at or near "SELEC"';
    const wrong = await user.run(["sql", "SELEC 1"]);
    expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(words) });
    const later = await user.run(["sql", "--csv", "SELECT 1 AS one; SELECT * FROM nowhere"]);
    expect(later).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("nowhere") });
  });
}

story("every type of PostgreSQL is shown as text that says what it is", async () => {
  await using scene = await onPostgres();
  const { user } = scene;
  const select = `SELECT 12345678901234567890.123456789::numeric AS exact, 0.1::float8 AS double, 1.5::real AS single,
    7::smallint AS small, true AS yes, DATE '2024-02-29' AS day, TIMESTAMPTZ '2024-02-29 12:00:00.123456+00' AS at,
    '{"b": [1, 2], "a": null}'::jsonb AS doc, ARRAY[1, NULL, 3] AS list, '\\xdeadbeef'::bytea AS raw,
    'c0ffee00-0000-4000-8000-000000000000'::uuid AS id, INTERVAL '1 day 2 hours' AS span, 'NaN'::float8 AS nan`;
  expect(await user.does(["sql", "--json", select])).toBe(
    '[{"exact":"12345678901234567890.123456789","double":0.1,"single":1.5,"small":7,"yes":true,"day":"2024-02-29","at":"2024-02-29T12:00:00.123456+00:00","doc":{"a":null,"b":[1,2]},"list":[1,null,3],"raw":"3q2+7w==","id":"c0ffee00-0000-4000-8000-000000000000","span":"P1DT2H","nan":"NaN"}]\n',
  );
  const cells = `12345678901234567890.123456789,0.1,1.5,7,true,2024-02-29,2024-02-29T12:00:00.123456+00:00,"{""a"":null,""b"":[1,2]}","[1,null,3]",3q2+7w==,c0ffee00-0000-4000-8000-000000000000,P1DT2H,NaN`;
  expect(await user.does(["sql", "--csv", select])).toBe(
    `exact,double,single,small,yes,day,at,doc,list,raw,id,span,nan\r\n${cells}\r\n`,
  );
});

story("--param fills $1 and on: numbers with all digits, text, NULL, truth and JSON", async () => {
  await using scene = await onPostgres();
  const { user } = scene;
  const run = (statement: string, ...params: string[]) =>
    user.run(["sql", "--csv", statement, ...params.flatMap((param) => ["--param", param])]);
  const all =
    "SELECT $1::bigint AS n, $2::text AS t, $3::text IS NULL AS gone, $4::boolean AS yes, $5::jsonb ->> 'a' AS a, $6::text AS seven, $7::numeric AS exact";
  const given = [
    "-9007199254740993",
    "it's; --",
    "null",
    "true",
    '{"a":"ä"}',
    '"7"',
    '"1234567890123456789.5"',
  ];
  expect(await run(all, ...given)).toMatchObject({
    code: 0,
    stdout:
      "n,t,gone,yes,a,seven,exact\r\n-9007199254740993,it's; --,true,true,ä,7,1234567890123456789.5\r\n",
  });
  const wrong = await run("SELECT $1::bigint AS n", "x");
  expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining('type bigint: "x"') });
  const few = await run("SELECT $1::bigint AS n, $2::int AS m", "1");
  expect(few).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("2 placeholders") });
});
