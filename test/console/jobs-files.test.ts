import { expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { openRelay } from "../support/relay.ts";
import { scaled, tier } from "../support/tier.ts";
import { inBrowser, inChromium, openConsole, sharedNode, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { list } from "./file-page.ts";
import { Hand, menuLink } from "./hand.ts";

/** More files than are sent side by side. */
const droppedFiles = tier === "fast" ? 60 : 300;

inChromium(scaled(`job: drop a folder of ${droppedFiles} files, and open it as a site`), async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using own = await tempFolder();
  const folder = join(own.path, "public");
  for (const part of ["", "css", "img"]) mkdirSync(join(folder, part), { recursive: true });
  for (let at = 0; at < droppedFiles - 1; at += 1)
    writeFileSync(join(folder, at % 2 === 0 ? "css" : "img", `${at}.txt`), "x");
  writeFileSync(join(folder, "index.html"), "<h1>Welcome</h1>");
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  await page.getByText("This folder is empty").waitFor();
  await hand.drop(page.locator("main"), folder);
  await hand.click(page.getByRole("button", { name: "Upload its contents" }));
  await page.getByText(`${droppedFiles} files uploaded`).waitFor();
  expect(hand.effort()).toEqual({ drops: 1, clicks: 1 });
  const opened = page.context().waitForEvent("page");
  await hand.click(page.getByRole("link", { name: "Open site" }));
  await (await opened).getByRole("heading", { name: "Welcome" }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 1 });
});

/** Sets how many bytes a second the page can send; -1 for any number. */
async function uploadLimiter(page: Page): Promise<(uploadThroughput: number) => Promise<unknown>> {
  const devtools = await page.context().newCDPSession(page);
  const others = { offline: false, latency: 0, downloadThroughput: -1 };
  return (uploadThroughput) =>
    devtools.send("Network.emulateNetworkConditions", { ...others, uploadThroughput });
}

inChromium("job: stop a large upload, and do it again", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using own = await tempFolder();
  const file = join(own.path, "film.bin");
  writeFileSync(file, new Uint8Array(40_000_000));
  await using tab = await openConsole(node, { at: "/buckets/site", expected: /Failed to load|ERR_/ });
  const { page } = tab;
  const hand = new Hand(page);
  const limitUploads = await uploadLimiter(page);
  await page.getByText("This folder is empty").waitFor();
  await limitUploads(2_000_000);
  await hand.drop(page.locator("main"), file);
  const panel = page.getByRole("region", { name: "Uploads" });
  await panel.getByText(/left/).first().waitFor();
  await panel.getByText(/MB\/s/).first().waitFor();
  await hand.click(panel.getByRole("button", { name: "Cancel film.bin" }));
  await panel.getByText("Cancelled", { exact: true }).waitFor();
  await limitUploads(-1);
  await hand.click(panel.getByRole("button", { name: "Retry film.bin" }));
  await list(page).getByText("film.bin").waitFor();
  expect(hand.effort()).toEqual({ drops: 1, clicks: 2 });
});

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><rect width="120" height="80"/></svg>`;

inBrowser("job: look into files of every kind, one click each", async () => {
  await using node = await sharedNode();
  await siteWith(node, {
    "a.md": "# Handbook",
    "b.csv": "Name,Note\nAda,first\n",
    "c.pdf": "%PDF-1.4\n",
    "d.svg": svg,
    "e.ts": "const a = 1;",
    "f.go": "package main",
    "g.txt": Buffer.from([0x66, 0xfc, 0x72]),
    "h.log": `beginning\n${"line\n".repeat(300_000)}`,
  });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  const dialog = page.getByRole("dialog");
  await hand.click(list(page).getByTitle("a.md", { exact: true }));
  await dialog.getByRole("heading", { name: "Handbook" }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 1 });
  const next = async (shown: { waitFor(): Promise<void> }) => {
    await hand.press("ArrowRight");
    await shown.waitFor();
  };
  await next(dialog.getByRole("cell", { name: "first" }));
  // The shell that runs the stories has no viewer for PDF; a whole browser shows it (preview-kinds.test.ts).
  await next(dialog.getByText("This browser cannot show PDF files"));
  await next(dialog.getByRole("img", { name: "d.svg" }));
  await next(dialog.getByRole("textbox", { name: "Content of e.ts" }));
  await next(dialog.getByRole("textbox", { name: "Content of f.go" }).getByText("package"));
  await next(dialog.getByText("Shown as Latin-1"));
  await next(dialog.getByText(/Only the first .* are shown/));
  expect(hand.effort()).toEqual({ keys: 7 });
});

inBrowser("job: edit a text while somebody else does", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "notes.txt": "old" });
  const expected = /Failed to load resource.*412|Someone else changed/;
  await using tab = await openConsole(node, { at: "/buckets/site", expected });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(list(page).getByTitle("notes.txt", { exact: true }));
  await hand.click(page.getByRole("button", { name: "Edit" }));
  const editor = page.locator(".cm-content[contenteditable=true]");
  await hand.type(editor, "mine ");
  await hand.press("ControlOrMeta+s");
  await page.getByText("Saved.").waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, texts: 1, keys: 1 });
  expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("mine old");
  writeFileSync(join(folder, "notes.txt"), "theirs, which is longer");
  await hand.type(editor, "again ");
  await hand.press("ControlOrMeta+s");
  await hand.click(page.getByRole("button", { name: "Overwrite" }));
  await eventually("mine is saved", () => readFileSync(join(folder, "notes.txt"), "utf8").includes("again"));
  expect(hand.effort()).toEqual({ clicks: 1, texts: 1, keys: 1 });
});

inBrowser("job: rename a file, delete it, and get it back", async () => {
  await using node = await testNode({ top: "keep_removed_days = 30\n" });
  const site = await siteWith(node, { "a.txt": "a", "b.txt": "b" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  // Into the row, beside the name.
  await hand.click(list(page).getByRole("row").filter({ hasText: "a.txt" }).locator(".files-changed"));
  await hand.press("F2");
  // The name without its ending is selected.
  await hand.type(page.getByRole("dialog").getByRole("textbox"), "first");
  await hand.press("Enter");
  await list(page).getByText("first.txt").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1, texts: 1, keys: 2 });

  await hand.click(list(page).getByRole("row").filter({ hasText: "first.txt" }).locator(".files-changed"));
  await hand.press("Delete");
  const question = page.getByRole("dialog", { name: "Delete first.txt?" });
  await hand.click(question.getByRole("button", { name: "Delete", exact: true, disabled: false }));
  await list(page).getByText("first.txt").waitFor({ state: "detached" });
  expect(hand.effort()).toEqual({ clicks: 2, keys: 1 });
  await hand.click(page.getByRole("button", { name: "Undo" }));
  await list(page).getByText("first.txt").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1 });
  expect(await (await site.get("/first.txt")).text()).toBe("a");
});

inChromium("job: move a file into a folder, and take it back", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "docs/a.txt": "a", "b.txt": "b" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  const row = (name: string) =>
    list(page).getByRole("row").filter({ hasText: name }).locator(".files-changed");
  await row("b.txt").waitFor();
  await hand.drag(row("b.txt"), row("docs"));
  await list(page).getByText("b.txt").waitFor({ state: "detached" });
  expect(readFileSync(join(folder, "docs/b.txt"), "utf8")).toBe("b");
  expect(hand.effort()).toEqual({ drops: 1 });
  await hand.click(page.getByRole("button", { name: "Undo" }));
  await list(page).getByText("b.txt").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1 });
});

inChromium("job: upload a large file through an outage of the server", async () => {
  await using node = await testNode();
  await siteWith(node, {});
  await using own = await tempFolder();
  const file = join(own.path, "film.bin");
  writeFileSync(file, new Uint8Array(40_000_000));
  await using relay = await openRelay(Number(new URL(node.url).port));
  const at = { url: relay.url, superToken: node.superToken };
  await using tab = await openConsole(at, { at: "/buckets/site", expected: /Failed to load|ERR_|WebSocket/ });
  const { page } = tab;
  const hand = new Hand(page);
  const limitUploads = await uploadLimiter(page);
  const panel = page.getByRole("region", { name: "Uploads" });
  await page.getByText("This folder is empty").waitFor();
  await limitUploads(2_000_000);
  await hand.drop(page.locator("main"), file);
  await panel.getByText(/MB of/).first().waitFor();
  await relay.refuse();
  await panel.getByText(/waiting for the server/).waitFor();
  await limitUploads(-1);
  await relay.mend();
  await panel.getByText("1 file uploaded").waitFor();
  expect(hand.effort()).toEqual({ drops: 1 });
});

inBrowser("job: download a folder, and a selection, as one archive", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "docs/a.txt": "a", "docs/b/c.txt": "c", "x.txt": "x" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  const row = (name: string) =>
    list(page).getByRole("row").filter({ hasText: name }).locator(".files-changed");
  const archive = async () => {
    const download = page.waitForEvent("download");
    await hand.click(page.getByRole("button", { name: "Download as ZIP" }));
    return readFileSync(await (await download).path()).toString("latin1");
  };
  await hand.click(row("docs"));
  expect(await archive()).toContain("docs/b/c.txt");
  expect(hand.effort()).toEqual({ clicks: 2 });
  await hand.click(row("x.txt"), "Control");
  await page.getByText("2 selected").waitFor();
  const both = await archive();
  expect([both.includes("x.txt"), both.includes("docs/a.txt")]).toEqual([true, true]);
  expect(hand.effort()).toEqual({ clicks: 2 });
});

const oddNames = ["日本語 🎉.txt", "100% #1?.txt", 'it\'s "so".txt', "a\nb.txt", "\u202Etxt.exe.txt"];

inBrowser("job: open files with odd names, and read each name as it is", async () => {
  await using node = await sharedNode();
  await siteWith(node, Object.fromEntries(oddNames.map((name, at) => [name, `content ${at}`])));
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "Buckets"));
  // Other pages have links to the bucket, too.
  await hand.click(page.locator(".buckets-table").getByRole("link", { name: "site", exact: true }));
  for (const [at, shown] of [
    "日本語 🎉.txt",
    "100% #1?.txt",
    'it\'s "so".txt',
    "a␊b.txt",
    "⟨U+202E⟩txt.exe.txt",
  ].entries()) {
    await hand.click(list(page).getByTitle(shown, { exact: true }));
    await page.getByText(`content ${at}`).waitFor();
    await hand.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  expect(hand.effort()).toEqual({ clicks: 2 + oddNames.length, keys: oddNames.length });
});
