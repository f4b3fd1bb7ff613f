import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, lookAround, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes } from "./eventually.ts";

const rowOf = (page: Page, name: string) =>
  page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });

/** Chooses an action from the menu of a bucket's row. */
async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

inBrowser("a bucket is made, changed and deleted, and its files stay on the disk", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  const record = () => node.call("static-bucket_read", [node.superToken, "site"]);
  await page.getByText("No buckets yet").waitFor();
  await page.getByRole("button", { name: "New bucket" }).click();
  await page.getByLabel("Name", { exact: true }).fill("no/slash");
  await page.getByText(/^Name must have 1 to 128/).waitFor();
  await becomes(() => page.getByRole("button", { name: "Create" }).isDisabled(), true);
  await page.getByLabel("Name", { exact: true }).fill("site");
  await page.getByText(`without a token, at ${node.url}/node/static/site/…`).waitFor();
  expect(await page.getByRole("textbox").count()).toBe(1);
  await page.getByText("More settings").click();
  await page.getByRole("checkbox", { name: "CORS" }).check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "site", level: 1 }).waitFor();
  await page.getByText("This folder is empty. Drop files").waitFor();
  await page.goBack();
  await rowOf(page, "site").getByText("CORS").waitFor();
  expect(await record()).toMatchObject({ name: "site", path: "site", cors: true, is_http_root: false });
  expect(existsSync(join(node.folder, "static/site"))).toBe(true);

  await choose(page, "site", "Settings");
  await page.getByRole("checkbox", { name: "HTTP root" }).check();
  await page.getByText("Its pages share this address with the console").waitFor();
  await page.getByLabel("Folder", { exact: true }).fill("elsewhere/site");
  await page.getByRole("checkbox", { name: "CORS" }).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".badge", { hasText: "HTTP root" }).waitFor();
  expect(await record()).toMatchObject({ path: "elsewhere/site", cors: false, is_http_root: true });
  await page.goBack();
  expect(await copiedBy(page, () => choose(page, "site", "Copy URL"))).toBe(`${node.url}/`);
  await page.getByText("URL copied.").waitFor();

  await choose(page, "site", "Settings");
  await page.getByRole("checkbox", { name: "On", exact: false }).last().uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".badge", { hasText: "Off" }).waitFor();
  expect(await record()).toMatchObject({ enable: false });

  await writeFile(join(node.folder, "static/elsewhere/site/kept.txt"), "kept");
  await page.goBack();
  await choose(page, "site", "Delete bucket");
  await page.getByText("stay on the server in the folder").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await record()).not.toBeNull();
  await choose(page, "site", "Delete bucket");
  await page.getByRole("button", { name: "Delete bucket" }).click();
  await page.getByText("No buckets yet").waitFor();
  expect(await record()).toBeNull();
  expect(existsSync(join(node.folder, "static/elsewhere/site/kept.txt"))).toBe(true);
});

inBrowser("how to mount a bucket is told with its address and the user's key, never the secret", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  const [key = "", secret = ""] = node.superToken.split(":");
  await choose(page, "site", "Mount");
  const address = `${new URL(node.url).host}/node/static-webdav/site`;
  for (const system of ["Windows", "macOS", "Linux", "rclone", "cadaver", "curl"]) {
    await page.getByRole("tab", { name: system, exact: true }).click();
    const shown = (await page.getByRole("dialog").textContent()) ?? "";
    expect([system, shown.includes(address), shown.includes(key)]).toEqual([system, true, true]);
    expect(shown).not.toContain(secret);
  }
  await page.getByRole("tab", { name: "curl" }).press("ArrowRight");
  await page.getByRole("tab", { name: "Windows", selected: true }).waitFor();
  await shoot(page, "buckets-mount");
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole("link", { name: "create a token for this drive only" }).click();
  await page.getByRole("heading", { name: "New token", level: 1 }).waitFor();
});

inBrowser("a token sees the buckets that it names, and opens others by name", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "a" });
  await node.call("static-bucket_create", [node.superToken, "hidden"]);
  const permissions = ["read", "write", "delete", "list"].map((static_bucket_file) => ({
    static_bucket_file,
  }));
  const token = await node.newToken([
    { scopes: [{ static_bucket: "site" }, { static_bucket: "hid*" }], permissions },
    { scopes: [{ static_bucket: "gone" }], permissions: [{ static_bucket: "read" }] },
  ]);
  await using tab = await openConsole(node, { at: "/buckets", token });
  const { page } = tab;
  await rowOf(page, "site").waitFor();
  await page.getByRole("row").filter({ hasText: "gone" }).getByText("Does not exist").waitFor();
  expect(await page.getByRole("link", { name: "hidden" }).count()).toBe(0);
  expect(await page.getByRole("button", { name: /New bucket/ }).count()).toBe(0);
  await page.getByLabel("Open a bucket by name").fill("hidden");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("This folder is empty. Drop files").waitFor();
});

inBrowser("the list of buckets is readable by everybody", async () => {
  await using node = await sharedNode();
  await siteWith(node, {}, { is_http_root: true, cors: true });
  await node.call("static-bucket_create", [node.superToken, "media", "store/media"]);
  await node.call("static-bucket_update", { token: node.superToken, name: "media", enable: false });
  expect(
    await lookAround(node, "buckets", "/buckets", (page) => page.getByText("HTTP root").waitFor()),
  ).toEqual([]);
});
