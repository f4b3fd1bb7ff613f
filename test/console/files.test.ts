import { expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Download, Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, lookAround, openConsole, shoot, testNode } from "./browser.ts";

/** Failed requests that the browser reports and the page explains. */
const failed = /Failed to load resource/;
const list = (page: Page) => page.getByRole("grid", { name: "Files" });
const names = (page: Page) =>
  page.evaluate("[...document.querySelectorAll('.files-rows a')].map((link) => link.title)") as Promise<
    string[]
  >;
const open = (page: Page, name: string) => list(page).getByRole("link", { name }).first().click();
const check = (page: Page, name: string) =>
  page.getByRole("checkbox", { name: `Select ${name}`, exact: true });

inBrowser("folders are walked, sorted and filtered, and the address keeps where one is", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, {
    "page 10.txt": "1234567890",
    "page 2.txt": "12",
    "docs/guide/intro.md": "# Hello",
  });
  await mkdir(join(folder, "empty"));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  expect(await names(page)).toEqual(["docs", "empty", "page 2.txt", "page 10.txt"]);
  await page.getByRole("button", { name: "Sort by size" }).click();
  await page.getByRole("button", { name: "Sort by size, ascending" }).click();
  expect(await names(page)).toEqual(["docs", "empty", "page 10.txt", "page 2.txt"]);
  await page.getByLabel("Filter by name").fill("PAGE 2");
  expect(await names(page)).toEqual(["page 2.txt"]);
  expect(page.url()).toContain("sort=size");
  await page.reload();
  await list(page).getByText("page 2.txt").waitFor();
  expect(await names(page)).toEqual(["page 2.txt"]);
  await page.getByLabel("Filter by name").fill("");
  await open(page, "docs");
  await open(page, "guide");
  await list(page).getByText("intro.md").waitFor();
  await page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name: "docs" }).click();
  await list(page).getByText("guide").waitFor();
  await page.goBack();
  await list(page).getByText("intro.md").waitFor();
});

inBrowser("an address with dots in it leads to no other bucket", async () => {
  await using node = await testNode();
  await siteWith(node, { "other/mine.txt": "x" });
  await node.call("static-bucket_create", { token: node.superToken, name: "other" });
  await writeFile(join(node.folder, "static/other/theirs.txt"), "x");
  await using tab = await openConsole(node, { at: "/buckets/site?path=../other" });
  await list(tab.page).waitFor();
  expect(await names(tab.page)).toEqual(["mine.txt"]);
});

inBrowser("the list is steered by keys alone", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "sub/x.txt": "x", "a.txt": "a", "b.txt": "b", "c.txt": "c" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const press = (...keys: string[]) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  await list(page).focus();
  await press("ArrowDown", "Enter");
  await list(page).getByText("x.txt").waitFor();
  await press("Backspace");
  await list(page).getByText("a.txt").waitFor();
  await press("End", "Shift+ArrowUp", "Shift+ArrowUp");
  await page.getByText("3 selected").waitFor();
  await press("Escape", "Home", "ArrowDown", "F2");
  await page.getByLabel("Path in the bucket").fill("a2.txt");
  await press("Enter");
  await list(page).getByText("a2.txt").waitFor();
  expect(readdirSync(folder).sort()).toEqual(["a2.txt", "b.txt", "c.txt", "sub"]);
  await list(page).focus();
  await press("End", "Delete");
  await page.getByText("This cannot be undone").waitFor();
  // The button is disabled until the dialog has counted what would be deleted.
  const remove = page
    .getByRole("dialog")
    .getByRole("button", { name: "Delete", exact: true, disabled: false });
  await remove.press("Enter");
  await list(page).getByText("c.txt").waitFor({ state: "detached" });
  expect(readdirSync(folder).sort()).toEqual(["a2.txt", "b.txt", "sub"]);
  await list(page).focus();
  await press("Control+a");
  await page.getByText("3 selected").waitFor();
});

inBrowser("files and folders are renamed, moved and deleted, and nothing is replaced unasked", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, {
    "a.txt": "a",
    "b.txt": "b",
    "c.txt": "c",
    "old/deep/d.txt": "d",
    "old/e.txt": "e",
  });
  await using tab = await openConsole(node, { at: "/buckets/site", expected: failed });
  const { page } = tab;
  const read = (path: string) => readFile(join(folder, path), "utf8");
  await page.getByRole("button", { name: "New folder" }).click();
  await page.getByLabel("Name", { exact: true }).fill("old");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("There is already something named old here").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("new");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("This folder is empty").waitFor();
  expect((await stat(join(folder, "new"))).isDirectory()).toBe(true);
  await page.goBack();

  await check(page, "a.txt").check();
  await page.getByRole("button", { name: "Rename or move" }).click();
  await page.getByLabel("Path in the bucket").fill("b.txt");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByText("Replace existing: b.txt").waitFor();
  await shoot(page, "files-move");
  expect(await axeFindings(page)).toEqual([]);
  expect(await read("b.txt")).toBe("b");
  await page.getByLabel("Path in the bucket").fill("made/on the way/a.txt");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await list(page).getByText("made").waitFor();
  expect(await read("made/on the way/a.txt")).toBe("a");

  await check(page, "b.txt").check();
  await check(page, "old").click({ modifiers: ["Shift"] });
  await page.getByText("2 selected").waitFor();
  await page.getByRole("button", { name: /^Move \d items/ }).click();
  await page.getByLabel("Into the folder").fill("old");
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText("old cannot be moved into itself").waitFor();
  await page.getByLabel("Into the folder").fill("new");
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText("items moved").waitFor();
  expect(await read("new/b.txt")).toBe("b");
  expect(await read("new/old/deep/d.txt")).toBe("d");

  await open(page, "new");
  await check(page, "old").check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("The folder old holds 2 files (2 B)").waitFor();
  await shoot(page, "files-delete");
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await list(page).getByText("old", { exact: true }).waitFor({ state: "detached" });
  expect(existsSync(join(folder, "new/old"))).toBe(false);
  expect(await read("new/b.txt")).toBe("b");
});

const oddNames = [
  "100% #1 & more+less?.txt",
  "spaces  and 'quotes' \"too\".txt",
  "日本語 🎉.txt",
  "nfc-é.txt",
  "nfd-e\u0301.txt",
  "<img src=x onerror=alert(1)>.txt",
];

inBrowser(
  "names in any language and with any sign are shown, opened, renamed and deleted as they are",
  async () => {
    await using node = await testNode();
    const files = Object.fromEntries(
      oddNames.map((name, index) => [`d & <b>#%/${name}`, `content ${index}`]),
    );
    const { folder } = await siteWith(node, files);
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await open(page, "d & <b>#%");
    await list(page).getByText("日本語").waitFor();
    expect((await names(page)).sort()).toEqual([...oddNames].sort());
    for (const [index, name] of oddNames.entries()) {
      await list(page).getByTitle(name, { exact: true }).click();
      await page.getByText(`content ${index}`).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Copy URL" }).click();
      const url = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(await (await fetch(url)).text()).toBe(`content ${index}`);
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await check(page, name).check();
      await page.getByRole("button", { name: "Rename or move" }).click();
      await page.getByLabel("Path in the bucket").fill(`d & <b>#%/new ${name}`);
      await page.getByRole("button", { name: "Rename", exact: true }).click();
      await list(page).getByTitle(`new ${name}`, { exact: true }).waitFor();
    }
    expect(readdirSync(join(folder, "d & <b>#%")).sort()).toEqual(
      oddNames.map((name) => `new ${name}`).sort(),
    );
    expect(await page.locator("img").count()).toBe(0);
    await page.getByRole("checkbox", { name: "Select all" }).check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("This folder is empty").waitFor();
    expect(readdirSync(join(folder, "d & <b>#%"))).toEqual([]);
  },
  120_000,
);

inBrowser(
  "ten thousand files are a few rows in the page, and its end is one key away",
  async () => {
    await using node = await testNode();
    const { folder } = await siteWith(node, {});
    for (let at = 0; at < 10_000; at += 1) await writeFile(join(folder, `file ${at}.txt`), "");
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await list(page).getByText("file 0.txt").waitFor();
    expect(await list(page).getAttribute("aria-rowcount")).toBe("10000");
    expect(await page.getByRole("row").count()).toBeLessThan(80);
    await list(page).focus();
    await page.keyboard.press("End");
    await list(page).getByText("file 9999.txt").waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(80);
    await page.keyboard.press("Control+a");
    await page.getByText("10,000 selected").waitFor();
  },
  120_000,
);

inBrowser("a token that may list and read is shown the files, no change, and why", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "hello", "sub/b.txt": "deep" });
  const token = await node.newToken([
    {
      scopes: [{ static_bucket: "site" }],
      permissions: [{ static_bucket_file: "list" }, { static_bucket_file: "read" }],
    },
  ]);
  await using tab = await openConsole(node, { at: "/buckets/site", token });
  const { page } = tab;
  await page.getByText("changing files needs all four of Read, Write, Delete and List").waitFor();
  await open(page, "sub");
  await list(page).getByText("b.txt").waitFor();
  await page.goBack();
  await open(page, "a.txt");
  await page.getByText("hello").waitFor();
  expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await check(page, "a.txt").check();
  expect(await page.getByRole("button", { name: /Upload|New|Rename|Move|Delete/ }).count()).toBe(0);
  await page.keyboard.press("Delete");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

inBrowser("a bucket that is off is looked at, downloaded from, and not changed", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "hello" });
  await node.call("static-bucket_update", { token: node.superToken, name: "site", enable: false });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByText("This bucket is off").waitFor();
  await check(page, "a.txt").check();
  expect(await page.getByRole("button", { name: /Upload|Copy URL|Delete/ }).count()).toBe(0);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("a.txt");
  expect(await readFile(await download.path(), "utf8")).toBe("hello");

  const permissions = ["read", "write", "delete", "list"].map((static_bucket_file) => ({
    static_bucket_file,
  }));
  const token = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]);
  await using other = await openConsole(node, { at: "/buckets/site", token, expected: failed });
  await other.page.getByText("This bucket is off or does not exist").waitFor();
  await list(other.page).getByText("a.txt").waitFor();
});

inBrowser("several files are downloaded at once, as they are", async () => {
  await using node = await testNode();
  const files = { "a.txt": "a", "page #1.html": "<p>b</p>", "c%.txt": "c" };
  await siteWith(node, files);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const downloads: Download[] = [];
  page.on("download", (download) => downloads.push(download));
  await page.getByRole("checkbox", { name: "Select all" }).check();
  await page.getByRole("button", { name: "Download" }).click();
  while (downloads.length < 3) await Bun.sleep(20);
  for (const download of downloads) {
    const name = download.suggestedFilename() as keyof typeof files;
    expect(await readFile(await download.path(), "utf8")).toBe(files[name]);
  }
});

inBrowser("a bucket that is not there is told", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, {
    at: "/buckets/nowhere",
    expected: /There is no bucket nowhere/,
  });
  await tab.page.getByText("There is no bucket nowhere").waitFor();
});

inBrowser(
  "the files are readable by everybody",
  async () => {
    await using node = await testNode();
    const files: Record<string, string> = { "docs/a.txt": "a", "images/b.txt": "b" };
    for (let at = 1; at <= 30; at += 1)
      files[`a rather long name of a file, number ${at}.txt`] = "x".repeat(at ** 3);
    await siteWith(node, files, { is_http_root: true });
    const settle = async (page: Page) => {
      await list(page).getByText("number 1.txt").waitFor();
      await check(page, "docs").check();
      await list(page).focus();
    };
    expect(await lookAround(node, "files", "/buckets/site", settle)).toEqual([]);
  },
  120_000,
);
