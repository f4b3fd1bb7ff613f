import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { lookAround, openConsole, testNode } from "./browser.ts";
import { onBoth, rowsOf, write } from "./sql-page.ts";

async function explain(page: Page, sql: string): Promise<void> {
  await write(page, sql);
  await page.getByRole("button", { name: "Explain", exact: true }).click();
}

/** Steps of the plan with that text. */
function step(page: Page, text: RegExp | string) {
  return page.locator(".sql-plan li", { hasText: text });
}

onBoth("a statement is explained as a tree, and is not run", async (database) => {
  await using node = await testNode({ database });
  await node.sql("CREATE TABLE notes (id integer PRIMARY KEY, words text)");
  await node.sql("INSERT INTO notes VALUES (1, 'one'), (2, 'two')");
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await explain(page, "SELECT * FROM notes ORDER BY words");
  await page.getByText("Query plan. The statement was not run.").waitFor();
  await step(page, database === "sqlite" ? "SCAN notes" : "Seq Scan on notes")
    .getByText("reads the whole table")
    .last()
    .waitFor();
  if (database === "postgres") {
    // The sort takes its rows from the scan.
    await page.locator(".sql-plan li li", { hasText: "Seq Scan on notes" }).waitFor();
    await step(page, "Sort Key: words").first().waitFor();
    await step(page, /about [\d,]+ rows, cost/)
      .first()
      .waitFor();
  }
  await explain(page, "DELETE FROM notes WHERE id = 1");
  await step(page, database === "sqlite" ? "SEARCH notes" : "Delete on notes")
    .first()
    .waitFor();
  expect(await rowsOf(node, "SELECT id FROM notes")).toHaveLength(2);
});

onBoth("explaining never runs anything, and says where a mistake is", async (database) => {
  await using node = await testNode({ database });
  await node.sql("CREATE TABLE notes (id integer)");
  await node.sql("INSERT INTO notes VALUES (1)");
  const expected = /nope|[Ss]yntax error|Only one statement/;
  await using tab = await openConsole(node, { at: "/sql", expected });
  const { page } = tab;
  await explain(page, "SELECT id,\n  nope FROM notes");
  await page.getByRole("button", { name: "Go to line 2, column 3" }).waitFor();
  await explain(page, "SELECT nope FROM notes");
  await page.getByRole("button", { name: "Go to line 1, column 8" }).waitFor();

  await explain(page, "SELECT 1; DELETE FROM notes");
  await page.getByText("Only one statement can be explained at a time.").waitFor();
  for (const sql of ["ANALYZE DELETE FROM notes", "(ANALYZE) DELETE FROM notes"]) {
    await explain(page, sql);
    await page.getByRole("alert").filter({ hasText: "syntax error" }).waitFor();
    await page.getByText("Only one statement").waitFor({ state: "detached" });
  }
  expect(await rowsOf(node, "SELECT * FROM notes")).toEqual([{ id: 1 }]);
});

onBoth("a plan is readable by everybody", async (database) => {
  await using node = await testNode({ database });
  const found = await lookAround(node, `sql-plan-${database}`, "/sql", async (page) => {
    await page.locator(".sql-schema summary").first().waitFor();
    await explain(
      page,
      "SELECT t.id, count(*) FROM token t JOIN kv ON kv.id = t.id WHERE t.token_key > 'a' GROUP BY t.id ORDER BY 2",
    );
    await page.locator(".sql-plan li").first().waitFor();
  });
  expect(found).toEqual([]);
});
