import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { inBrowser, openConsole, sharedNode, shoot } from "./browser.ts";
import { dropFiles } from "./drop-files.ts";
import { check, list } from "./file-page.ts";

const row = (page: Page, name: string) =>
  list(page)
    .getByRole("row")
    .filter({ has: page.getByTitle(name, { exact: true }) });
const crumb = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name, exact: true });

async function middleOf(place: Locator) {
  const box = await place.boundingBox();
  if (box === null) throw new Error("the element is not shown");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Drags with the mouse and holds still over the target. */
async function dragOver(page: Page, from: Locator, to: Locator): Promise<void> {
  const [start, end] = [await middleOf(from), await middleOf(to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(end.x, end.y, { steps: 5 });
}

inBrowser("rows are dragged onto a folder or a part of the path, and Escape cancels", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "a.txt": "a",
    "b.txt": "b",
    "c.txt": "c",
    "docs/guide/d.txt": "d",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await dragOver(page, row(page, "a.txt"), row(page, "docs"));
  await page.getByText("Drop to move a.txt into docs.").waitFor();
  expect(await row(page, "docs").getAttribute("class")).toContain("drop-into");
  await shoot(page, "files-drag");
  await page.keyboard.press("Escape");
  await page.getByText("Drop to move").waitFor({ state: "detached" });
  await page.mouse.up();
  await row(page, "a.txt").waitFor();

  await page.getByTitle("a.txt", { exact: true }).waitFor();
  await dragOver(page, page.getByTitle("a.txt", { exact: true }), row(page, "docs"));
  await page.getByText("Drop to move a.txt into docs.").waitFor();
  await page.mouse.up();
  await page.getByText("a.txt moved to site/docs.").waitFor();
  // The rows below it have moved up.
  await row(page, "a.txt").waitFor({ state: "detached" });
  expect(readFileSync(join(folder, "docs/a.txt"), "utf8")).toBe("a");

  // A row of the selection takes the others along.
  await check(page, "b.txt").check();
  await check(page, "c.txt").check();
  await dragOver(page, row(page, "c.txt"), row(page, "docs"));
  await page.getByText("Drop to move 2 items into docs.").waitFor();
  await page.mouse.up();
  await page.getByText("2 items moved to site/docs.").waitFor();
  await row(page, "b.txt").waitFor({ state: "detached" });
  expect(readdirSync(join(folder, "docs")).sort()).toEqual(["a.txt", "b.txt", "c.txt", "guide"]);

  await list(page).getByTitle("docs", { exact: true }).click();
  await row(page, "b.txt").waitFor();
  await dragOver(page, row(page, "b.txt"), crumb(page, "site"));
  await page.getByText("Drop to move b.txt into the top of the bucket.").waitFor();
  await page.mouse.up();
  await page.getByText("b.txt moved to site.").waitFor();
  await row(page, "b.txt").waitFor({ state: "detached" });
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("b");
  await page.getByRole("button", { name: "Undo" }).last().click();
  await row(page, "b.txt").waitFor();
  expect(existsSync(join(folder, "b.txt"))).toBe(false);
});

inBrowser("a drop that cannot be is refused in words, and one onto a taken name asks", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "new", "img/x.txt": "x", "docs/a.txt": "old" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await check(page, "img").check();
  await check(page, "docs").check();
  await dragOver(page, row(page, "img"), row(page, "docs"));
  await page.getByRole("status").getByText("docs cannot be moved into itself.").waitFor();
  expect(await row(page, "docs").getAttribute("class")).toContain("drop-refused");
  await page.mouse.up();
  await page.locator(".toast.notice").getByText("docs cannot be moved into itself.").waitFor();
  await row(page, "a.txt").click();
  await dragOver(page, row(page, "a.txt"), row(page, "docs"));
  await page.getByRole("status").getByText("Drop to move a.txt into docs.").waitFor();
  await page.mouse.up();
  await page.getByText("site/docs already contains:").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  expect(readFileSync(join(folder, "docs/a.txt"), "utf8")).toBe("old");
  expect(readdirSync(folder).sort()).toEqual(["a.txt", "docs", "img"]);
});

inBrowser("files from outside stay uploads, and a token that may only read drags nothing", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "a", "docs/b.txt": "b" });
  await using own = await tempFolder();
  const file = join(own.path, "new.txt");
  writeFileSync(file, "new");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  await row(tab.page, "a.txt").waitFor();
  await dropFiles(tab.page, await middleOf(row(tab.page, "a.txt")), file);
  await row(tab.page, "new.txt").waitFor();
  expect(readFileSync(join(folder, "new.txt"), "utf8")).toBe("new");

  const scopes = [{ static_bucket: "site" }];
  const permissions = [
    { static_bucket: "read" },
    { static_bucket_file: "list" },
    { static_bucket_file: "read" },
  ];
  const token = await node.newToken([{ scopes, permissions }]);
  await using reader = await openConsole(node, { at: "/buckets/site", token });
  await row(reader.page, "a.txt").waitFor();
  expect(await row(reader.page, "a.txt").getAttribute("draggable")).toBeNull();
});
