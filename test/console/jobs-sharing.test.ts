import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { deployClient } from "../support/deploys.ts";
import { inBrowser, openConsole, sharedNode, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { Hand, menuLink } from "./hand.ts";

inBrowser("job: share a file of a private bucket by a link that ends", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "offer.pdf": "the offer" }, { public: false });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("button", { name: "Actions for offer.pdf" }));
  await hand.click(page.getByRole("menuitem", { name: /link/ }));
  const create = page.getByRole("button", { name: "Create and copy link" });
  const link = await copiedBy(page, () => hand.click(create));
  expect(hand.effort()).toEqual({ clicks: 3 });
  expect(await (await fetch(link)).text()).toBe("the offer");
  expect((await fetch(`${node.url}/node/static/site/offer.pdf`)).status).toBe(401);
});

inBrowser("job: copy the address of a public file", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "words" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  const row = page.getByRole("grid", { name: "Files" }).getByRole("row").filter({ hasText: "a.txt" });
  await hand.click(row.locator(".files-changed"));
  const address = await copiedBy(page, () => hand.click(page.getByRole("button", { name: "Copy URL" })));
  expect(hand.effort()).toEqual({ clicks: 2 });
  expect(await (await fetch(address)).text()).toBe("words");
});

inBrowser("job: make a bucket private", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "words" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("link", { name: "Settings", exact: true }));
  await hand.click(page.getByRole("radio", { name: "Private" }));
  await hand.click(page.getByRole("button", { name: "Save" }));
  await page.locator(".badge", { hasText: "Private" }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 3 });
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(401);
});

inBrowser("job: make another bucket the HTTP root, and see the site", async () => {
  await using node = await sharedNode();
  const token = node.superToken;
  await siteWith(node, { "index.html": "<h1>New</h1>" });
  await node.call("static-bucket_create", { token, name: "old", is_http_root: true });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("link", { name: "Settings", exact: true }));
  await hand.click(page.getByRole("checkbox", { name: "HTTP root" }));
  await hand.click(page.getByRole("button", { name: "Save" }));
  await hand.click(page.getByRole("button", { name: "Move HTTP root" }));
  await page.locator(".badge", { hasText: "HTTP root" }).waitFor();
  expect(hand.effort()).toEqual({ clicks: 4 });
  const opened = page.context().waitForEvent("page");
  await hand.click(page.getByRole("link", { name: "Open site" }));
  const site = await opened;
  await site.getByRole("heading", { name: "New" }).waitFor();
  expect(site.url()).toBe(`${node.url}/`);
  expect(hand.effort()).toEqual({ clicks: 1 });
});

inBrowser("job: find out how to mount a bucket", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("link", { name: "site", exact: true }));
  await hand.click(page.getByRole("button", { name: "Mount" }));
  const dialog = page.getByRole("dialog", { name: "Mount site" });
  await dialog.getByText(`${node.url}/node/static-webdav/site/`).first().waitFor();
  expect(hand.effort()).toEqual({ clicks: 2 });
});

inBrowser("job: make a token for a colleague that is limited to one bucket", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "words" });
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "Tokens"));
  await hand.click(page.getByRole("button", { name: "New token" }));
  await hand.click(page.getByRole("combobox", { name: "Bucket" }));
  await hand.type(page.getByRole("combobox", { name: "Bucket" }), "site");
  await page.getByText("Files: read, write, delete, list, in bucket site").waitFor();
  await hand.click(page.getByRole("button", { name: "Create token" }));
  const dialog = page.getByRole("dialog", { name: "The new token" });
  const token = await copiedBy(page, () => hand.click(dialog.getByRole("button", { name: "Copy" }).first()));
  await hand.click(dialog.getByRole("button", { name: "I have copied it" }));
  await dialog.waitFor({ state: "detached" });
  expect(hand.effort()).toEqual({ clicks: 6, texts: 1 });
  expect(await node.send("token_get", [token])).toHaveProperty("result.token_key");
});

inBrowser("job: roll back a deploy", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "index.html": "first" });
  const site = deployClient(node);
  await site.deploy({ "index.html": "second" }, { note: "spring" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(page.getByRole("link", { name: "Deploys", exact: true }));
  await hand.click(page.getByRole("button", { name: "Roll back", exact: true }));
  await hand.click(page.getByRole("dialog").getByRole("button", { name: "Roll back" }));
  await page
    .getByRole("row", { name: /^spring/ })
    .getByText("Earlier")
    .waitFor();
  expect(hand.effort()).toEqual({ clicks: 3 });
  expect(await site.page("")).toBe("first");
});

inBrowser("job: find out who changed a bucket, and from where", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"\n' });
  await siteWith(node, {});
  const allFour = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  const scopes = [{ static_bucket: "site" }];
  const token = await node.newToken([{ scopes, permissions: allFour }], {
    username: "ada",
    password: "a password",
  });
  await node.call("static-bucket-file_upload", { token, name: "site", path: "news.html", body: "x" });
  await using tab = await openConsole(node);
  const { page } = tab;
  const hand = new Hand(page);
  await hand.click(menuLink(page, "Activity"));
  const row = page.getByRole("row").filter({ hasText: "news.html" });
  for (const words of ["ada", "127.0.0.1"]) await row.getByText(words).first().waitFor();
  expect(hand.effort()).toEqual({ clicks: 1 });
});
