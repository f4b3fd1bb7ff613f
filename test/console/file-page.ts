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
