import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, sharedNode, Tab, testNode } from "./browser.ts";
import { Hand, menuLink } from "./hand.ts";
import { restartableNode } from "./outage.ts";

// Each story is a job of an operator, and what it takes is asserted: a change that makes a job longer fails here.

const allFour = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
const siteLimits = [{ scopes: [{ static_bucket: "site" }], permissions: allFour }];
const tokenField = (page: Page) => page.getByLabel("Token", { exact: true });

inBrowser("job: sign in from the server's bare address, and see whether it is well", async () => {
  await using node = await testNode();
  await using tab = await Tab.open(node);
  const { page } = tab;
  const hand = new Hand(page);
  await page.goto(`${node.url}/`);
  await hand.click(page.getByRole("link", { name: /console/i }));
  await hand.paste(tokenField(page), node.superToken);
  await hand.press("Enter");
  await page.locator(".overview-status").getByText("Healthy").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1, texts: 1, keys: 1 });
  // Everything that an operator asks first is on this page.
  const tiles = page.locator(".overview-tiles");
  for (const name of [/Requests/, /CPU/, /Memory/, /Disk/, /Connections/])
    await tiles.getByText(name).first().waitFor();
  expect(hand.effort()).toEqual({});
});

inBrowser("job: correct a mistyped token", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.paste(tokenField(page), "wrong:secret");
  await hand.press("Enter");
  await page.getByRole("alert").filter({ hasText: "does not know this token" }).waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 1 });
  // The field keeps the focus and its text, which the next paste replaces.
  await hand.press("ControlOrMeta+a");
  await hand.paste(tokenField(page), node.superToken);
  await hand.press("Enter");
  await page.locator(".overview-status").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 2 });
});

inBrowser("job: make a bucket, and be in it", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "Buckets"));
  await hand.click(page.getByRole("button", { name: "New bucket" }));
  await hand.type(page.getByLabel("Name", { exact: true }), "site");
  await hand.press("Enter");
  await page.getByRole("heading", { name: "site", level: 1 }).waitFor();
  await page.getByText("This folder is empty").waitFor();
  expect(hand.effort()).toEqual({ clicks: 2, texts: 1, keys: 1 });
});

inBrowser("job: sign in as a colleague, and be where the work is", async () => {
  await using node = await testNode();
  await siteWith(node, { "index.html": "hello" });
  await node.call("static-bucket_create", { token: node.superToken, name: "other" });
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  const hand = new Hand(page);
  await page.goto(`${node.url}/node/console/`);
  await hand.paste(tokenField(page), await node.newToken(siteLimits));
  await hand.press("Enter");
  await page.getByRole("grid", { name: "Files" }).getByText("index.html").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 1 });
  expect(await page.getByText(/permission|does not allow/).count()).toBe(0);
});

inBrowser("job: sign out in every tab, also after Buckets was open", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const other = await page.context().newPage();
  await other.goto(`${node.url}/node/console/#/api`);
  await other.getByRole("heading", { name: "API", level: 1 }).waitFor();
  await page.bringToFront();
  await page.getByText("This folder is empty").waitFor();
  const hand = new Hand(page);
  await hand.click(page.getByRole("button", { name: "Sign out" }));
  for (const each of [page, other]) {
    await each.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await each.locator(".toast").allTextContents()).toEqual([]);
  }
  expect(hand.effort()).toEqual({ clicks: 1 });
});

inBrowser("job: go on with a new token when the old one has ended, with nothing lost", async () => {
  await using node = await testNode();
  const site = await siteWith(node, { "notes.txt": "old" });
  const token = await node.newToken(siteLimits);
  const at = "/buckets/site?file=notes.txt";
  await using tab = await openConsole(node, { token, at, expected: /status of 401/ });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("button", { name: "Edit" }));
  await hand.type(page.locator(".cm-content[contenteditable=true]"), "and new ");
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
  await hand.press("ControlOrMeta+s");
  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.getByText("Your unsaved work is kept").waitFor();
  expect(hand.effort()).toEqual({ clicks: 1, texts: 1, keys: 1 });
  await hand.paste(tokenField(page), await node.newToken(siteLimits));
  await hand.press("Enter");
  // The save that was refused is done by itself.
  await page.getByText("Saved.").waitFor();
  expect(hand.effort()).toEqual({ texts: 1, keys: 1 });
  expect(await (await site.get("/notes.txt")).text()).toBe("and new old");
});

inBrowser("job: sit out a restart of the server, also with a reload meanwhile", async () => {
  await using node = await restartableNode();
  await siteWith(node, { "notes.txt": "some notes" });
  await using tab = await openConsole(node, {
    at: "/buckets/site",
    expected: /Failed to load|ERR_|WebSocket/,
  });
  const { page } = tab;
  const hand = new Hand(page);
  const banner = page.getByRole("alert").filter({ hasText: "This page reconnects by itself" });
  await page.getByText("notes.txt").waitFor();
  await node.stop();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await banner.waitFor();
  await node.start();
  await banner.waitFor({ state: "hidden" });
  await page.reload();
  await page.getByText("notes.txt").waitFor();
  expect(hand.effort()).toEqual({});
});

inBrowser("job: change to dark colours, and back to those of the system", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const light = await background();
  await hand.click(page.getByRole("button", { name: "Dark colours" }));
  expect(hand.effort()).toEqual({ clicks: 1 });
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.locator(".overview-status").waitFor();
  expect(await background()).toBe(dark);
  await hand.click(page.getByRole("button", { name: "System colours" }));
  expect(await background()).toBe(light);
  expect(hand.effort()).toEqual({ clicks: 1 });
});
