import { expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes } from "./eventually.ts";
import { check, failed, list, names, open, rename } from "./file-page.ts";

inBrowser("folders are walked, sorted and filtered, and the address keeps where one is", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "page 10.txt": "1234567890",
    "page 2.txt": "12",
    "docs/guide/intro.md": "# Hello",
  });
  await mkdir(join(folder, "empty"));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  await becomes(() => names(page), ["docs", "empty", "page 2.txt", "page 10.txt"]);
  await page.getByRole("button", { name: "Sort by size" }).click();
  await page.getByRole("button", { name: "Sort by size, ascending" }).click();
  await becomes(() => names(page), ["docs", "empty", "page 10.txt", "page 2.txt"]);
  await page.getByLabel("Filter by name").fill("PAGE 2");
  await becomes(() => names(page), ["page 2.txt"]);
  await becomes(() => page.url(), expect.stringContaining("sort=size"));
  await page.reload();
  await list(page).getByText("page 2.txt").waitFor();
  await becomes(() => names(page), ["page 2.txt"]);
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
  await using node = await sharedNode();
  await siteWith(node, { "other/mine.txt": "x" });
  await node.call("static-bucket_create", { token: node.superToken, name: "other" });
  await writeFile(join(node.folder, "static/other/theirs.txt"), "x");
  await using tab = await openConsole(node, { at: "/buckets/site?path=../other" });
  await list(tab.page).waitFor();
  expect(await names(tab.page)).toEqual(["mine.txt"]);
});

inBrowser("the list is steered by keys alone", async () => {
  await using node = await testNode({ top: "keep_removed_days = 30\n" });
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
  await page.getByText("You can restore deleted files from the trash for 30 days").waitFor();
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
  await page.getByText("A file or folder named old already exists here").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("new");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("This folder is empty").waitFor();
  expect((await stat(join(folder, "new"))).isDirectory()).toBe(true);
  await page.goBack();

  await check(page, "a.txt").check();
  await rename(page, "b.txt");
  await page.getByText("Replace existing: b.txt").waitFor();
  await shoot(page, "files-move");
  expect(await axeFindings(page)).toEqual([]);
  expect(await read("b.txt")).toBe("b");
  await page.getByLabel("Path in the bucket").fill("made/on the way/a.txt");
  await page.getByRole("dialog").getByRole("button", { name: "Rename", exact: true }).click();
  await list(page).getByText("made").waitFor();
  expect(await read("made/on the way/a.txt")).toBe("a");

  await check(page, "b.txt").check();
  await check(page, "old").click({ modifiers: ["Shift"] });
  await page.getByText("2 selected").waitFor();
  await page.getByRole("button", { name: "Move to…" }).click();
  await page.getByRole("option", { name: "old" }).click();
  await page.getByText("old cannot be moved into itself").waitFor();
  await page.getByRole("navigation", { name: "Destination" }).getByRole("button", { name: "site" }).click();
  await page.getByRole("option", { name: "new" }).click();
  await page.getByRole("button", { name: "Move here" }).click();
  await page.getByText("2 items moved to site/new.").waitFor();
  expect(await read("new/b.txt")).toBe("b");
  expect(await read("new/old/deep/d.txt")).toBe("d");

  await open(page, "new");
  // The folder that is left has an entry of that name as well.
  await list(page).getByText("b.txt").waitFor();
  await check(page, "old").check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("The folder old contains 2 files (2 B)").waitFor();
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
    await using node = await sharedNode();
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
      const url = await copiedBy(page, () =>
        page.getByRole("dialog").getByRole("button", { name: "Copy URL" }).click(),
      );
      expect(await (await fetch(url)).text()).toBe(`content ${index}`);
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await check(page, name).check();
      await rename(page, `d & <b>#%/new ${name}`);
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
);

inBrowser("ten thousand files are a few rows in the page, and its end is one key away", async () => {
  await using node = await sharedNode();
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
});
