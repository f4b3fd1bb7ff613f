import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { dropFiles } from "./drop-files.ts";
import { eventually } from "./eventually.ts";

/** Failed requests that the browser reports and the page explains. */
const failed = /Failed to load resource/;
const list = (page: Page) => page.getByRole("grid", { name: "Files" });
const panel = (page: Page) => page.getByRole("region", { name: "Uploads" });
const choose = (page: Page, what: "Upload files" | "Upload folder", paths: string | string[]) =>
  page.locator(`input[aria-label="${what}"]`).setInputFiles(paths);

/** Point of the page with only the list. */
const drop = (page: Page, ...files: string[]) => dropFiles(page, { x: 700, y: 500 }, ...files);

const somethingSent = (page: Page) =>
  eventually("bytes are sent", () =>
    page.evaluate("document.querySelector('.uploads-row progress')?.value > 0"),
  );

/** Slow enough to see an upload of megabytes in progress. */
async function slowDown(page: Page, bytesPerSecond: number): Promise<() => Promise<unknown>> {
  const session = await page.context().newCDPSession(page);
  const limit = (uploadThroughput: number) =>
    session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  await limit(bytesPerSecond);
  return () => limit(-1);
}

inBrowser("who goes on before the question comes replaces nothing, and has the rest uploaded", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "there.txt": "theirs" });
  const paths = ["there.txt", "new.txt"].map((name) => join(own.path, name));
  for (const path of paths) await writeFile(path, "mine");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  const held = Promise.withResolvers<void>();
  await page.route("**/node/static-webdav/site/", async (route) => {
    await held.promise;
    await route.continue();
  });
  await Promise.all([
    page.waitForRequest("**/node/static-webdav/site/"),
    choose(page, "Upload files", paths),
  ]);
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  held.resolve();
  await page.getByText("1 file skipped.").waitFor();
  await panel(page).getByText("1 file uploaded").waitFor();
  expect(readFileSync(join(folder, "there.txt"), "utf8")).toBe("theirs");
  expect(readFileSync(join(folder, "new.txt"), "utf8")).toBe("mine");
});

inBrowser("files are uploaded into the folder that is shown, with the time they had", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "in/there.txt": "x" });
  const paths = ["a.txt", "große Datei %#.bin"].map((name) => join(own.path, name));
  for (const path of paths) {
    await writeFile(path, `content of ${path}`);
    await utimes(path, 1_000_000_000, 1_000_000_000);
  }
  await using tab = await openConsole(node, { at: "/buckets/site?path=in" });
  const { page } = tab;
  await list(page).waitFor();
  await choose(page, "Upload files", paths);
  await panel(page).getByText("2 files uploaded").waitFor();
  await list(page).getByText("große Datei %#.bin").waitFor();
  for (const path of paths) {
    const arrived = join(folder, "in", path.slice(own.path.length));
    expect(readFileSync(arrived, "utf8")).toBe(`content of ${path}`);
    expect((await stat(arrived)).mtimeMs).toBe(1_000_000_000_000);
  }
  await shoot(page, "uploads-done");
  expect(await axeFindings(page)).toEqual([]);
  await panel(page).getByRole("button", { name: "Close" }).click();
  await panel(page).waitFor({ state: "detached" });
});

inBrowser("a whole folder is uploaded, by button and by drop, with all that is in it", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  // A browser hands out the entries of a dropped folder a hundred at a time.
  for (const [top, count] of Object.entries({ chosen: 10, dropped: 110 })) {
    await mkdir(join(own.path, top, "deep/er"), { recursive: true });
    await mkdir(join(own.path, top, "nothing in it"));
    for (let at = 0; at < count; at += 1) await writeFile(join(own.path, top, `${at}.txt`), `${at}`);
    await writeFile(join(own.path, top, "deep/er/日本.txt"), "deep");
  }
  await writeFile(join(own.path, "beside.txt"), "beside");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload folder", join(own.path, "chosen"));
  await page.getByRole("button", { name: "Upload the folder" }).click();
  await panel(page).getByText("11 files uploaded").waitFor();
  expect(readdirSync(join(folder, "chosen"))).toHaveLength(11);
  expect(readFileSync(join(folder, "chosen/deep/er/日本.txt"), "utf8")).toBe("deep");

  await drop(page, join(own.path, "dropped"), join(own.path, "beside.txt"));
  await page.getByRole("button", { name: "Upload the folder" }).click();
  await panel(page).getByText("123 files uploaded").waitFor();
  expect(readdirSync(join(folder, "dropped"))).toHaveLength(112);
  expect(readFileSync(join(folder, "dropped/deep/er/日本.txt"), "utf8")).toBe("deep");
  expect(readdirSync(join(folder, "dropped/nothing in it"))).toEqual([]);
  expect(readFileSync(join(folder, "beside.txt"), "utf8")).toBe("beside");
  await list(page).getByText("beside.txt").waitFor();
});

inBrowser("what an upload would replace is asked once: replace, skip or cancel", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "a.txt": "old a", "b.txt": "old b" });
  const paths = ["a.txt", "b.txt", "c.txt"].map((name) => join(own.path, name));
  for (const path of paths) await writeFile(path, "new");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const content = () =>
    readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name), "utf8"));
  const ask = async (answer: string) => {
    await choose(page, "Upload files", paths);
    await page.getByRole("dialog").getByText("already exist").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: answer }).click();
  };
  await list(page).waitFor();
  await choose(page, "Upload files", paths);
  await page.getByRole("dialog").getByText("2 of 3 files already exist").waitFor();
  await shoot(page, "uploads-replace");
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await panel(page).count()).toBe(0);
  expect(content()).toEqual(["old a", "old b"]);
  await ask("Skip these");
  await panel(page).getByText("1 file uploaded").waitFor();
  expect(content()).toEqual(["old a", "old b", "new"]);
  await ask("Replace");
  await panel(page).getByText("4 files uploaded").waitFor();
  expect(content()).toEqual(["new", "new", "new"]);
});

inBrowser("a large upload tells how far it is, goes on elsewhere, and cancelled leaves nothing", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const { folder } = await siteWith(node, { "sub/x.txt": "x", "old.bin": "old" });
  const paths = ["old.bin", "one.bin", "two.bin", "three.bin"].map((name) => join(own.path, name));
  for (const path of paths) await writeFile(path, new Uint8Array(20_000_000));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await list(page).waitFor();
  await slowDown(page, 300_000);
  await choose(page, "Upload files", paths);
  await page.getByRole("button", { name: "Replace" }).click();
  await panel(page).getByText("Uploading 4 files").waitFor();
  await somethingSent(page);
  expect(await panel(page).getByRole("listitem").getByRole("progressbar").count()).toBe(3);
  await panel(page)
    .getByText(/ of 80 MB, .*\/s, .* left$/)
    .waitFor();
  await shoot(page, "uploads-running");
  expect(await axeFindings(page)).toEqual([]);

  await list(page).getByRole("link", { name: "sub" }).click();
  await list(page).getByText("x.txt").waitFor();
  await panel(page).getByText("Uploading 4 files").waitFor();
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Overview", exact: true })
    .click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await panel(page).getByText("Uploading 4 files").waitFor();
  let asked = 0;
  page.once("dialog", (dialog) => {
    asked += 1;
    void dialog.dismiss();
  });
  // Chromium asks only for pages that the person has interacted with.
  await page.getByRole("heading", { name: "Overview", level: 1 }).click();
  await page.close({ runBeforeUnload: true });
  await somethingSent(page);
  await eventually("the browser has asked", () => asked === 1);

  await panel(page).getByRole("button", { name: "Cancel one.bin" }).click();
  await panel(page).getByText("1 cancelled").waitFor();
  await panel(page).getByRole("button", { name: "Cancel all" }).click();
  await panel(page).getByText("0 files uploaded, 4 cancelled").waitFor();
  const staging = join(node.folder, "static/~staging");
  const staged = () =>
    existsSync(staging) ? readdirSync(staging, { recursive: true, withFileTypes: true }) : [];
  await eventually("no file is staged", () => !staged().some((entry) => entry.isFile()));
  expect(readdirSync(folder).sort()).toEqual(["old.bin", "sub"]);
  expect(readFileSync(join(folder, "old.bin"), "utf8")).toBe("old");
});

inBrowser("an upload that the server refuses is told, and can be tried again", async () => {
  await using node = await testNode({ top: "max_upload_size = 1000\n" });
  await using own = await tempFolder();
  const { folder } = await siteWith(node, {});
  const path = join(own.path, "big.bin");
  await writeFile(path, new Uint8Array(2000));
  await using tab = await openConsole(node, { at: "/buckets/site", expected: failed });
  const { page } = tab;
  await page.getByText("This folder is empty").waitFor();
  await choose(page, "Upload files", path);
  await panel(page).getByText("0 files uploaded, 1 failed").waitFor();
  await panel(page).getByRole("listitem").getByText("max_upload_size").waitFor();
  await shoot(page, "uploads-failed");
  // The reason alone stands beside the name, and none of it is cut.
  const reason = panel(page).locator(".fault");
  expect(await reason.textContent()).not.toContain("big.bin");
  expect(await reason.evaluate((shown) => shown.scrollHeight <= shown.clientHeight)).toBe(true);
  const config = await Bun.file(node.configPath).text();
  await node.editConfig(config.replace("= 1000", "= 0"));
  await panel(page).getByRole("button", { name: "Retry failed" }).click();
  await panel(page).getByText("1 file uploaded").waitFor();
  expect((await stat(join(folder, "big.bin"))).size).toBe(2000);
});
