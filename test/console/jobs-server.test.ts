import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { scaled, tier } from "../support/tier.ts";
import { inBrowser, inChromium, openConsole, sharedNode, testNode } from "./browser.ts";
import { Hand, menuLink } from "./hand.ts";
import { rowsOf, rowWith } from "./log-page.ts";

/** test:all fills the largest memory of the log. */
const entries = tier === "fast" ? 5000 : 50_000;
/** In the middle, and part of no other number. */
const wanted = Math.floor(0.6283 * entries);

inBrowser(scaled("job: find an entry among thousands, and what it was about"), async () => {
  await using node = await testNode({
    logging: 'memory_log_filter = "off,task=trace"\nmemory_log_capacity = 50000\n',
  });
  const log = node.node.hub.logger("task");
  for (let n = 1; n <= entries; n += 1) log.info(`entry ${n}`, { n });
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "Logs"));
  await page.getByText(`${entries.toLocaleString("en")} entries`).waitFor();
  await hand.press("/");
  await hand.type(page.getByLabel("Search", { exact: true }), `entry ${wanted}`);
  await page.getByText("1 match", { exact: true }).waitFor();
  await hand.press("Enter");
  await rowWith(page, `entry ${wanted}`).waitFor();
  await hand.click(rowWith(page, `entry ${wanted}`));
  await page.getByText(`${wanted}`, { exact: true }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, keys: 2, texts: 1 });
  // Levels are buttons.
  await hand.click(page.getByRole("button", { name: "Error", exact: true }));
  await page.getByText(/No entries match the filter/).waitFor();
  expect(await rowsOf(page).count()).toBe(0);
  expect(hand.effort()).toEqual({ clicks: 1 });
});

// Playwright does not report a blob that Firefox downloads.
inChromium("job: ask the database, and keep the answer", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  const editor = page.getByRole("textbox", { name: "SQL statement" });
  await hand.click(menuLink(page, "SQL"));
  await hand.click(editor);
  await hand.paste(editor, "SELECT 40 + 2 AS answer");
  await hand.press("Control+Enter");
  await page.getByRole("gridcell", { name: "42", exact: true }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, texts: 1, keys: 1 });
  const download = page.waitForEvent("download");
  await hand.click(page.getByRole("button", { name: "Save as CSV" }));
  expect(await readFile(await (await download).path(), "utf8")).toBe("answer\r\n42\r\n");
  expect(hand.effort()).toEqual({ clicks: 1 });
});

inBrowser("job: change the configuration, with a mistake that is found before it is saved", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  const editor = page.getByRole("textbox", { name: "Configuration" });
  await hand.click(menuLink(page, "Config"));
  await page.getByText("No problems found").waitFor();
  await hand.click(editor);
  await hand.press("Control+Home");
  await hand.paste(editor, "max_upload_sise = 5000\n");
  await page.getByText("did you mean max_upload_size?").waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, texts: 1, keys: 1 });
  await hand.press("Control+z");
  await hand.paste(editor, "max_upload_size = 5000\n");
  await page.getByText("No problems found").waitFor();
  await hand.press("Control+s");
  await hand.click(page.getByRole("button", { name: "Save and apply" }));
  await page.getByText("Saved and in effect: ").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1, texts: 1, keys: 2 });
  expect(await readFile(node.configPath, "utf8")).toStartWith("max_upload_size = 5000\n");
});

inBrowser("job: call a method from the API explorer", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "API"));
  await page.getByLabel("Find a method").waitFor();
  await hand.press("/");
  await hand.type(page.getByLabel("Find a method"), "bucket_create");
  await hand.click(page.getByRole("link", { name: /static-bucket_create/ }));
  const name = page.getByLabel("name", { exact: true });
  await hand.click(name);
  await hand.type(name, "site");
  await hand.press("Control+Enter");
  await page.getByLabel("Response as JSON").getByText('"site"').first().waitFor();
  expect(hand.effort()).toEqual({ clicks: 3, texts: 2, keys: 2 });
});
