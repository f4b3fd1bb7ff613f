import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { picture as noise } from "../support/picture.ts";
import { axeFindings, inBrowser, lookAround, openConsole, sharedNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { list } from "./file-page.ts";

const picture = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="${colour}"/></svg>`;
const tile = (page: Page, name: string) =>
  list(page)
    .getByRole("gridcell")
    .filter({ has: page.getByTitle(name, { exact: true }) });
const active = (page: Page) =>
  page.evaluate("document.querySelector('.files-tile.active a')?.title") as Promise<string | undefined>;
const asGrid = (page: Page) => page.getByRole("button", { name: "Show as a grid" }).click();

inBrowser("files are shown as a grid with pictures, and the browser keeps the choice", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "docs/x.txt": "x",
    "a.svg": picture("teal"),
    "b.png": "no picture",
    "c.txt": "c",
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).getByRole("link", { name: "a.svg" }).waitFor();
  await asGrid(page);
  await tile(page, "a.svg").locator("img").waitFor();
  // What is no picture gets its icon.
  await tile(page, "b.png").locator(".files-kind.image").waitFor();
  await tile(page, "docs").locator(".files-kind.folder").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.reload();
  await tile(page, "a.svg").waitFor();

  await tile(page, "c.txt").click();
  await page.getByText("1 selected").waitFor();
  await tile(page, "a.svg").click({ modifiers: ["Shift"] });
  await page.getByText("3 selected").waitFor();
  await tile(page, "c.txt").click({ button: "right" });
  await page.getByRole("menu", { name: "Actions for 3 items" }).waitFor();
  await page.keyboard.press("Escape");
  await tile(page, "c.txt").locator(".files-picture").dblclick();
  await page.getByRole("dialog", { name: "c.txt" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await tile(page, "c.txt").dragTo(tile(page, "docs"));
  await page.getByText("c.txt moved to site/docs.").waitFor();
  expect(readFileSync(join(folder, "docs/c.txt"), "utf8")).toBe("c");
  await tile(page, "docs").dblclick();
  await tile(page, "x.txt").waitFor();
  await page.getByRole("button", { name: "Show as a list" }).click();
  await list(page).getByRole("row").getByTitle("x.txt", { exact: true }).waitFor();
  expect(existsSync(join(folder, "c.txt"))).toBe(false);
});

inBrowser("the grid is steered by the arrows in two dimensions, and holds ten thousand files", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {});
  for (let at = 0; at < 10_000; at += 1) await writeFile(join(folder, `file ${at}.txt`), "");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).getByText("file 0.txt").waitFor();
  await asGrid(page);
  await tile(page, "file 0.txt").waitFor();
  const columns = await list(page).getByRole("row").first().getByRole("gridcell").count();
  expect(columns).toBeGreaterThan(3);
  expect(await list(page).getByRole("gridcell").count()).toBeLessThan(200);
  await list(page).focus();
  for (const [key, name] of [
    ["Home", "file 0.txt"],
    ["ArrowRight", "file 1.txt"],
    ["ArrowDown", `file ${1 + columns}.txt`],
    ["ArrowLeft", `file ${columns}.txt`],
    ["ArrowUp", "file 0.txt"],
    ["End", "file 9999.txt"],
  ] as const) {
    await page.keyboard.press(key);
    await tile(page, name).waitFor();
    expect(await active(page)).toBe(name);
  }
  await page.keyboard.press("Control+a");
  await page.getByText("10,000 selected").waitFor();
});

inBrowser("pictures of a private bucket are shown in the grid, without a token in an address", async () => {
  await using node = await sharedNode();
  const photo = await noise(300, 200).png().bytes();
  await siteWith(node, { "a.svg": picture("tomato"), "b.svg": picture("gold"), "c.png": photo });
  await node.call("static-bucket_update", { token: node.superToken, name: "site", public: false });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).getByRole("link", { name: "a.svg" }).waitFor();
  await asGrid(page);
  for (const name of ["a.svg", "b.svg"]) {
    await tile(page, name).locator("img").waitFor();
    expect(await tile(page, name).locator("img").getAttribute("src")).toStartWith("blob:");
  }
  // The server makes a large one smaller.
  const shown = tile(page, "c.png").locator("img");
  await shown.waitFor();
  await becomes(
    () => shown.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
    256,
  );
});

inBrowser("the grid is readable in light, dark and on a phone", async () => {
  await using node = await sharedNode();
  const colours = ["teal", "tomato", "gold", "slateblue", "seagreen", "orchid"];
  const pictures = Object.fromEntries(colours.map((colour) => [`${colour}.svg`, picture(colour)]));
  await siteWith(node, {
    ...pictures,
    "docs/x.txt": "x",
    "a name that is much too long for its tile.md": "#",
    "song.mp3": "x",
    "site.zip": "x",
    "main.ts": "x",
  });
  const findings = await lookAround(node, "files-grid", "/buckets/site", async (page) => {
    await list(page).getByRole("link", { name: "teal.svg" }).waitFor();
    await asGrid(page);
    await tile(page, "teal.svg").locator("img").waitFor();
  });
  expect(findings).toEqual([]);
});
