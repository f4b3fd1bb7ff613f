import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { rename } from "./file-page.ts";

/** Failed requests that the browser reports and the page explains. */
const failed = /Failed to load resource/;
const panel = (page: Page) => page.getByRole("region", { name: "Uploads" });
const choose = (page: Page, what: "Upload files" | "Upload folder", paths: string | string[]) =>
  page.locator(`input[aria-label="${what}"]`).setInputFiles(paths);

async function written(folder: string, sizes: Record<string, number>): Promise<string[]> {
  for (const [name, size] of Object.entries(sizes)) await writeFile(join(folder, name), new Uint8Array(size));
  return Object.keys(sizes).map((name) => join(folder, name));
}

async function edgesOf(page: Page, selector: string) {
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`${selector} is not shown`);
  return { top: box.y, right: box.x + box.width, bottom: box.y + box.height };
}

inBrowser(
  "uploads stay in the corner of every page, failures first, and open from their headline",
  async () => {
    await using node = await testNode({ top: "max_upload_size = 1000\n" });
    await using own = await tempFolder();
    await siteWith(node, {});
    for (let at = 0; at < 30; at += 1)
      await node.call("static-bucket_create", { token: node.superToken, name: `bucket-${at}` });
    const small = Object.fromEntries(Array.from({ length: 18 }, (_, at) => [`a${at}.txt`, 10]));
    const paths = await written(own.path, { ...small, "z-too-big.bin": 2000 });
    await using tab = await openConsole(node, { at: "/buckets/site", expected: failed });
    const { page } = tab;
    await page.getByText("This folder is empty").waitFor();
    await choose(page, "Upload files", paths);
    await panel(page).getByText("18 files uploaded, 1 failed").waitFor();
    const first = panel(page).getByRole("listitem").first();
    await first.getByText("z-too-big.bin", { exact: true }).waitFor();
    await first.getByText(/max_upload_size/).waitFor();
    await shoot(page, "uploads-docked");
    expect(await axeFindings(page)).toEqual([]);

    for (const name of ["Buckets", "Overview", "Tokens"]) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      const { bottom, right } = await edgesOf(page, ".uploads");
      expect([bottom, right]).toEqual([800 - 16, 1280 - 16]);
    }
    await panel(page).getByRole("button", { name: "Hide the list of uploads" }).click();
    expect(await panel(page).getByRole("listitem").count()).toBe(0);
    await panel(page).getByText("18 files uploaded, 1 failed").waitFor();
    await panel(page).getByRole("button", { name: "Show the list of uploads" }).click();
    await first.getByText("z-too-big.bin", { exact: true }).waitFor();
    await panel(page).getByRole("button", { name: "Close" }).click();
    await panel(page).waitFor({ state: "detached" });
  },
);

/** An expression for the page: true once both are shown and the toast is above or beside the uploads, false if that never comes. */
const toastIsBesideUploads = `new Promise((resolve) => {
  const edges = (selector) => document.querySelector(selector)?.getBoundingClientRect();
  const look = () => {
    const [toasts, uploads] = [edges(".toasts"), edges(".uploads")];
    if (toasts?.height > 0 && (toasts.bottom < uploads?.top || toasts.right < uploads?.left)) resolve(true);
    else requestAnimationFrame(look);
  };
  look();
  setTimeout(resolve, 60_000, false);
})`;

inBrowser("a toast stands above or beside the uploads and does not cover them", async () => {
  await using node = await testNode();
  await using own = await tempFolder();
  await siteWith(node, { "old.txt": "old" });
  for (const phone of [false, true]) {
    const paths = await written(own.path, { "old.txt": 10, [`new ${phone}.txt`]: 10 });
    await using tab = await openConsole(node, { at: "/buckets/site", phone });
    const { page } = tab;
    await page.getByRole("grid", { name: "Files" }).waitFor();
    await choose(page, "Upload files", paths);
    // Compared by the page itself: on a busy machine the toast may be gone before this process asks.
    const skip = page.getByRole("dialog").getByRole("button", { name: "Skip" });
    const [isBeside] = await Promise.all([page.evaluate(toastIsBesideUploads), skip.click()]);
    expect(isBeside).toBe(true);
    await shoot(page, `uploads-toast-${phone ? "phone" : "wide"}`);
  }
});

inBrowser("one failed and one cancelled upload are each sent once more, and nothing else is", async () => {
  await using node = await testNode({ top: "max_upload_size = 1000\n" });
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  const paths = await written(own.path, { "big.bin": 2000, "bigger.bin": 3000, "held.txt": 10 });
  await using tab = await openConsole(node, { at: "/buckets/site", expected: failed });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  // The cancelled request must not reach the server, not even late: a second one does not replace what the first has stored.
  await page.route("**/held.txt", () => {}, { times: 1 });
  await choose(page, "Upload files", paths);
  await panel(page).getByText("Uploading 1 file, 2 failed").waitFor();
  await panel(page).getByRole("button", { name: "Cancel held.txt" }).click();
  await panel(page).getByText("0 files uploaded, 2 failed, 1 cancelled").waitFor();
  await panel(page).getByRole("button", { name: "Retry held.txt" }).click();
  await panel(page).getByText("1 file uploaded, 2 failed").waitFor();
  expect(readdirSync(folder)).toEqual(["held.txt"]);

  const config = await Bun.file(node.configPath).text();
  await Bun.write(node.configPath, config.replace("= 1000", "= 0"));
  await node.node.reload();
  await panel(page).getByRole("button", { name: "Retry big.bin" }).click();
  await panel(page).getByText("2 files uploaded, 1 failed").waitFor();
  expect(readdirSync(folder).sort()).toEqual(["big.bin", "held.txt"]);
});

inBrowser("a double click on the cross of an upload cancels it and does not send it again", async () => {
  await using node = await testNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  const paths = await written(own.path, { "held.txt": 10, "other.txt": 10 });
  await using tab = await openConsole(node, { at: "/buckets/site", expected: failed });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  // Neither reaches the server, not even late.
  await page.route(/(held|other)\.txt$/, () => {}, { times: 2 });
  const button = (name: string) => panel(page).getByRole("button", { name });
  /** Double click whose second click comes after the row has changed, at the same point. */
  const dblclick = async (name: string, changed: () => Promise<unknown>) => {
    const box = await button(name).boundingBox();
    if (box === null) throw new Error(`${name} is not shown`);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await changed();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
  };
  await choose(page, "Upload files", paths);
  await panel(page).getByText("Uploading 2 files").waitFor();
  // The other upload is first in the list now, under the mouse.
  await dblclick("Cancel held.txt", () => button("Retry held.txt").waitFor());
  await dblclick("Cancel other.txt", () => button("Retry other.txt").waitFor());
  await panel(page).getByText("0 files uploaded, 2 cancelled").waitFor();
  await button("Retry held.txt").click();
  await panel(page).getByText("1 file uploaded, 1 cancelled").waitFor();
  expect(readdirSync(folder)).toEqual(["held.txt"]);
});

inBrowser("a folder is uploaded as it is, or only what it holds, as one says", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  await mkdir(join(own.path, "dist/img"), { recursive: true });
  await writeFile(join(own.path, "dist/index.html"), "<h1>Home</h1>");
  await writeFile(join(own.path, "dist/img/a.txt"), "a");
  // No request may fail: only missing folders are created.
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload folder", join(own.path, "dist"));
  await page.getByRole("dialog", { name: "Upload the folder or only its contents?" }).waitFor();
  await shoot(page, "uploads-folder");
  expect(await axeFindings(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await shoot(page, "uploads-folder-phone");
  const overflow = "((dialog) => dialog.scrollWidth - dialog.clientWidth)(document.querySelector('dialog'))";
  expect(await page.evaluate(overflow)).toBe(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(readdirSync(folder)).toEqual([]);
  await choose(page, "Upload folder", join(own.path, "dist"));
  await page.getByRole("button", { name: "Upload its contents" }).click();
  await panel(page).getByText("2 files uploaded").waitFor();
  expect(readdirSync(folder).sort()).toEqual(["img", "index.html"]);
  await choose(page, "Upload folder", join(own.path, "dist"));
  await page.getByRole("button", { name: "Upload the folder" }).click();
  await panel(page).getByText("4 files uploaded").waitFor();
  expect(readdirSync(join(folder, "dist")).sort()).toEqual(["img", "index.html"]);
});

inBrowser("folders are made where they are missing, by requests that all succeed", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "a/b/there.txt": "x" });
  await mkdir(join(own.path, "b/c/d"), { recursive: true });
  await writeFile(join(own.path, "b/c/d/deep.txt"), "deep");
  await using tab = await openConsole(node, { at: "/buckets/site?path=a" });
  const { page } = tab;
  const answers: string[] = [];
  page.on("response", (response) => {
    const method = response.request().method();
    if (method === "MKCOL") answers.push(`${response.status()} ${new URL(response.url()).pathname}`);
  });
  await page.getByRole("grid", { name: "Files" }).waitFor();
  await choose(page, "Upload folder", join(own.path, "b"));
  await page.getByRole("button", { name: "Upload the folder" }).click();
  await panel(page).getByText("1 file uploaded").waitFor();
  const made = (path: string) => `201 /node/static-webdav/site/${path}`;
  await becomes(() => answers, [made("a/b/c"), made("a/b/c/d")]);
  answers.length = 0;
  await page.getByRole("button", { name: "New folder" }).click();
  await page.getByLabel("Name", { exact: true }).fill("new");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("This folder is empty").waitFor();
  await becomes(() => answers, [made("a/new")]);
  answers.length = 0;
  await page.goto(`${node.url}/node/console/#/buckets/site?path=a/b`);
  await page.getByRole("checkbox", { name: "Select there.txt" }).check();
  await rename(page, "a/x/y/moved.txt");
  await page.getByText("there.txt is now").waitFor();
  await becomes(() => answers, [made("a/x"), made("a/x/y")]);
  expect(readdirSync(join(folder, "a/x/y"))).toEqual(["moved.txt"]);
  // What has succeeded does not stay in the way on other pages.
  await panel(page).waitFor();
  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  await panel(page).waitFor({ state: "detached" });
});
