import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, openConsole, testNode } from "./browser.ts";

const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in" }).waitFor();

inBrowser("signing out after the buckets were shown raises no error", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  await page.getByRole("heading", { name: "Buckets", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  expect(await page.locator(".toast").allTextContents()).toEqual([]);
});
