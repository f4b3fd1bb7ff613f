import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";

const names = async (page: Page) =>
  (await page.locator(".buckets-row .col-name").allTextContents()).map((name) => name.trim());

inBrowser("buckets are a table that is searched and sorted, and the address keeps both", async () => {
  await using node = await sharedNode();
  const token = node.superToken;
  await siteWith(node, { "a.txt": "a", "b.txt": "bb" }, { is_http_root: true });
  for (const name of ["p10", "p2", "zeta", "empty", "other"])
    await node.call("static-bucket_create", { token, name });
  await node.call("static-bucket-file_upload", {
    token,
    name: "zeta",
    path: "big.txt",
    body: "x".repeat(5000),
  });
  await node.call("static-bucket_update", { token, name: "other", hosts: ["shop.example.org"] });
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  // The server counts in the background, and the page asks again by itself.
  const site = page.getByRole("row", { name: /^site/ });
  await site.getByText("3 B", { exact: true }).waitFor();
  await becomes(() => site.getByRole("cell").first().textContent(), "2");
  await becomes(() => names(page), ["empty", "other", "p2", "p10", "site", "zeta"]);
  await page.getByRole("button", { name: "Size" }).click();
  await becomes(async () => (await names(page)).slice(0, 2), ["zeta", "site"]);
  await becomes(() => page.url(), expect.stringContaining("sort=-size"));
  await page.reload();
  await site.waitFor();
  await eventually("the order is that of the address", async () => (await names(page))[0] === "zeta");
  await page.getByRole("searchbox", { name: "Search buckets" }).fill("SHOP");
  await becomes(() => names(page), ["other"]);
  await page.getByText("1 of 6 buckets").waitFor();
  await page.getByRole("searchbox", { name: "Search buckets" }).fill("nothing");
  await page.getByText("No bucket has “nothing”").waitFor();
  await page.getByRole("searchbox", { name: "Search buckets" }).fill("");

  // "Open site" is the address itself, at the root, a host name or the path.
  const { port } = new URL(node.url);
  for (const [name, href] of [
    ["site", `${node.url}/`],
    ["other", `http://shop.example.org:${port}/`],
    ["p2", `${node.url}/node/static/p2/`],
  ] as const) {
    const link = page.getByRole("row", { name: new RegExp(`^${name}`) }).getByTitle("Open site");
    expect([name, await link.getAttribute("href")]).toEqual([name, href]);
  }
  // A click anywhere in a row opens the bucket.
  await page.getByRole("row", { name: /^zeta/ }).locator(".col-access").click();
  await page.getByRole("link", { name: "big.txt" }).waitFor();
});

inBrowser("a long name and its long address share the width of the table", async () => {
  await using node = await sharedNode();
  const name = `a-${"long-".repeat(14)}name`;
  await node.call("static-bucket_create", { token: node.superToken, name });
  await using tab = await openConsole(node, { at: "/buckets" });
  const row = tab.page.getByRole("row", { name });
  await row.waitFor();
  // Two or three lines, not one for each word.
  expect((await row.boundingBox())?.height).toBeLessThan(100);
});

inBrowser("on a phone the list of buckets is sorted too", async () => {
  await using node = await testNode();
  const token = node.superToken;
  await siteWith(node, { "a.txt": "a" });
  for (const name of ["alpha", "zeta"]) await node.call("static-bucket_create", { token, name });
  await using tab = await openConsole(node, { at: "/buckets", phone: true });
  const { page } = tab;
  const first = (name: string) => eventually(`${name} is first`, async () => (await names(page))[0] === name);
  await page.locator(".buckets-row", { hasText: "site" }).getByText("1 B", { exact: true }).waitFor();
  await first("alpha");
  await page.getByRole("button", { name: "Size" }).click();
  await first("site");
  await page.getByRole("button", { name: "Name" }).click();
  await first("alpha");
  await page.getByRole("button", { name: "Name" }).click();
  await first("zeta");
  await shoot(page, "buckets-sorted-phone");
  expect(await axeFindings(page)).toEqual([]);
  const overflow =
    "document.querySelector('.page').scrollWidth - document.querySelector('.page').clientWidth";
  expect(await page.evaluate(overflow)).toBe(0);
});

inBrowser("a bucket is made from the palette, and can take the HTTP root from another one", async () => {
  await using node = await sharedNode();
  const token = node.superToken;
  await siteWith(node, { "index.html": "old" }, { is_http_root: true });
  await using tab = await openConsole(node, { at: "/tokens", expected: /the HTTP root already/ });
  const { page } = tab;
  const form = page.getByRole("dialog", { name: "New bucket" });
  const openForm = async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("new b");
    await page.getByRole("option", { name: "New bucket" }).waitFor();
    await page.keyboard.press("Enter");
    await form.waitFor();
  };
  await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
  await openForm();
  await page.keyboard.press("Escape");
  await form.waitFor({ state: "detached" });
  await becomes(() => page.url(), `${node.url}/node/console/#/buckets`);
  // From the list itself as well.
  await page.getByRole("link", { name: "site", exact: true }).waitFor();
  await openForm();
  await page.keyboard.type("next");
  await form.getByText("More settings").click();
  await form.getByRole("checkbox", { name: "HTTP root" }).check();
  const create = form.getByRole("button", { name: "Create" });
  await create.click();
  const question = page.getByRole("dialog", { name: "Make next the HTTP root?" });
  await question.getByText("instead of site").waitFor();
  await shoot(page, "buckets-new-root");
  await question.getByRole("button", { name: "Cancel" }).click();
  await form.getByText(/HTTP root already/).waitFor();
  expect(await node.call("static-bucket_list", { token })).toEqual(["site"]);
  await create.click();
  await question.getByRole("button", { name: "Move HTTP root" }).click();
  await page.getByText("This folder is empty").waitFor();
  await page.locator(".badge", { hasText: "HTTP root" }).waitFor();
  expect(await node.call("static-bucket_read", { token, name: "site" })).toMatchObject({
    is_http_root: false,
  });
});

inBrowser("200 buckets are listed, searched and sorted without delay", async () => {
  await using node = await sharedNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "bucket-000" });
  // By hand: 200 calls would make 200 folders.
  const rows = Array.from({ length: 199 }, (_, n) => {
    const name = `bucket-${String(n + 1).padStart(3, "0")}`;
    return `('${name}', '${name}', false, false, true)`;
  });
  await node.sql(`INSERT INTO static_file (name, path, is_http_root, cors, enable) VALUES ${rows.join(",")}`);
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  await page.getByText("200 buckets", { exact: true }).waitFor();
  expect(await page.locator(".buckets-row").count()).toBe(200);
  await page.getByRole("searchbox", { name: "Search buckets" }).fill("19");
  await page.getByText("12 of 200 buckets").waitFor();
  await page.getByRole("button", { name: "Name" }).click();
  await becomes(async () => (await names(page))[0], "bucket-199");
});
