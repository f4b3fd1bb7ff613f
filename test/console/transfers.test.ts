import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes } from "./eventually.ts";
import { check, list } from "./file-page.ts";

const row = (page: Page, name: string) =>
  list(page)
    .getByRole("row")
    .filter({ has: page.getByTitle(name, { exact: true }) });
const dialog = (page: Page) => page.getByRole("dialog");
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const choose = (page: Page, name: string) => page.getByRole("menuitem", { name, exact: true }).click();

inBrowser(
  "a file is moved by keys alone, into a folder that is made on the way, and back by Undo",
  async () => {
    await using node = await sharedNode();
    const { folder } = await siteWith(node, { "a.txt": "a", "docs/guide/b.txt": "b", "img/c.txt": "c" });
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    await check(page, "a.txt").check();
    await list(page).focus();
    await page.getByRole("button", { name: "Move to…" }).press("Enter");
    await page.getByText("already in this folder").waitFor();
    await page.getByRole("option", { name: "docs" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("option", { name: "guide" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByText("No folders in here.").waitFor();
    // A step up leads to the folder that was left.
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("option", { name: "guide", selected: true }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByText("No folders in here.").waitFor();
    await shoot(page, "files-picker");
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "New folder" }).last().press("Enter");
    await page.getByLabel("Name of the new folder").press("Escape");
    await dialog(page).getByRole("button", { name: "New folder" }).press("Enter");
    await page.getByLabel("Name of the new folder").fill("b.txt");
    await page.keyboard.press("Enter");
    await page.getByText("A file or folder named b.txt already exists here").waitFor();
    await page.getByLabel("Name of the new folder").fill("new");
    await page.keyboard.press("Enter");
    const path = page.getByRole("navigation", { name: "Destination" });
    await path.getByRole("button", { name: "new" }).waitFor();
    expect(await path.textContent()).toMatch(/^site\s*\/\s*docs\s*\/\s*guide\s*\/\s*new$/);
    await page.getByRole("button", { name: "Move here" }).press("Enter");
    await page.getByText("a.txt moved to site/docs/guide/new.").waitFor();
    await row(page, "a.txt").waitFor({ state: "detached" });
    expect(readFileSync(join(folder, "docs/guide/new/a.txt"), "utf8")).toBe("a");
    await press(page, "Undo");
    await page.getByText("a.txt moved back.").waitFor();
    await row(page, "a.txt").waitFor();
    expect(existsSync(join(folder, "docs/guide/new/a.txt"))).toBe(false);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("a");
  },
);

inBrowser("a selection is copied, and what exists there is kept, skipped or replaced as asked", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "a.txt": "new",
    "b.txt": "b",
    "img/deep/c.txt": "new",
    "to/a.txt": "old",
    "to/img/other.txt": "old",
  });
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const copy = async (...names: string[]) => {
    for (const name of names) await check(page, name).check();
    await press(page, "More actions");
    await choose(page, "Copy to…");
    await page.getByRole("option", { name: "to" }).click();
    await press(page, "Copy here");
  };
  await copy("a.txt", "b.txt", "img");
  await page.getByText("site/to already contains:").waitFor();
  expect(await dialog(page).getByRole("listitem").allInnerTexts()).toEqual(["img", "a.txt"]);
  await shoot(page, "files-conflicts");
  expect(await axeFindings(page)).toEqual([]);
  await press(page, "Skip these");
  await page.getByText("b.txt copied to site/to.").waitFor();
  expect([read("to/a.txt"), read("to/b.txt"), read("b.txt")]).toEqual(["old", "b", "b"]);

  await copy("a.txt", "img");
  await press(page, "Keep both");
  await page.getByText("2 items copied to site/to.").waitFor();
  expect([read("to/a.txt"), read("to/a copy.txt"), read("to/img copy/deep/c.txt")]).toEqual([
    "old",
    "new",
    "new",
  ]);

  await copy("a.txt", "img");
  await press(page, "Replace");
  await becomes(
    () =>
      ["to/a.txt", "to/img/deep/c.txt", "a.txt"].map((path) => existsSync(join(folder, path)) && read(path)),
    ["new", "new", "new"],
  );
  expect(existsSync(join(folder, "to/img/other.txt"))).toBe(false);
});

inBrowser("files and folders are duplicated beside the original, and the copies are selected", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "a", "docs/b.txt": "b" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const duplicate = async (name: string) => {
    await row(page, name).click({ button: "right" });
    await page.getByRole("menu", { name: `Actions for ${name}` }).waitFor();
    await choose(page, "Duplicate");
  };
  await duplicate("a.txt");
  await row(page, "a copy.txt").waitFor();
  await duplicate("a.txt");
  await row(page, "a copy 2.txt").waitFor();
  await page.getByRole("row", { selected: true }).getByTitle("a copy 2.txt").waitFor();
  await duplicate("docs");
  await row(page, "docs copy").waitFor();
  expect(readdirSync(folder).sort()).toEqual(["a copy 2.txt", "a copy.txt", "a.txt", "docs", "docs copy"]);
  expect(readFileSync(join(folder, "docs copy/b.txt"), "utf8")).toBe("b");
});

inBrowser("what cannot be moved is named with the reason, and the rest is moved", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "a", "b.txt": "b", "to/x.txt": "x" });
  await using tab = await openConsole(node, {
    at: "/buckets/site",
    expected: /b\.txt: something exists/,
  });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "Select all" }).check();
  await check(page, "to").uncheck();
  await press(page, "Move to…");
  await page.getByRole("option", { name: "to" }).click();
  await page.getByText("No folders in here.").waitFor();
  // Somebody else takes the name after the console has looked.
  await page.route("**/jsonrpc", async (route) => {
    if (route.request().postData()?.includes("move_many"))
      await mkdir(join(folder, "to/b.txt"), { recursive: true });
    await route.continue();
  });
  await press(page, "Move here");
  await dialog(page)
    .getByRole("alert")
    .getByText(/^b\.txt: /)
    .waitFor();
  await shoot(page, "files-move-failed");
  await dialog(page).locator("footer").getByRole("button", { name: "Close" }).click();
  await row(page, "a.txt").waitFor({ state: "detached" });
  await row(page, "b.txt").waitFor();
  expect(readFileSync(join(folder, "to/a.txt"), "utf8")).toBe("a");
});

inBrowser("the menu of a row has what can be done with it, by mouse and by key", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "a", "b.txt": "b", "docs/c.txt": "c" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const items = () => page.getByRole("menuitem").allInnerTexts();
  await row(page, "a.txt").click({ button: "right" });
  await page.getByRole("menu", { name: "Actions for a.txt" }).waitFor();
  expect(await items()).toEqual([
    "Open",
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
  await shoot(page, "files-menu");
  expect(await axeFindings(page)).toEqual([]);
  expect(await copiedBy(page, () => choose(page, "Copy URL"))).toBe(`${node.url}/node/static/site/a.txt`);
  // A right click on a selected row is for the whole selection.
  await check(page, "b.txt").check();
  await row(page, "a.txt").click({ button: "right" });
  await page.getByRole("menu", { name: "Actions for 2 items" }).waitFor();
  expect(await items()).toEqual(["Download as ZIP", "Move to…", "Copy to…", "Duplicate", "Delete"]);
  await page.keyboard.press("Escape");
  // Role queries do not see a menu that is hidden and about to be removed.
  await page.locator("[role=menu]").waitFor({ state: "detached" });
  await list(page).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ContextMenu");
  await page.getByRole("menu", { name: "Actions for docs" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("[role=menu]").waitFor({ state: "detached" });
});

inBrowser("a file of a folder is shared where it is, without a question about what is known", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "docs/deep/c.txt": "shared" });
  await using tab = await openConsole(node, { at: "/buckets/site?path=docs%2Fdeep" });
  const { page } = tab;
  await row(page, "c.txt").click({ button: "right" });
  await choose(page, "Share link…");
  const form = page.getByRole("dialog", { name: "Link to c.txt" });
  await form.waitFor();
  expect(await form.getByRole("radio").count()).toBe(0);
  const create = form.getByRole("button", { name: "Create and copy link" });
  const address = await copiedBy(page, () => create.click());
  const made = page.getByRole("dialog", { name: "Link copied" });
  expect(await (await fetch(address)).text()).toBe("shared");
  await made.locator("footer").getByRole("button", { name: "Close" }).click();
  await made.waitFor({ state: "detached" });
  expect(page.url()).toEndWith("#/buckets/site?path=docs%2Fdeep");
  expect(await check(page, "c.txt").isChecked()).toBe(true);

  // A folder can be an archive or a drop box.
  await page.getByRole("link", { name: "docs", exact: true }).click();
  await row(page, "deep").click({ button: "right" });
  await choose(page, "Share link…");
  const kinds = page.getByRole("dialog", { name: "Link to deep" }).getByRole("radio");
  await becomes(() => kinds.count(), 2);
  await page.keyboard.press("Escape");
});
