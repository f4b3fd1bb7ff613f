import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

const focused = (page: Page) =>
  page.evaluate<string>(
    `document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.tagName`,
  );

inBrowser("Ctrl+K goes to pages and buckets and starts actions, by the keyboard alone", async () => {
  await using node = await sharedNode();
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
  await becomes(() => page.locator("html").getAttribute("data-theme"), "dark");

  // Up from the first entry is the last one.
  await page.keyboard.press("Control+k");
  // Buckets are read when the palette is opened.
  await palette.getByRole("option", { name: "Bucket site" }).waitFor();
  await page.keyboard.press("ArrowUp");
  await becomes(() => palette.getByRole("option", { selected: true }).textContent(), "Bucket site");
  // It says where the list would be that nothing is found, keeps its size, and one Escape ends it.
  const box = await palette.boundingBox();
  await page.keyboard.type("zzz");
  const nothing = await palette.getByText("No matches.").boundingBox();
  const field = await palette.getByRole("combobox").boundingBox();
  expect(await palette.boundingBox()).toEqual(box);
  expect((nothing?.y ?? 0) - (field?.y ?? 0)).toBeLessThan(100);
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
});

inBrowser("a button that is at work keeps the focus, and a second press does nothing", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await page.locator(".cm-content").getByText("ws_listener").waitFor();
  const held = Promise.withResolvers<void>();
  let asked = 0;
  await page.route("**/jsonrpc", async (route) => {
    if (route.request().postData()?.includes("read_config")) {
      asked += 1;
      await held.promise;
    }
    await route.continue();
  });
  const button = page.getByRole("button", { name: "Reload", exact: true });
  const state = () => button.evaluate((element) => [element.matches(":focus"), element.ariaDisabled]);
  await button.focus();
  await page.keyboard.press("Enter");
  await becomes(state, [true, "true"]);
  expect(await axeFindings(page, { within: ".page-header" })).toEqual([]);
  await page.keyboard.press("Enter");
  held.resolve();
  await becomes(state, [true, null]);
  expect(asked).toBe(1);
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
    await using node = await sharedNode();
    await using tab = await openConsole(node, { at: "/tokens" });
    const { page } = tab;
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    await page.getByLabel("Find").waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Help and shortcuts" });
    await help.getByRole("link", { name: "console.md" }).waitFor();
    await help.getByText("The secret is shown once.").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await shoot(page, "help");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("what?/");
    await becomes(() => page.getByLabel("Find").inputValue(), "what?/");
    expect(await help.count()).toBe(0);
  },
);

inBrowser("who goes on by keyboard while a page is loaded keeps the focus when it comes", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/nowhere" });
  const { page } = tab;
  const held = Promise.withResolvers<void>();
  await page.route("**/assets/page-*.js", async (route) => {
    await held.promise;
    await route.continue();
  });
  const api = page.getByRole("link", { name: "API", exact: true });
  await page.getByRole("link", { name: "Update", exact: true }).click();
  await page.getByRole("heading", { name: "Update", level: 1 }).and(page.locator(":focus")).waitFor();
  await api.focus();
  held.resolve();
  await page.getByRole("heading", { name: /^Version / }).waitFor();
  await becomes(() => api.evaluate((link) => link.matches(":focus")), true);
  await page.keyboard.press("Enter");
  // Who stays gets the focus on the heading of the page, so that screen readers announce it.
  await page.getByLabel("Find a method").waitFor();
  await page.getByRole("heading", { name: "API", level: 1 }).and(page.locator(":focus")).waitFor();
});

inBrowser("the help of a page leads to its documentation, whose files lead to each other", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await page.locator(".cm-content").getByText("ws_listener").waitFor();
  await page.getByRole("button", { name: "Help and shortcuts" }).click();
  await page.getByRole("dialog").getByRole("link", { name: "config.md" }).click();
  await page.getByRole("heading", { name: "Documentation", level: 1 }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const text = page.getByRole("region", { name: "Content of config.md" });
  await text.getByRole("heading", { name: "The file that a first start writes" }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "documentation");
  await text.getByRole("link", { name: "storage.md" }).first().click();
  await page.getByRole("heading", { name: "The trash of plain files" }).waitFor();
  await page.evaluate(`location.hash = "#/docs/console.md"`);
  await page.getByRole("heading", { name: "Activity" }).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await shoot(page, "documentation-phone");
});
