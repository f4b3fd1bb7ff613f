import { expect, test } from "bun:test";
import { toPageable } from "../../src/cli/sql/sql-pages.ts";
import { loggedIn } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { series } from "../support/sql.ts";

/** Rows that are hard to tell apart: many alike, and texts that a column may compare without regard to case. */
const made = 10_003;
const expected = Array.from({ length: made }, (_, at) => {
  const n = at + 1;
  return `${n % 5},${n % 2 === 0 ? "a" : "A"},${n % 3 === 0 ? "" : n}`;
}).sort();

for (const kind of databaseKinds) {
  story(`sql gives all rows of a table, each once, however many there are (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const text = kind === "sqlite" ? "text COLLATE NOCASE" : "text";
    await user.does(["sql", `CREATE TABLE big (few int, name ${text}, n int)`]);
    const odd = "CASE WHEN n % 2 = 0 THEN 'a' ELSE 'A' END, CASE WHEN n % 3 = 0 THEN NULL ELSE n END";
    await user.does(["sql", `INSERT INTO big SELECT n % 5, ${odd} FROM ${series(kind, made)}`]);
    const lines = (csv: string) => csv.trimEnd().split("\r\n");

    const plain = await user.run(["sql", "--csv", "SELECT * FROM big -- all of it"]);
    expect([plain.code, plain.stderr]).toEqual([0, expect.stringMatching(/^\(10,003 rows, \d+ ms\)\n$/)]);
    const [head, ...rows] = lines(plain.stdout);
    expect(head).toBe("few,name,n");
    expect(rows.sort()).toEqual(expected);

    const sorted = lines(await user.does(["sql", "--csv", "SELECT * FROM big ORDER BY few DESC;"])).slice(1);
    const keys = sorted.map((row) => Number(row[0]));
    expect(keys).toEqual([...keys].sort((a, b) => b - a));
    expect(sorted.sort()).toEqual(expected);

    const one = kind === "sqlite" ? "?" : "$1";
    const some = `SELECT few, name, n FROM big WHERE few <> ${one}`;
    const json = JSON.parse(await user.does(["sql", "--json", some, "--param", "4"])) as object[];
    expect(json).toHaveLength(expected.filter((row) => !row.startsWith("4")).length);
    const table = await user.does(["sql", "SELECT few FROM big"]);
    expect(table.trimEnd().split("\n")).toHaveLength(made + 2);
  });

  story(`sql that cannot be fetched in pages prints what came and fails (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const random = `SELECT n, random() AS r FROM ${series(kind, 10_001)}`;
    const { code, stdout } = await user.run(["sql", "--csv", random]);
    expect(code).toBe(1);
    expect(stdout.split("\r\n")).toHaveLength(10_002);
    const limited = await user.run(["sql", "--csv", `SELECT n FROM ${series(kind, 10_001)} LIMIT 10000`]);
    expect([limited.code, limited.stdout.split("\r\n").length]).toEqual([0, 10_002]);
  });
}

story(
  "PostgreSQL's rows that are equal but printed differently are not paged by an order of their own",
  async () => {
    await using scene = await loggedIn({ database: "postgres" });
    const { user } = scene;
    const rows =
      "SELECT CASE WHEN n % 2 = 0 THEN 1.0 ELSE 1.00 END AS v FROM generate_series(1, 10002) AS s(n)";
    await user.does(["sql", `CREATE TABLE equal AS ${rows}`]);
    const all = (await user.does(["sql", "--csv", "SELECT v FROM equal"])).split("\r\n");
    expect([all.filter((v) => v === "1.0").length, all.filter((v) => v === "1.00").length]).toEqual([
      5001, 5001,
    ]);
    expect((await user.run(["sql", "--csv", "SELECT v FROM equal ORDER BY v"])).code).toBe(1);
  },
);

test("only statements that read the same rows each time are run again", () => {
  const pageable = [
    "SELECT * FROM t",
    "select a, lower(b) from t join u on (t.id = u.id) where a in (1, 2) order by a;  -- end",
    "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n",
    "SELECT 'random(); DELETE FROM t' AS text, \"limit\" FROM t",
    "SELECT CAST(a AS varchar(10)) FROM t WHERE b = ?",
  ];
  const other = [
    "DELETE FROM t RETURNING *",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
    "SELECT * FROM t; DROP TABLE t",
    "SELECT nextval('s') FROM t",
    "SELECT a, random() AS r FROM t",
    "SELECT * FROM t, f(a) AS (b int)",
    'SELECT "random"() FROM t',
    "SELECT * INTO u FROM t",
    "SELECT a FROM t LIMIT 20000",
    "SELECT DISTINCT a FROM t",
    "SELECT a FROM t UNION SELECT b FROM t",
    "SELECT a, count(*) FROM t GROUP BY a",
    "SELECT row_number() OVER () FROM t",
    "SELECT current_timestamp FROM t",
    "SELECT 'now'::timestamp FROM t",
    "SELECT E'\\'; SELECT 1' FROM t",
    "PRAGMA table_info(t)",
    "VALUES (1)",
    "",
  ];
  expect(pageable.filter((text) => toPageable(text) === undefined)).toEqual([]);
  expect(other.filter((text) => toPageable(text) !== undefined)).toEqual([]);
  expect(toPageable("SELECT a FROM t ORDER BY a;")).toEqual({
    text: "SELECT a FROM t ORDER BY a",
    ordered: true,
  });
  expect(toPageable("SELECT a FROM (SELECT a FROM t ORDER BY a) x")?.ordered).toBe(false);
});
