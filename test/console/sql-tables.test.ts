import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { cell, onBoth, write } from "./sql-page.ts";

function firstColumn(page: Page): Promise<string[]> {
  return page.locator(".data-grid td:first-child").allTextContents();
}

function open(page: Page, table: string): Promise<void> {
  return page.getByRole("link", { name: `Show ${table}`, exact: true }).click();
}

/** Waits for a range in the line of pages. */
function shows(page: Page, range: string): Promise<void> {
  return page.locator(".sql-pages").getByText(range, { exact: true }).waitFor();
}

onBoth("a table is browsed page by page, whatever its name", async (database) => {
  await using node = await testNode({ database });
  const name = '"My ""odd"" Table"';
  await node.sql(`CREATE TABLE ${name} (id integer PRIMARY KEY, "Order" text, price integer)`);
  for (let id = 1; id <= 250; id += 1)
    await node.sql(`INSERT INTO ${name} VALUES (${id}, 'n${id}', ${id === 7 ? "NULL" : 1000 - id})`);
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await write(page, "SELECT 'unfinished'");
  await open(page, 'My "odd" Table');
  await shows(page, "Rows 1 to 100");
  await becomes(async () => (await firstColumn(page)).slice(0, 2), ["250", "249"]);
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByRole("button", { name: "Next page" }).click();
  await shows(page, "Rows 201 to 250");
  await page.getByRole("button", { name: "Next page", disabled: true }).waitFor();
  await page.getByRole("button", { name: "Count", exact: true }).click();
  await page.getByText("250 rows in the table").waitFor();

  await page.getByRole("button", { name: "Oldest first" }).click();
  await shows(page, "Rows 1 to 100");
  await cell(page, "n1").waitFor();
  await becomes(async () => (await firstColumn(page)).slice(0, 2), ["1", "2"]);
  // The whole table is sorted, not the page.
  await page.getByRole("columnheader", { name: "price", exact: true }).click();
  await cell(page, "750").waitFor();
  await becomes(async () => (await firstColumn(page)).slice(0, 2), ["250", "249"]);

  await page.getByRole("tab", { name: "Structure" }).click();
  const column = page.getByRole("row", { name: /^id / });
  await column.getByText("primary key").waitFor();
  await page.getByRole("row", { name: /^Order text/ }).waitFor();

  await page.goBack();
  await becomes(() => page.locator(".cm-content").textContent(), "SELECT 'unfinished'");
  await page.getByRole("textbox", { name: "SQL statement" }).waitFor();
});

onBoth(
  "the structure lists defaults and indexes, and a view is browsed without an order",
  async (database) => {
    await using node = await testNode({ database });
    await node.sql("CREATE TABLE notes (words text NOT NULL DEFAULT 'none', at integer)");
    await node.sql("CREATE UNIQUE INDEX notes_by_time ON notes (at, words)");
    await node.sql("INSERT INTO notes VALUES ('first', 1), ('second', 2)");
    await node.sql("CREATE VIEW late_notes AS SELECT words FROM notes WHERE at > 1");
    await using tab = await openConsole(node, { at: "/sql" });
    const { page } = tab;
    await open(page, "notes");
    await shows(page, "Rows 1 to 2");
    // Without a key, the order is that in which the database keeps the rows.
    await becomes(() => firstColumn(page), ["second", "first"]);
    await page.getByRole("tab", { name: "Structure" }).click();
    await page
      .getByRole("row", { name: /^words text/ })
      .getByText("not NULL")
      .waitFor();
    await page
      .getByRole("row", { name: /^words text/ })
      .getByText("'none'")
      .waitFor();
    const index = page.getByRole("row", { name: /^notes_by_time .*at, words.* unique$/ });
    await index.waitFor();

    await open(page, "late_notes");
    await shows(page, "Rows 1 to 1");
    expect(await page.getByRole("button", { name: "Newest first" }).count()).toBe(0);
    await becomes(() => firstColumn(page), ["second"]);
  },
);

inBrowser("an empty table shows its columns, and a name that no table has says so", async () => {
  await using node = await testNode();
  await node.sql("CREATE TABLE empty_one (a text, b text)");
  await using tab = await openConsole(node, { at: `/sql?table=${encodeURIComponent('"empty_one"')}` });
  const { page } = tab;
  await shows(page, "No rows");
  await becomes(() => page.getByRole("columnheader").allTextContents(), ["a", "b"]);
  await page.goto(`${node.url}/node/console/#/sql?table=gone`);
  await page.getByText("There is no table gone.").waitFor();
  await page.getByRole("button", { name: "Back to the statement" }).click();
  await page.getByRole("textbox", { name: "SQL statement" }).waitFor();
});

inBrowser("a table is readable by everybody", async () => {
  await using node = await testNode();
  const at = `/sql?table=${encodeURIComponent('"token"')}`;
  expect(await lookAround(node, "sql-table", at, (page) => page.getByText("Rows 1 to 1").waitFor())).toEqual(
    [],
  );
  expect(
    await lookAround(node, "sql-structure", at, async (page) => {
      await page.getByRole("tab", { name: "Structure" }).click();
      await page.getByRole("table", { name: "Indexes" }).waitFor();
    }),
  ).toEqual([]);
});
