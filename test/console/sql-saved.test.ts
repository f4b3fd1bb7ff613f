import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { onBoth, rowsOf, write } from "./sql-page.ts";

const saved = (page: Page) => page.getByRole("dialog", { name: "Saved statements" });

async function open(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Saved statements" }).click();
}

/** Types a name into the field, which has the focus, and presses Enter. */
async function saveAs(page: Page, name: string): Promise<void> {
  await open(page);
  await saved(page)
    .getByText("No saved statements yet.")
    .or(saved(page).getByRole("listitem"))
    .first()
    .waitFor();
  await saved(page).locator("input:focus").waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
}

const content = (page: Page) => page.locator(".cm-content").textContent();

onBoth("a statement is saved under a name, loaded after a reload, replaced and deleted", async (database) => {
  await using node = await testNode({ database });
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const first = "SELECT 'it''s \"quoted\"' AS a";
  await write(page, first);
  await saveAs(page, "Müller's list");
  await page.getByText("Saved as “Müller's list”.").waitFor();
  await saved(page)
    .getByRole("button", { name: /^Müller's list/ })
    .waitFor();
  await page.keyboard.press("Escape");

  await page.reload();
  await open(page);
  await saved(page).getByText("The editor is empty").waitFor();
  await saved(page)
    .getByRole("button", { name: /^Müller's list/ })
    .click();
  await eventually("the editor has the statement", async () => (await content(page)) === first);

  // A name that is taken is asked about.
  await write(page, "SELECT 2");
  await saveAs(page, "Müller's list");
  const question = page.getByRole("dialog", { name: "Replace “Müller's list”?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await saved(page).getByText(first).waitFor();
  await page.keyboard.press("Escape");
  await saveAs(page, "Müller's list");
  await question.getByRole("button", { name: "Replace" }).click();
  await saved(page).getByText("SELECT 2").waitFor();

  await saved(page).getByRole("button", { name: "Delete “Müller's list”" }).click();
  await page
    .getByRole("dialog", { name: "Delete “Müller's list”?" })
    .getByRole("button", { name: "Delete", exact: true })
    .click();
  await saved(page).getByText("No saved statements yet.").waitFor();
  expect(await rowsOf(node, "SELECT key FROM kv WHERE namespace = 'console/statements'")).toEqual([]);
});

inBrowser("a saved statement is nowhere in the browser, where pages of buckets could change it", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await write(page, "SELECT 'a secret' AS a");
  await saveAs(page, "report");
  await page.getByText("Saved as “report”.").waitFor();
  const kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])";
  expect(await page.evaluate(kept)).not.toMatch(/secret|report/);
  expect(await page.evaluate("indexedDB.databases()")).toEqual([]);
});

inBrowser("saved statements are readable by everybody", async () => {
  await using node = await testNode();
  expect(
    await lookAround(node, "sql-saved", "/sql", async (page) => {
      await write(page, "SELECT id, username FROM token\nWHERE username IS NOT NULL\nORDER BY id");
      await saveAs(page, "Users");
      await saved(page)
        .getByRole("button", { name: /^Users/ })
        .waitFor();
    }),
  ).toEqual([]);
});
