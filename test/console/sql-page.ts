import type { Page } from "playwright-core";
import { type DatabaseKind, databaseKinds, type TestNode } from "../support/node.ts";
import { inBrowser } from "./browser.ts";

/** For stories of what the page makes of answers that differ between the databases. */
export function onBoth(title: string, story: (kind: DatabaseKind) => Promise<void>): void {
  for (const kind of databaseKinds) inBrowser(`${title} (${kind})`, () => story(kind));
}

/** Replaces the text in the editor. */
export async function write(page: Page, sql: string): Promise<void> {
  await page.getByRole("textbox", { name: "SQL statement" }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(sql);
}

export async function run(page: Page, sql: string): Promise<void> {
  await write(page, sql);
  await page.keyboard.press("Control+Enter");
}

/** Waits for a text in the status line. */
export function says(page: Page, words: RegExp): Promise<void> {
  return page.locator(".sql-status").filter({ hasText: words }).waitFor();
}

export function cell(page: Page, text: string) {
  return page.getByRole("gridcell", { name: text, exact: true });
}

export async function rowsOf(node: TestNode, sql: string): Promise<unknown[]> {
  const { data } = (await node.call("node-server_exec_sql", { token: node.superToken, sql })) as {
    data: unknown[];
  };
  return data;
}
