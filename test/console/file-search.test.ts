import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { check } from "./file-page.ts";

const results = (page: Page) => page.getByRole("grid", { name: "Found files" });
const result = (page: Page, path: string) => results(page).getByRole("link", { name: path, exact: true });
const item = (page: Page, name: string) => page.getByRole("menuitem", { name, exact: true });
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

inBrowser("files are found in the whole bucket, and opened from there", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    "index.html": "x",
    "docs/deep/Report 2026.txt": "the report",
    "docs/other.txt": "x",
    "reports/a.csv": "a,b",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByLabel("Filter by name").fill("report");
  await page.getByRole("button", { name: "Search bucket" }).click();
  const found = results(page);
  await found.getByRole("link", { name: "docs/deep/Report 2026.txt" }).waitFor();
  await becomes(
    async () => (await found.getByRole("link").allTextContents()).sort(),
    ["docs/deep/Report 2026.txt", "reports (folder)", "reports/a.csv"],
  );
  for (const [width, height] of [
    [1440, 900],
    [820, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    expect(
      await page.evaluate(
        "document.querySelector('.files-tools').scrollWidth <= document.querySelector('.files-tools').clientWidth",
      ),
    ).toBe(true);
    await shoot(page, `files-search-${width}`);
    expect(await axeFindings(page)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "files-search-dark");
  expect(await axeFindings(page, { only: "colours" })).toEqual([]);
  await page.getByLabel("Filter by name").fill("nowhere at all");
  await page.getByText("No path in this bucket contains “nowhere at all”.").waitFor();
  await page.getByLabel("Filter by name").fill("2026 report");
  await found.getByRole("link").click();
  await page.getByRole("dialog", { name: "Report 2026.txt" }).getByText("the report").waitFor();
  await becomes(() => new URL(page.url()).hash, expect.stringContaining("path=docs%2Fdeep"));
});

inBrowser("a right click on a result has the actions of the list, which act on the path", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "notes.txt": "top",
    "docs/notes.txt": "the notes",
    "docs/deep/notes.txt": "deep",
    "docs/other.md": "x",
  });
  await using tab = await openConsole(node, { at: "/buckets/site?path=docs&filter=notes&in=bucket" });
  const { page } = tab;
  await result(page, "docs/notes.txt").click({ button: "right" });
  await page.getByRole("menu").waitFor();
  expect(await page.getByRole("menuitem").allTextContents()).toEqual([
    "Open",
    "Show in folder",
    "Download",
    "Copy URL",
    "Share link…",
    "Rename",
    "Move to…",
    "Copy to…",
    "Duplicate",
    "Older versions",
    "Delete",
  ]);
  await shoot(page, "files-search-menu");
  await item(page, "Copy URL").click();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
    `${node.url}/node/static/site/docs/notes.txt`,
  );
  await result(page, "docs/notes.txt").click({ button: "right" });
  const download = page.waitForEvent("download");
  await item(page, "Download").click();
  expect((await download).suggestedFilename()).toBe("notes.txt");
  expect(readFileSync(await (await download).path(), "utf8")).toBe("the notes");
  // The name alone is selected, so that typing replaces it.
  await result(page, "docs/notes.txt").click({ button: "right" });
  await item(page, "Rename").click();
  await page.keyboard.type("my notes");
  await page.keyboard.press("Enter");
  await result(page, "docs/my notes.txt").waitFor();
  expect(readFileSync(join(folder, "docs/my notes.txt"), "utf8")).toBe("the notes");
  await result(page, "notes.txt").click({ button: "right" });
  await item(page, "Delete").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await result(page, "notes.txt").waitFor({ state: "detached" });
  expect(existsSync(join(folder, "notes.txt"))).toBe(false);
  expect(existsSync(join(folder, "docs/my notes.txt"))).toBe(true);
  await result(page, "docs/deep/notes.txt").click({ button: "right" });
  await item(page, "Show in folder").click();
  await page.getByRole("heading", { name: "deep", level: 1 }).waitFor();
  await page.getByRole("row", { name: "notes.txt", selected: true }).waitFor();
  await page.goBack();
  await result(page, "docs/my notes.txt").click({ button: "right" });
  await item(page, "Show in folder").click();
  await page.getByRole("row", { name: "my notes.txt", selected: true }).waitFor();
  expect(await page.getByRole("grid", { name: "Files" }).getByRole("row", { selected: true }).count()).toBe(
    1,
  );
});

inBrowser("results of several folders are selected and moved together, and none is lost", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a/report.txt": "a", "b/report.txt": "b", "c/x.txt": "x" });
  await using tab = await openConsole(node, { at: "/buckets/site?filter=report&in=bucket" });
  const { page } = tab;
  await check(page, "a/report.txt").check();
  await check(page, "b/report.txt").check();
  await page.getByText("2 selected, 2 B").waitFor();
  await press(page, "Move to…");
  await page.getByRole("option", { name: "c" }).click();
  await page.getByText("No folders in here.").waitFor();
  await press(page, "Move here");
  await result(page, "c/report.txt").waitFor();
  await result(page, "c/report copy.txt").waitFor();
  const moved = ["c/report.txt", "c/report copy.txt"].map((path) => readFileSync(join(folder, path), "utf8"));
  expect(moved).toEqual(["a", "b"]);
  expect(existsSync(join(folder, "a/report.txt"))).toBe(false);
  // A selection in the results is not one in the folder.
  await check(page, "c/report.txt").check();
  await page.keyboard.press("Escape");
  await press(page, "Search bucket");
  await page.getByText("No name here contains “report”.").waitFor();
});

inBrowser("a token that may only read gets no changes in the menu of a result", async () => {
  await using node = await testNode();
  await siteWith(node, { "docs/notes.txt": "n" });
  const permissions = ["read", "list"].map((action) => ({ static_bucket_file: action }));
  const token = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]);
  await using tab = await openConsole(node, { token, at: "/buckets/site?filter=notes&in=bucket" });
  const { page } = tab;
  await result(page, "docs/notes.txt").click({ button: "right" });
  await page.getByRole("menu").waitFor();
  const items = await page.getByRole("menuitem").allTextContents();
  expect(items).toContain("Show in folder");
  expect(items).toContain("Download");
  for (const change of ["Rename", "Move to…", "Delete"]) expect(items).not.toContain(change);
});
