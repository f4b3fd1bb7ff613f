import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, lookAround, openConsole, sharedNode, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { check, failed, list, open } from "./file-page.ts";

inBrowser("a token that may list and read is shown the files, no change, and why", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "hello", "sub/b.txt": "deep" });
  const token = await node.newToken([
    {
      scopes: [{ static_bucket: "site" }],
      permissions: [{ static_bucket_file: "list" }, { static_bucket_file: "read" }],
    },
  ]);
  await using tab = await openConsole(node, { at: "/buckets/site", token });
  const { page } = tab;
  await page.getByText("to change files, your token needs Read, Write, Delete and List").waitFor();
  await open(page, "sub");
  await list(page).getByText("b.txt").waitFor();
  await page.goBack();
  await open(page, "a.txt");
  await page.getByText("hello").waitFor();
  expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await check(page, "a.txt").check();
  await page.getByText("1 selected").waitFor();
  expect(await page.getByRole("button", { name: /Upload|New|Rename|Move|Delete/ }).count()).toBe(0);
  await page.keyboard.press("Delete");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

inBrowser("a bucket that is off is looked at, downloaded from, and not changed", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "hello" });
  await node.call("static-bucket_update", { token: node.superToken, name: "site", enable: false });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  await page.getByText("This bucket is off").waitFor();
  await check(page, "a.txt").check();
  await page.getByText("1 selected").waitFor();
  expect(await page.getByRole("button", { name: /Upload|Copy URL|Delete/ }).count()).toBe(0);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("a.txt");
  expect(await readFile(await download.path(), "utf8")).toBe("hello");

  const permissions = ["read", "write", "delete", "list"].map((static_bucket_file) => ({
    static_bucket_file,
  }));
  const token = await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]);
  await using other = await openConsole(node, { at: "/buckets/site", token, expected: failed });
  await other.page.getByText("This bucket is off").waitFor();
  await list(other.page).getByText("a.txt").waitFor();
});

inBrowser("folders and selections are downloaded as archives, of private buckets too", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "a", "page #1.html": "<p>b</p>", "c%.txt": "c", "sub/d.txt": "d" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const zip = async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download as ZIP" }).click(),
    ]);
    const listed = Bun.spawnSync(["unzip", "-Z1", await download.path()]).stdout.toString();
    return {
      name: download.suggestedFilename(),
      files: listed
        .split("\n")
        .filter((line) => /[^/]$/.test(line))
        .sort(),
    };
  };
  await page.getByRole("checkbox", { name: "Select all" }).check();
  expect(await zip()).toEqual({
    name: "site.zip",
    files: ["site/a.txt", "site/c%.txt", "site/page #1.html", "site/sub/d.txt"],
  });
  await page.getByRole("checkbox", { name: "Select a.txt", exact: true }).uncheck();
  await page.getByRole("checkbox", { name: "Select c%.txt", exact: true }).uncheck();
  await page.getByText("2 selected").waitFor();
  expect((await zip()).files).toEqual(["site/page #1.html", "site/sub/d.txt"]);
  await page.getByRole("checkbox", { name: "Select page #1.html", exact: true }).uncheck();
  await page.getByText("1 selected").waitFor();
  await node.call("static-bucket_update", { token: node.superToken, name: "site", public: false });
  expect(await zip()).toEqual({ name: "sub.zip", files: ["sub/d.txt"] });
});

inBrowser("a bucket that is not there is told", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, {
    at: "/buckets/nowhere",
    expected: /There is no bucket nowhere/,
  });
  await tab.page.getByText("There is no bucket nowhere").waitFor();
});

inBrowser("the files are readable by everybody", async () => {
  await using node = await sharedNode();
  const files: Record<string, string> = { "docs/a.txt": "a", "images/b.txt": "b" };
  for (let at = 1; at <= 30; at += 1)
    files[`a rather long name of a file, number ${at}.txt`] = "x".repeat(at ** 3);
  await siteWith(node, files, { is_http_root: true });
  const settle = async (page: Page) => {
    await list(page).getByText("number 1.txt").waitFor();
    await check(page, "docs").check();
    await list(page).focus();
  };
  expect(await lookAround(node, "files", "/buckets/site", settle)).toEqual([]);
});

inBrowser(
  "a token that may only write uploads, and a name that exists is replaced only on request",
  async () => {
    await using node = await testNode();
    await siteWith(node, { "a.txt": "old" });
    const scopes = [{ static_bucket: "site" }];
    const token = await node.newToken([{ scopes, permissions: [{ static_bucket_file: "write" }] }]);
    await using tab = await openConsole(node, { at: "/buckets/site", token, expected: failed });
    const { page } = tab;
    await page.getByText("and not see what is in it").waitFor();
    await page.getByText("Public").waitFor();
    const file = (name: string, text: string) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(text),
    });
    await page
      .locator("input[type=file]")
      .first()
      .setInputFiles([file("a.txt", "new"), file("b.txt", "b")]);
    await page.getByText("A file with this name exists. Retry to replace it.").waitFor();
    expect(await (await fetch(`${node.url}/node/static/site/b.txt`)).text()).toBe("b");
    expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("old");
    await page.getByRole("button", { name: "Retry" }).first().click();
    await eventually(
      "the file is replaced",
      async () => (await (await fetch(`${node.url}/node/static/site/a.txt`)).text()) === "new",
    );
  },
);

inBrowser(
  "a person for a bucket signs in with a password and opens, copies and recognises the site",
  async () => {
    await using node = await testNode();
    await siteWith(node, { "index.html": "hello" });
    await using admin = await openConsole(node, { at: "/tokens?preset=person&bucket=site" });
    const { page: form } = admin;
    await form.getByText("Choose a user name and a password.").waitFor();
    await form.getByLabel("User name", { exact: true }).fill("anna");
    await form.getByLabel("Password", { exact: true }).fill("correct horse");
    await form.getByRole("button", { name: "Create token" }).click();
    await form.getByText("The new token").waitFor();
    await using tab = await openConsole(node, { at: "/buckets/site", token: "anna|correct horse" });
    const { page } = tab;
    await page.getByText("Public", { exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Open site" }).getAttribute("href")).toBe(
      `${node.url}/node/static/site/`,
    );
    await check(page, "index.html").check();
    await page.getByRole("button", { name: "Copy URL" }).waitFor();
  },
);
