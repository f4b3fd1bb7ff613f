import { expect } from "bun:test";
import { stat, writeFile } from "node:fs/promises";
import { loggedIn } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { until } from "../support/until.ts";

const counted = (rows: string) => new RegExp(`^\\(${rows}, \\d+ ms\\)\\n$`);

story("rows come as an aligned table, numbers to the right, NULL shown, the count on stderr", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const { code, stdout, stderr } = await user.run([
    "sql",
    "SELECT 7 AS \"2\", 'a' AS name, NULL AS gap, 9223372036854775807 AS \"1\" UNION ALL SELECT 1234, '日本', 'x', -1",
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(counted("2 rows")) });
  expect(stdout).toBe(
    [
      "   2 | name | gap  |                   1",
      "-----+------+------+--------------------",
      "   7 | a    | NULL | 9223372036854775807",
      "1234 | 日本 | x    |                  -1",
      "",
    ].join("\n"),
  );
});

story("CSV is RFC 4180, and JSON keeps every digit", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const statement = `SELECT 'a,b' AS x, 'say "hi"' AS "q""q", '' AS empty, NULL AS none, char(13, 10) AS line, 9007199254740993 AS n`;
  expect(await user.does(["sql", "--csv", statement])).toBe(
    'x,"q""q",empty,none,line,n\r\n"a,b","say ""hi""","",,"\r\n",9007199254740993\r\n',
  );
  expect(await user.does(["sql", "--json", "SELECT 9007199254740993 AS n, NULL AS none"])).toBe(
    '[{"n":9007199254740993,"none":null}]\n',
  );
  expect(await user.does(["sql", "--json", "SELECT 1 WHERE 0"])).toBe("[]\n");
  expect(await user.run(["sql", "--json", "--csv", "SELECT 1"])).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^\{"error":/),
  });
});

story("params fill placeholders; statements also come from a file and from standard input", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const params = ["--param", "41", "--param", "it's", "--param", '"7"', "--param", "null"];
  const typed = "SELECT ? + 1 AS a, ? AS b, typeof(?) AS c, ? IS NULL AS d";
  expect(await user.does(["sql", "--csv", typed, ...params])).toBe("a,b,c,d\r\n42,it's,text,1\r\n");
  await writeFile(user.file("make.sql"), "CREATE TABLE t (a);\nINSERT INTO t VALUES (1), (2);\n");
  const made = await user.run(["sql", "-f", "make.sql"]);
  expect(made).toMatchObject({ code: 0, stdout: "" });
  expect(made.stderr).toMatch(/^note: these are several statements; .+\n\(2 rows, \d+ ms\)\n$/);
  expect(await user.does(["sql", "--csv"], { stdin: "SELECT sum(a) AS s\nFROM t;" })).toBe("s\r\n3\r\n");
  expect(await user.run(["sql", "-f", "missing.sql"])).toMatchObject({ code: 2, stdout: "" });
  expect(await user.run(["sql", "-f", "make.sql", "SELECT 1"])).toMatchObject({ code: 2, stdout: "" });
  expect(await user.run(["sql"], { stdin: "" })).toMatchObject({ code: 2, stdout: "" });
});

story("all of a long answer leaves, and a closed pipe is no failure", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const many =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) SELECT i, hex('0123456789') AS z FROM n";
  const { code, stdout } = await user.run(["sql", "--csv", many]);
  expect([code, stdout.split("\r\n").length]).toEqual([0, 10_003]);
  const headed = await user.shell(`"$@" 2>err | head -n 1; echo "ended \${PIPESTATUS[0]}"`, [
    "sql",
    "--csv",
    many,
  ]);
  expect(headed.stdout).toBe("i,z\r\nended 0\n");
});

story("an error is the database's own words and ends with 1; a refusal ends with 3", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  const wrong = await user.run(["sql", "SELEC 1"]);
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  expect(wrong.stderr).toContain('near "SELEC": syntax error');
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: await node.newToken([]) };
  expect(await user.run(["sql", "SELECT 1"], { env })).toMatchObject({ code: 3, stdout: "" });
});

story(
  "at the prompt, statements have several lines, errors do not end it, and the history is kept",
  async () => {
    await using scene = await loggedIn();
    const { user } = scene;
    const prompt = user.terminal(["sql"], { NO_COLOR: "1" });
    await prompt.shows(/sql> /);
    await prompt.type("SELECT 'a;b' AS text,\r");
    await prompt.shows(/\.\.\.> /);
    await prompt.type("  NULL AS none;\r");
    await prompt.shows(/text \| none\r\n-----\+-----\r\na;b {2}\| NULL\r\n\(1 row, \d+ ms\)/);
    let seen = prompt.screen.length;
    await prompt.type("SELEC 1;\r");
    await prompt.shows(/syntax error[\s\S]*sql> /, seen);
    seen = prompt.screen.length;
    await prompt.type("SELECT 'dropped\x03");
    await prompt.shows(/\^C[\s\S]*sql> /, seen);
    seen = prompt.screen.length;
    await prompt.type(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) SELECT i FROM n;\r",
    );
    await prompt.shows(/only the first 10,000 rows are shown[\s\S]*sql> /, seen);
    seen = prompt.screen.length;
    await prompt.type("SELECT 6 * 7 AS answer;\r");
    await prompt.shows(/answer\r\n-+\r\n +42\r\n/, seen);
    await prompt.shows(/42[\s\S]*sql> /, seen);
    await prompt.type("\x04");
    expect(await prompt.ends()).toBe(0);

    const kept = user.file(".local/state/node-server/sql-history");
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect((await Bun.file(kept).text()).split("\n")).toContain("SELECT 6 * 7 AS answer;");
    const again = user.terminal(["sql"], { NO_COLOR: "1" });
    await again.shows(/sql> /);
    await again.type("\x1b[A");
    await again.shows(/SELECT 6 \* 7 AS answer;/);
    await again.type("\r");
    await again.shows(/ 42\r\n/);
    await again.type("\\q\r");
    expect(await again.ends()).toBe(0);
  },
);

story(
  "an unknown backslash command points to the help, piped and at the prompt, and sends nothing",
  async () => {
    await using scene = await loggedIn();
    const { user } = scene;
    for (const typed of ["\\du", ".tables"])
      expect(await user.run(["sql"], { stdin: typed })).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(`unknown command ${typed}; \\? helps`),
      });
    expect(await user.run(["sql", "\\dt\nSELECT 1"])).toMatchObject({ code: 2, stdout: "" });
    expect(await user.does(["sql", "\\?"])).toContain("\\d TABLE ");
    const prompt = user.terminal(["sql"], { NO_COLOR: "1" });
    await prompt.shows(/sql> /);
    await prompt.type("\\du\r");
    await prompt.shows(/unknown command \\du; \\\? helps[\s\S]*sql> /);
    let seen = prompt.screen.length;
    await prompt.type("\\d nowhere\r");
    await prompt.shows(/there is no table nowhere[\s\S]*sql> /, seen);
    seen = prompt.screen.length;
    await prompt.type("\\dt\r");
    await prompt.shows(/token +\| table[\s\S]*sql> /, seen);
    await prompt.type("\x04");
    expect(await prompt.ends()).toBe(0);
  },
);

story("Ctrl+C at the prompt breaks a running statement off and asks for the next", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const prompt = user.terminal(["sql"]);
  await prompt.shows(/sql> /);
  await prompt.type(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\r",
  );
  // Pressed again until it falls into the statement, as people do.
  await until("the statement is interrupted", async () => {
    await prompt.type("\x03");
    await Bun.sleep(100);
    return /interrupted[\s\S]*sql> /.test(prompt.screen);
  });
  const seen = prompt.screen.length;
  await prompt.type("SELECT 1 AS one;\r");
  await prompt.shows(/one\r\n/, seen);
  await prompt.type("\x04");
  expect(await prompt.ends()).toBe(0);
});

story("of several statements the last result is shown, and a note and the help say so", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const { code, stdout, stderr } = await user.run(["sql", "--csv", "SELECT 1 AS a; SELECT 2 AS b"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "b\r\n2\r\n" });
  expect(stderr).toStartWith(
    "note: these are several statements; only the result of the last one is shown\n",
  );
  expect((await user.run(["sql", "SELECT 1 AS a;"])).stderr).not.toContain("note:");
  expect(await user.does(["sql", "--help"])).toContain("prints the result of the last one");
});
