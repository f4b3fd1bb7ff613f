import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { SQL } from "bun";
import { NodeServerClient } from "../../src/client/index.ts";
import { maxCursors } from "../../src/db/operator/sql-cursors.ts";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { cell, onBoth, rowsOf, run, says, write } from "./sql-page.ts";

onBoth("a statement shows its rows as the database holds them", async (database) => {
  await using node = await testNode({ database });
  await node.sql("CREATE TABLE notes (id integer, words text, price double precision, gone text)");
  await node.sql(`INSERT INTO notes VALUES (1, 'first', 2.5, NULL), (2, '${"long ".repeat(100)}', 3, '')`);
  await using tab = await openConsole(node, { at: "/sql" });
  await run(tab.page, "SELECT * FROM notes ORDER BY id");
  await says(tab.page, /^2 rows in [\d,]+ ms/);
  expect(await tab.page.getByRole("columnheader").allTextContents()).toEqual([
    "id",
    "words",
    "price",
    "gone",
  ]);
  expect(await cell(tab.page, "NULL").getAttribute("class")).toBe("null");
  const align = "getComputedStyle(document.querySelector('td.number')).textAlign";
  expect(await tab.page.evaluate(align)).toBe("right");

  await tab.page.getByRole("gridcell", { name: /^long/ }).dblclick();
  const viewer = tab.page.getByRole("dialog", { name: "words, row 2" });
  expect(await viewer.locator("pre").textContent()).toBe("long ".repeat(100));
  await tab.page.keyboard.press("Escape");

  await run(tab.page, "SELECT * FROM notes WHERE id = 3");
  await says(tab.page, /^No rows/);
});

inBrowser("a statement that changes something is asked about first, unless told otherwise", async () => {
  await using node = await testNode();
  await node.sql("CREATE TABLE notes (id integer)");
  await using tab = await openConsole(node, { at: "/sql" });
  const question = tab.page.getByRole("dialog", { name: "Run this?" });

  await run(tab.page, "INSERT INTO notes VALUES (1), (2)");
  await question.getByText("INSERT INTO notes").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await rowsOf(node, "SELECT * FROM notes")).toEqual([]);

  await tab.page.getByRole("button", { name: "Run", exact: true }).click();
  await question.getByRole("button", { name: "Run" }).click();
  await says(tab.page, /^Done: 2 rows affected/);
  expect(await rowsOf(node, "SELECT * FROM notes")).toHaveLength(2);

  await tab.page.getByLabel("Ask before statements that change data").uncheck();
  await run(tab.page, "DELETE FROM notes WHERE id = 1");
  await says(tab.page, /^Done: 1 row affected/);
  expect(await rowsOf(node, "SELECT * FROM notes")).toEqual([{ id: 2 }]);
});

onBoth(
  "an error is told in the database's words and marked where it is, also in a selected part",
  async (database) => {
    await using node = await testNode({ database });
    await using tab = await openConsole(node, { at: "/sql", expected: /nope/ });
    const { page } = tab;
    await write(page, "SELECT 1;\nSELECT 2 AS a,\n  nope FROM token");
    // The last two lines, from behind the "SE" of the first of them.
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Shift+ArrowUp");
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("alert").filter({ hasText: "nope" }).waitFor();
    await page.getByRole("button", { name: "Go to line 3, column 3" }).click();
    expect(await page.locator(".cm-lintRange-error").textContent()).toBe("nope FROM token");
    await page.keyboard.insertText("id, ");
    await becomes(() => page.locator(".cm-line").nth(2).textContent(), "  id, nope FROM token");
  },
);

onBoth("tables and columns are listed, inserted by a click and completed as one types", async (database) => {
  await using node = await testNode({ database });
  await node.sql('CREATE TABLE "My notes" (id integer, "order" text)');
  // Without permission to read the kind of database, the page finds it out by trying.
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  await using tab = await openConsole(node, { at: "/sql", token });
  const { page } = tab;
  const list = page.locator(".sql-schema");
  await list.getByText(database === "sqlite" ? "SQLite" : "PostgreSQL").waitFor();
  await write(page, "SELECT ");
  await list.getByText("My notes").click();
  await list.getByRole("button", { name: "order" }).click();
  await page.keyboard.insertText(" FROM ");
  await list.getByRole("button", { name: "Insert the table's name" }).first().click();
  await becomes(() => page.locator(".cm-content").textContent(), 'SELECT "order" FROM "My notes"');

  await write(page, "SELECT * FROM token WHERE ");
  await page.keyboard.type("token_k");
  await page.locator(".cm-tooltip-autocomplete").getByText("token_key").click();
  await becomes(() => page.locator(".cm-content").textContent(), "SELECT * FROM token WHERE token_key");
});

inBrowser(
  "ten thousand rows of thirty columns can be walked through, and it is told that there are more",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/sql" });
    const { page } = tab;
    const columns = Array.from({ length: 30 }, (_, at) => `n * ${at + 1} AS c${at + 1}`).join(", ");
    await run(
      page,
      `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10001) SELECT ${columns} FROM r`,
    );
    await page.getByText("Only the first 10,000 rows are shown").waitFor();
    const grid = page.getByRole("grid");
    expect(await grid.getAttribute("aria-rowcount")).toBe("10001");
    expect(await page.getByRole("row").count()).toBeLessThan(100);
    await grid.focus();
    await page.keyboard.press("Control+End");
    const last = cell(page, "300000");
    await last.waitFor();
    await eventually("the last cell is selected", () =>
      page.evaluate<boolean>("document.querySelector('[aria-selected]')?.textContent === '300000'"),
    );
    await becomes(() => grid.getAttribute("aria-activedescendant"), await last.getAttribute("id"));
    // The names of the columns stay in view above it.
    for (const part of ["th:last-child", "[aria-selected]"])
      await eventually(`${part} is in view`, () => page.evaluate(isInView(part)));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "c30, row 10,000" }).waitFor();
  },
);

/** A query with a row for each number up to this one. */
const numbersTo = (last: number) =>
  `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${last}) SELECT n FROM r`;

onBoth("rows after the first 10,000 come by scrolling or a button", async (kind) => {
  await using node = await testNode({ database: kind });
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await run(page, numbersTo(20_500));
  await page.getByText("Only the first 10,000 rows are shown").waitFor();
  const grid = page.getByRole("grid");
  await grid.focus();
  await page.keyboard.press("Control+End");
  await page.getByText("Only the first 20,000 rows are shown").waitFor();
  await page.keyboard.press("Control+Home");
  // Sorted rows have no end to scroll to.
  await page.getByRole("columnheader", { name: "n", exact: true }).click();
  await page.getByRole("columnheader", { name: "n", exact: true }).click();
  await cell(page, "20000").waitFor();
  const more = page.getByRole("button", { name: "Load more" });
  await more.click();
  await cell(page, "20500").waitFor();
  await becomes(() => grid.getAttribute("aria-rowcount"), "20501");
  await becomes(() => more.count(), 0);
});

inBrowser("the cursor of a query is closed when the page is left", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const client = new NodeServerClient(node.url, { token: node.superToken });
  const query = { sql: numbersTo(20_500) };
  const others = Array.from({ length: maxCursors - 1 }, () => client.readSql(query));
  await Promise.all(others.map((one) => one.next()));
  await run(page, query.sql);
  await page.getByRole("button", { name: "Load more" }).click();
  await page.getByText("Only the first 20,000 rows are shown").waitFor();
  expect(await client.readSql(query).next().catch(String)).toContain("cursors");
  await page.getByRole("link", { name: "API" }).click();
  await eventually("there is room for a cursor", () =>
    client
      .readSql(query)
      .next()
      .then(
        () => true,
        () => false,
      ),
  );
  await Promise.all(others.map((one) => one.return()));
});

/** Whether the element is the topmost one at its position. */
function isInView(selector: string): string {
  return `(() => {
    const found = document.querySelector(${JSON.stringify(selector)});
    const box = found.getBoundingClientRect();
    return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === found;
  })()`;
}

inBrowser("a number that a browser cannot hold is not passed off as exact", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  await run(tab.page, "SELECT 9007199254740995 AS big");
  await tab.page.getByText("Numbers marked ≈ are rounded").waitFor();
  await tab.page.getByRole("gridcell", { name: /^≈ / }).waitFor();
});

inBrowser("a result is saved as CSV and as JSON", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  await run(tab.page, "SELECT 1 AS id, '=1+1' AS a, 'x, y' AS b, NULL AS c");
  await says(tab.page, /^1 row/);
  const saved = async (button: string) => {
    const [download] = await Promise.all([
      tab.page.waitForEvent("download"),
      tab.page.getByRole("button", { name: button }).click(),
    ]);
    return readFile(await download.path(), "utf8");
  };
  expect(await saved("Save as CSV")).toBe('id,a,b,c\r\n1,\'=1+1,"x, y",\r\n');
  await tab.page.getByText("1 text got a leading apostrophe").waitFor();
  expect(JSON.parse(await saved("Save as JSON"))).toEqual([{ id: 1, a: "=1+1", b: "x, y", c: null }]);
});

inBrowser("the history brings a statement back, and is nowhere but in the memory of the tab", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await run(page, "SELECT 'a secret' AS a");
  await says(page, /^1 row/);
  await run(page, "SELECT 2");
  await cell(page, "2").waitFor();
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("link", { name: "SQL", exact: true }).click();
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("button", { name: "SELECT 'a secret' AS a" }).click();
  await becomes(() => page.locator(".cm-content").textContent(), "SELECT 'a secret' AS a");
  const kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])";
  expect(await page.evaluate(kept)).not.toContain("secret");

  await page.reload();
  await page.getByRole("button", { name: "History" }).click();
  await page.getByText("No statements have been run yet").waitFor();
});

inBrowser("a statement that is stopped is ended by the server too", async () => {
  await using node = await testNode({ database: "postgres" });
  await node.sql("CREATE TABLE done (n integer)");
  await using holder = new SQL({ url: node.databaseUrl, max: 1 });
  await holder`SELECT pg_advisory_lock(42)`;
  await using tab = await openConsole(node, { at: "/sql" });
  await tab.page.getByLabel("Ask before").uncheck();
  await run(tab.page, "SELECT pg_advisory_lock(42); INSERT INTO done VALUES (1)");
  await says(tab.page, /^Running/);
  const here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  const ungranted = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND ${here}`;
  const waiting = async () => (await rowsOf(node, ungranted)).length;
  // A statement that has not begun can come after the lock is free.
  await becomes(waiting, 1);
  await tab.page.getByRole("button", { name: "Stop", exact: true }).click();
  await says(tab.page, /^You stopped this statement/);
  await becomes(waiting, 0);
  await holder`SELECT pg_advisory_unlock(42)`;
  expect(await rowsOf(node, "SELECT * FROM done")).toEqual([]);
});

inBrowser("the page is readable by everybody, with its result, its history and its questions", async () => {
  await using node = await testNode();
  const words = "'it is a long text that does not fit into a column of the grid' AS words";
  const sql = `SELECT id, token_key, username, time_stamp_to, ${words}, 1.5 AS n FROM token UNION ALL SELECT n, 'k' || n, NULL, n * 1000, 'x', n FROM (WITH RECURSIVE r(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM r WHERE n < 60) SELECT n FROM r)`;
  expect(
    await lookAround(node, "sql", "/sql", async (page) => {
      await page.locator(".sql-schema").getByText("SQLite").waitFor({ state: "attached" });
      await run(page, sql);
      await says(page, /^60 rows/);
    }),
  ).toEqual([]);
  expect(
    await lookAround(node, "sql-cell", "/sql", async (page) => {
      await run(page, "SELECT token_limit FROM token UNION ALL SELECT json_array(1, 'two', NULL)");
      await page.getByRole("gridcell", { name: /two/ }).dblclick();
      await page.getByRole("dialog", { name: "token_limit, row 2" }).waitFor();
    }),
  ).toEqual([]);
  expect(
    await lookAround(node, "sql-question", "/sql", async (page) => {
      await run(page, "DELETE FROM kv");
      await page.getByRole("dialog", { name: "Run this?" }).waitFor();
    }),
  ).toEqual([]);
  expect(
    await lookAround(node, "sql-history", { at: "/sql", expected: /nope/ }, async (page) => {
      await run(page, "SELECT nope\nFROM token");
      await page.getByRole("alert").waitFor();
      await run(page, "SELECT 1");
      await says(page, /^1 row/);
      await page.getByRole("button", { name: "History" }).click();
      await page.getByRole("button", { name: "SELECT nope" }).waitFor();
    }),
  ).toEqual([]);
});

inBrowser("of several statements the result is said to be the last one's", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await run(page, "SELECT 'first' AS a; SELECT 'last' AS b");
  await says(page, /All 2 statements ran; this is the result of the last one\.$/);
  await cell(page, "last").waitFor();
  expect(await cell(page, "first").count()).toBe(0);
  await run(page, "SELECT 'alone' AS a;");
  await says(page, /^1 row in [\d,]+ ms\.$/);
});
