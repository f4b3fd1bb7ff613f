import { expect } from "bun:test";
import { loggedIn } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { series } from "../support/sql.ts";
import { chosenFor } from "../support/tier.ts";

/** Rows that are hard to tell apart: many alike, and texts that a column may compare without regard to case. */
const made = 10_003;
const expected = Array.from({ length: made }, (_, at) => {
  const n = at + 1;
  return `${n % 5},${n % 2 === 0 ? "a" : "A"},${n % 3 === 0 ? "" : n}`;
}).sort();

for (const kind of chosenFor("sql pages", databaseKinds)) {
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

  story(
    `sql reads by one query what paging could not: chosen, computed and large rows (${kind})`,
    async () => {
      await using scene = await loggedIn({ database: kind, top: "max_response_body_size = 2_000_000" });
      const { user } = scene;
      const wide = kind === "sqlite" ? "hex(zeroblob(150))" : "repeat('0', 300)";
      for (const query of [
        `SELECT n, random() AS r FROM ${series(kind, 10_001)} ORDER BY r`,
        `SELECT DISTINCT n FROM ${series(kind, 10_001)}`,
        `SELECT n, ${wide} AS w FROM ${series(kind, 10_001)}`,
      ]) {
        const lines = (await user.does(["sql", "--csv", query])).trimEnd().split("\r\n");
        expect(lines).toHaveLength(10_002);
        expect(new Set(lines.map((line) => line.split(",")[0])).size).toBe(10_002);
      }
    },
  );

  story(`sql that a cursor cannot run prints what came, and fails (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    await user.does(["sql", "CREATE TABLE filled (n INT)"]);
    const insert = `INSERT INTO filled SELECT n FROM ${series(kind, 10_001)} WHERE true RETURNING n`;
    const { code, stdout, stderr } = await user.run(["sql", "--csv", insert]);
    expect([code, stdout.split("\r\n").length]).toEqual([1, 10_002]);
    expect(stderr).toContain("only the first 10,000 rows were printed");
    expect(await user.does(["sql", "--csv", "SELECT count(*) AS n FROM filled"])).toBe("n\r\n10001\r\n");
    const several = `SELECT 1 AS one; SELECT n FROM ${series(kind, 10_001)}`;
    expect((await user.run(["sql", "--csv", several])).code).toBe(1);
    const limited = await user.run(["sql", "--csv", `SELECT n FROM ${series(kind, 10_001)} LIMIT 10000`]);
    expect([limited.code, limited.stdout.split("\r\n").length]).toEqual([0, 10_002]);
  });

  story(`sql prints the names of the columns also without rows (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { user } = scene;
    const none = "SELECT 1 AS b, 2 AS a WHERE 1 = 2";
    expect(await user.does(["sql", "--csv", none])).toBe("b,a\r\n");
    expect(await user.does(["sql", "--json", none])).toBe("[]\n");
    expect(await user.does(["sql", none])).toMatch(/^b +\| a\n/);
  });
}
