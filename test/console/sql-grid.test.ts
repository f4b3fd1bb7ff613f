import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { filterRows, nextOrder, sortRows } from "../../src/console/pages/sql/model.ts";
import { inBrowser, openConsole, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { cell, onBoth, run, says } from "./sql-page.ts";

const values = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>) => rows.map(({ a }) => a);
const rowsWith = (...list: unknown[]) => list.map((a) => ({ a }));

test("numbers are sorted as numbers, also those in texts, and NULL is last in both directions", () => {
  const up = { column: "a", isDown: false };
  const down = { column: "a", isDown: true };
  expect(values(sortRows(rowsWith(10, null, 9, -1), up))).toEqual([-1, 9, 10, null]);
  expect(values(sortRows(rowsWith(10, null, 9, -1), down))).toEqual([10, 9, -1, null]);
  expect(values(sortRows(rowsWith("10.50", "9", null, "-1e3"), up))).toEqual(["-1e3", "9", "10.50", null]);
  expect(values(sortRows(rowsWith("b", "a10", "a9", "B"), up))).toEqual(["a9", "a10", "b", "B"]);
  expect(values(sortRows(rowsWith("x", 2, true, { b: 1 }), up))).toEqual([true, 2, { b: 1 }, "x"]);
  expect(values(sortRows(rowsWith(2, 1), undefined))).toEqual([2, 1]);
});

test("a column head goes through ascending, descending and the order of the database", () => {
  const first = nextOrder(undefined, "a");
  const second = nextOrder(first, "a");
  expect([first, second, nextOrder(second, "a")]).toEqual([
    { column: "a", isDown: false },
    { column: "a", isDown: true },
    undefined,
  ]);
  expect(nextOrder(second, "b")).toEqual({ column: "b", isDown: false });
});

test("a filter finds its text as it stands in every kind of value", () => {
  const rows = rowsWith("Ärger (1)", 42, null, { deep: "x" }, "1");
  expect(values(filterRows(rows, "ärger ("))).toEqual(["Ärger (1)"]);
  expect(values(filterRows(rows, "42"))).toEqual([42]);
  expect(values(filterRows(rows, "deep"))).toEqual([{ deep: "x" }]);
  expect(values(filterRows(rows, "null"))).toEqual([null]);
});

/** Texts of the first column, from above. */
function firstColumn(page: Page): Promise<string[]> {
  return page.locator(".data-grid td:first-child").allTextContents();
}

function head(page: Page, name: string) {
  return page.getByRole("columnheader", { name, exact: true });
}

onBoth("a click on a column head sorts, a filter leaves rows out, and both are saved", async (database) => {
  await using node = await testNode({ database });
  await node.sql("CREATE TABLE notes (id integer, price numeric(9, 2), words text)");
  await node.sql(
    "INSERT INTO notes VALUES (1, 10.5, 'apple'), (2, NULL, 'Pear'), (3, 9, 'plum'), (4, 100, 'fig')",
  );
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await run(page, "SELECT id, price, words FROM notes ORDER BY id");
  await says(page, /^4 rows/);
  const sorted = async (order: string, ids: string[]) => {
    await page.locator(`th[aria-sort="${order}"]`, { hasText: "price" }).waitFor();
    await becomes(() => firstColumn(page), ids);
  };
  await head(page, "price").click();
  await sorted("ascending", ["3", "1", "4", "2"]);
  await head(page, "price").click();
  await sorted("descending", ["4", "1", "3", "2"]);

  await page.getByRole("searchbox", { name: "Filter these rows" }).fill("P");
  await page.getByText("3 of 4 rows").waitFor();
  await becomes(() => firstColumn(page), ["1", "3", "2"]);
  await page.getByText("You save and copy these rows").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as JSON" }).click(),
  ]);
  const saved = JSON.parse(await readFile(await download.path(), "utf8")) as { id: number }[];
  expect(saved.map(({ id }) => id)).toEqual([1, 3, 2]);

  await cell(page, "Pear").dblclick();
  await page.getByRole("dialog", { name: "words, row 3" }).getByText("Pear").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Filter these rows" }).fill("nothing like this");
  await page.getByText("0 of 4 rows").waitFor();
  await becomes(() => firstColumn(page), []);
  await page.getByRole("searchbox", { name: "Filter these rows" }).fill("");
  await head(page, "price").click();
  await sorted("none", ["1", "2", "3", "4"]);
});

inBrowser("rows are copied as CSV as they are shown", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql", ownContext: true });
  const { page } = tab;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await run(page, "SELECT 1 AS a UNION ALL SELECT 3 UNION ALL SELECT 2");
  await head(page, "a").click();
  await page.getByRole("button", { name: "Copy these rows" }).click();
  await page.getByRole("menuitem", { name: "Copy as CSV" }).click();
  await page.getByText("3 rows copied.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("a\r\n1\r\n2\r\n3\r\n");
});

inBrowser("columns are sorted and resized by keyboard and by dragging an edge", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await run(page, "SELECT 1 AS a, 'x' AS b, 'y' AS c UNION ALL SELECT 2, 'w', 'z'");
  await says(page, /^2 rows/);
  await page.getByRole("grid").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator('th[aria-sort="ascending"]', { hasText: "b" }).waitFor();
  await becomes(() => firstColumn(page), ["2", "1"]);
  expect(await page.getByRole("grid").getAttribute("aria-activedescendant")).toBe(
    await head(page, "b").getAttribute("id"),
  );

  const widths = () =>
    page.evaluate<number[]>("[...document.querySelectorAll('.data-grid th')].map((th) => th.offsetWidth)");
  const [a = 0, b = 0, c = 0] = await widths();
  for (let times = 0; times < 3; times += 1) await page.keyboard.press("Shift+ArrowRight");
  await eventually("the column is wider, the others are as before", async () =>
    Bun.deepEquals(await widths(), [a, b + 48, c]),
  );
  const edge = await page.locator(".data-grid-edge").first().boundingBox();
  const [x, y] = [(edge?.x ?? 0) + 4, (edge?.y ?? 0) + 14];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 20, y + 100);
  await page.mouse.move(x - 60, y + 100);
  await page.mouse.up();
  await eventually("the dragged column is narrower", async () =>
    Bun.deepEquals(await widths(), [a - 60, b + 48, c]),
  );
  // A drag is not a click: the order is as before.
  await becomes(() => firstColumn(page), ["2", "1"]);
  await page.locator(".data-grid-edge").first().dblclick();
  await eventually("the widths are the first ones", async () => Bun.deepEquals(await widths(), [a, b, c]));
});

inBrowser("ten thousand rows are sorted and filtered", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const columns = Array.from({ length: 20 }, (_, at) => `n * ${at + 1} AS c${at + 1}`).join(", ");
  await run(
    page,
    `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10000) SELECT ${columns} FROM r`,
  );
  await says(page, /^10,000 rows/);
  await head(page, "c1").click();
  await head(page, "c1").click();
  await cell(page, "10000").waitFor();
  await becomes(async () => (await firstColumn(page)).slice(0, 2), ["10000", "9999"]);
  await page.getByRole("searchbox", { name: "Filter these rows" }).fill("199980");
  await page.getByText("1 of 10,000 rows").waitFor();
  await becomes(() => firstColumn(page), ["9999"]);
});
