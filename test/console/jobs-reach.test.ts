import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { scaled, tier } from "../support/tier.ts";
import { inBrowser, inChromium, openConsole, sharedNode, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { list } from "./file-page.ts";
import { Hand } from "./hand.ts";
import { showRoute } from "./show-route.ts";

/** Bytes that the page gets over the network, from now on. */
async function receivedBytes(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send("Network.enable");
  return () => bytes;
}

/** How many there are of what is looked for: more than a screen shows; test:all takes what a large server has. */
const amounts =
  tier === "fast" ? { files: 1000, buckets: 40, tokens: 100 } : { files: 10_000, buckets: 200, tokens: 1000 };

inChromium(
  scaled("job: find one of many files and one of many buckets, with little to receive"),
  async () => {
    await using node = await sharedNode();
    const token = node.superToken;
    const { folder } = await siteWith(node, {});
    for (let at = 0; at < amounts.files; at += 1) writeFileSync(join(folder, `file ${at}.txt`), `${at}`);
    for (let at = 0; at < amounts.buckets; at += 1)
      await node.call("static-bucket_create", { token, name: `bucket-${at}` });
    await using tab = await openConsole(node, { at: "/buckets" });
    const { page } = tab;
    const hand = new Hand(page);
    await page.getByText(`${amounts.buckets + 1} buckets`).waitFor();
    await hand.press("/");
    await hand.type(page.getByLabel("Search buckets"), "site");
    await page.getByText(`1 of ${amounts.buckets + 1} buckets`).waitFor();
    const received = await receivedBytes(page);
    await hand.click(page.getByRole("link", { name: "site", exact: true }));
    await list(page).getByText("file 0.txt").waitFor();
    await eventually("the list was received", () => received() > 2 * amounts.files);
    // 766 bytes of XML for each file without compression.
    expect(received()).toBeLessThan(50 * amounts.files);
    await hand.press("/");
    await hand.type(page.getByLabel("Filter by name"), `${amounts.files - 1}`);
    await hand.click(list(page).getByTitle(`file ${amounts.files - 1}.txt`, { exact: true }));
    await page.getByText(`${amounts.files - 1}`, { exact: true }).waitFor();
    expect(hand.effort()).toEqual({ clicks: 2, keys: 2, texts: 2 });
  },
);

inBrowser(scaled("job: find the expired ones of many tokens, and delete them"), async () => {
  await using node = await sharedNode();
  await node.newToken([], { timestamp_to: Date.now() - 1000 });
  for (let at = 0; at < amounts.tokens; at += 1) await node.newToken([], { name: `token ${at}` });
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("button", { name: "Expired" }));
  await hand.click(page.getByRole("checkbox", { name: "Select all tokens shown" }));
  await hand.click(page.getByRole("button", { name: /^Delete/ }));
  await hand.click(page.getByRole("dialog").getByRole("button", { name: /^Delete/ }));
  await page.getByText("1 token deleted.").waitFor();
  expect(hand.effort()).toEqual({ clicks: 4 });
});

const overflows = "document.documentElement.scrollWidth > document.documentElement.clientWidth";

/** Rows of the file list that a person sees. */
const rowsInView = `(() => {
  const box = document.querySelector('[role=grid]').getBoundingClientRect();
  const bottom = Math.min(box.bottom, innerHeight);
  return [...document.querySelectorAll('[role=grid] [role=row]')].filter((row) => {
    const { top, bottom: end } = row.getBoundingClientRect();
    return top >= box.top && end <= bottom;
  }).length;
})()`;

inBrowser("job: make a bucket and put a file into it with a phone", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { phone: true });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("button", { name: "Menu" }));
  await hand.click(page.getByRole("link", { name: "Buckets", exact: true }));
  await hand.click(page.getByRole("button", { name: "New bucket" }));
  await hand.type(page.getByLabel("Name", { exact: true }), "site");
  await hand.press("Enter");
  const chooser = page.waitForEvent("filechooser");
  await hand.click(page.locator("button", { hasText: "Upload files" }));
  await (await chooser).setFiles(
    Array.from({ length: 40 }, (_, at) => ({
      name: `${at}.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from("x"),
    })),
  );
  await list(page).getByText("39.txt").or(list(page).getByText("0.txt")).first().waitFor();
  expect(hand.effort()).toEqual({ clicks: 4, texts: 1, keys: 1 });
  await hand.click(page.getByRole("region", { name: "Uploads" }).getByRole("button", { name: "Close" }));
  // The list is read again while the files arrive.
  await eventually(
    "more than seven rows are in view",
    async () => (await page.evaluate<number>(rowsInView)) > 7,
  );
  expect(await page.evaluate(overflows)).toBe(false);
});

inBrowser("job: work at a zoom of 200 %", async () => {
  await using node = await sharedNode();
  await siteWith(node, Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.txt`, "x"])));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  // What a window of 1280 × 800 shows at 200 %.
  await page.setViewportSize({ width: 640, height: 400 });
  await list(page).getByText("0.txt").first().waitFor();
  for (const at of [
    "/overview",
    "/activity",
    "/logs",
    "/buckets",
    "/sql",
    "/config",
    "/tokens",
    "/update",
    "/api",
  ]) {
    await showRoute(page, at);
    expect([at, await page.evaluate(overflows)]).toEqual([at, false]);
  }
});

inBrowser("job: everything about a file by the keyboard alone", async () => {
  await using node = await testNode({ top: "keep_removed_days = 30\n" });
  await siteWith(node, { "a.txt": "first" });
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.paste(page.getByLabel("Token", { exact: true }), node.superToken);
  await hand.press("Enter");
  await page.locator(".overview-status").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 1 });
  await hand.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  await palette.getByRole("option", { name: "Bucket site" }).waitFor();
  await hand.type(palette.getByRole("combobox"), "site");
  await hand.press("Enter");
  await list(page).getByText("a.txt").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 2 });

  // From the filter, the down arrow leads into the list.
  await hand.press("/", "ArrowDown");
  await list(page).and(page.locator(":focus")).waitFor();
  expect(hand.effort()).toEqual({ keys: 2 });
  await hand.press("ArrowDown", "F2");
  await hand.type(page.getByRole("dialog").getByRole("textbox"), "b");
  await hand.press("Enter");
  await list(page).getByText("b.txt").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 3 });
});
