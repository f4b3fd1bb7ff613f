import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";

const focused = (page: Page) =>
  page.evaluate<string>(
    `document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.tagName`,
  );

inBrowser("Ctrl+K goes to pages and buckets and starts actions, by the keyboard alone", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "a" });
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  await palette.getByRole("option", { name: "Bucket site" }).waitFor();
  expect(await focused(page)).toBe("Page, bucket or action");
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "palette");
  await page.keyboard.type("site buck");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "site", level: 1 }).waitFor();

  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.type("dark");
  await page.keyboard.press("Enter");
  await palette.waitFor({ state: "detached" });
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");

  // Up from the first entry is the last one.
  await page.keyboard.press("Control+k");
  // Buckets are read when the palette is opened.
  await palette.getByRole("option", { name: "Bucket site" }).waitFor();
  await page.keyboard.press("ArrowUp");
  expect(await palette.getByRole("option", { selected: true }).textContent()).toBe("Bucket site");
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
});

inBrowser("the palette offers what the token may open, and nothing else", async () => {
  await using node = await testNode();
  await siteWith(node, {});
  const token = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "list" }] },
  ]);
  await using tab = await openConsole(node, { token, at: "/buckets" });
  const { page } = tab;
  await page.getByRole("heading", { name: "Buckets" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Bucket site" }).waitFor();
  const labels = await page.getByRole("option").allTextContents();
  expect(labels).toContain("Buckets");
  for (const label of ["Overview", "SQL", "Config", "Tokens", "New token", "Update"])
    expect(labels).not.toContain(label);
});

inBrowser(
  "? shows the help of the page, / goes to its search, and neither is taken from a text",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/tokens" });
    const { page } = tab;
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    await page.getByLabel("Find").waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Help and shortcuts" });
    await help.getByText("docs/console.md").waitFor();
    await help.getByText("Its secret is shown once.").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await shoot(page, "help");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("what?/");
    expect(await page.getByLabel("Find").inputValue()).toBe("what?/");
    expect(await help.count()).toBe(0);
  },
);
