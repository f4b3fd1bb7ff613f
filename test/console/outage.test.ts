import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, shoot } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { restartableNode } from "./outage.ts";

const expected = /Failed to load|ERR_|WebSocket|dynamically imported/;
const banner = (page: Page) => page.getByRole("alert").filter({ hasText: "This page reconnects by itself" });
const isBack = (page: Page) => banner(page).waitFor({ state: "hidden" });

/** Pages, with a text that shows that everything has loaded. */
const shown: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  "/overview": async (page) => {
    await page
      .locator(".overview-status")
      .getByText(/Healthy|Needs attention/)
      .waitFor();
    await page.locator(".overview-tiles").waitFor();
    await page.getByText(/in the server's memory|entr(y|ies)$/).waitFor();
  },
  "/activity": (page) => page.getByRole("status").filter({ hasText: "Live" }).waitFor(),
  "/logs": (page) => page.getByRole("status").filter({ hasText: "Live" }).waitFor(),
  "/buckets": (page) => page.locator(".buckets-table").getByText("site", { exact: true }).waitFor(),
  "/buckets/site": (page) => page.getByText("notes.txt").waitFor(),
  "/buckets/site?file=notes.txt": (page) => page.getByText("some notes").waitFor(),
  "/sql": async (page) => {
    await page.getByText("seaql_migrations").waitFor();
    await page.locator(".cm-content").waitFor();
  },
  "/config": (page) => page.locator(".cm-content").getByText("database_url").waitFor(),
  "/tokens": (page) => page.getByRole("row", { name: "root" }).waitFor(),
  "/update": (page) => page.getByRole("heading", { name: /^Version / }).waitFor(),
  "/api": (page) => page.getByRole("link", { name: /node-server_hello/ }).waitFor(),
};

for (const [at, isShown] of Object.entries(shown))
  inBrowser(`${at} comes by itself when a server that was away is back, under one banner`, async () => {
    await using node = await restartableNode();
    await siteWith(node, { "notes.txt": "some notes" });
    await using tab = await openConsole(node, { at: "/nowhere", expected });
    const { page } = tab;
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await node.stop();
    // Neither the page's code nor its data can be loaded.
    await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
    await banner(page).waitFor();
    await shoot(page, `away-${at.replace(/\W+/g, "-")}`);
    expect([await page.locator(".problem").count(), await page.locator(".toast").count()]).toEqual([0, 0]);
    await node.start();
    await isShown(page);
    await isBack(page);
    // And once more, with the page shown.
    await node.stop();
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await banner(page).waitFor();
    expect(await page.locator(".problem").count()).toBe(0);
    await node.start();
    await isBack(page);
    await isShown(page);
  });

inBrowser(
  "a console that is opened while the server cannot answer calls signs in by itself later",
  async () => {
    await using node = await restartableNode();
    await using tab = await openConsole(node, { at: "/api", expected });
    const { page } = tab;
    await page.route("**/jsonrpc", (route) => route.abort());
    await page.reload();
    await banner(page).waitFor();
    expect(await page.getByRole("heading", { name: "Sign in" }).count()).toBe(0);
    await page.unroute("**/jsonrpc");
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  },
);

inBrowser(
  "what was asked for while the server is away is said to have failed, and can be done afterwards",
  async () => {
    await using node = await restartableNode();
    const said = new RegExp(`${expected.source}|The server cannot be reached`);
    await using tab = await openConsole(node, { at: "/sql", expected: said });
    const { page } = tab;
    await page.locator(".cm-content").fill("select 41 + 1 as answer");
    await node.stop();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".problem").filter({ hasText: "The server cannot be reached" }).waitFor();
    await banner(page).waitFor();
    await node.start();
    await isBack(page);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("42", { exact: true }).waitFor();
  },
);

inBrowser("a save while the server is away is one message, which goes when the server is back", async () => {
  await using node = await restartableNode();
  const site = await siteWith(node, { "notes.txt": "old" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=notes.txt", expected });
  const { page } = tab;
  await page.getByRole("button", { name: "Edit" }).click();
  await page.locator(".cm-content[contenteditable=true]").fill("what I wrote");
  await node.stop();
  const notDone = banner(page).getByText("Your last action was not done");
  for (let times = 0; times < 3; times += 1) {
    await Promise.all([page.waitForEvent("requestfailed"), page.keyboard.press("ControlOrMeta+s")]);
    await notDone.waitFor();
  }
  await shoot(page, "away-save");
  await page.getByText("Not saved").waitFor();
  await node.start();
  await isBack(page);
  await becomes(() => page.locator(".toast, .problem").allTextContents(), []);
  await page.keyboard.press("ControlOrMeta+s");
  await page.locator(".toast").filter({ hasText: "Saved." }).waitFor();
  expect(await (await site.get("/notes.txt")).text()).toBe("what I wrote");
  // The next outage starts without this message.
  await node.stop();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await banner(page).waitFor();
  expect(await notDone.count()).toBe(0);
  await node.start();
  await isBack(page);
});
