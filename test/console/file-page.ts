import type { Page } from "playwright-core";

/** Failed requests that the browser reports and the page explains. */
export const failed = /Failed to load resource/;
export const list = (page: Page) => page.getByRole("grid", { name: "Files" });
export const names = (page: Page) =>
  page.evaluate("[...document.querySelectorAll('.files-rows a')].map((link) => link.title)") as Promise<
    string[]
  >;
export const open = (page: Page, name: string) => list(page).getByRole("link", { name }).first().click();
export const check = (page: Page, name: string) =>
  page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
/** Gives the selected entry another path. */
export async function rename(page: Page, path: string): Promise<void> {
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByLabel("Path in the bucket").fill(path);
  await page.getByRole("dialog").getByRole("button", { name: "Rename", exact: true }).click();
}
