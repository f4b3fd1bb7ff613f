import { expect } from "bun:test";
import { join } from "node:path";
import { z } from "zod";
import { globally, superToken } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, lookAround, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

inBrowser("the HTTP root is moved from another bucket, after a question, at once", async () => {
  await using node = await sharedNode();
  const token = node.superToken;
  await siteWith(node, { "index.html": "old" }, { is_http_root: true });
  await node.call("static-bucket_create", { token, name: "next" });
  await node.call("static-bucket-file_upload", { token, name: "next", path: "index.html", body: "new" });
  await using tab = await openConsole(node, { at: "/buckets/next" });
  const { page } = tab;
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("checkbox", { name: "HTTP root" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  const question = page.getByRole("dialog", { name: "Make next the HTTP root?" });
  await question.getByText("instead of site").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await (await fetch(node.url)).text()).toBe("old");
  await page.getByRole("button", { name: "Save" }).click();
  await question.getByRole("button", { name: "Move HTTP root" }).click();
  await page.locator(".badge", { hasText: "HTTP root" }).waitFor();
  expect(await (await fetch(node.url)).text()).toBe("new");
  expect(await node.call("static-bucket_read", { token, name: "site" })).toMatchObject({
    is_http_root: false,
  });
  await becomes(() => page.getByRole("link", { name: "Open site" }).getAttribute("href"), `${node.url}/`);
  // Tabs are in the history.
  await page.goBack();
  await page.getByRole("grid", { name: "Files" }).waitFor();
});

inBrowser("settings say what becomes of the certificates of host names, and what to do", async () => {
  const failed = {
    reason: "dns_missing",
    detail: "c.example.com was not found",
    advice: "add an A record",
    at: Date.now(),
    retry_at: Date.now() + 300_000,
  };
  const state = (name: string, state: string, more: object = {}) => ({
    ...{ name, of: "bucket", state, issuer: null, from: null, until: null, renew_at: null, problem: null },
    ...more,
  });
  const renewals: string[] = [];
  const methods = {
    "node-server_certificates": method({
      effect: "reads",
      doc: "Lists one of each kind.",
      need: globally("node.metrics"),
      params: {},
      result: z.array(z.unknown()),
      run: () => [
        state("a.example.com", "issued", { until: Date.UTC(2027, 3, 1) }),
        state("b.example.com", "issuing"),
        state("c.example.com", "failed", { problem: failed }),
        state("other.example.com", "issuing", { of: "server" }),
      ],
    }),
    "node-server_renew_certificate": method({
      effect: "changes",
      doc: "Notes what is asked for.",
      need: superToken,
      params: { name: z.string() },
      result: z.unknown(),
      run: (_, { name }) => renewals.push(name),
    }),
  };
  await using node = await testNode({ methods });
  await siteWith(node, {}, { hosts: ["a.example.com", "b.example.com", "c.example.com"] });
  await using tab = await openConsole(node, { at: "/buckets/site/settings" });
  const { page } = tab;
  const card = page.getByRole("region", { name: "Certificates" });
  await card.getByText("the certificate is being issued").waitFor();
  await card.getByText("has a certificate until 2027-04-01").waitFor();
  await card.getByText("add an A record").waitFor();
  expect(await card.getByText("other.example.com").count()).toBe(0);
  await card.getByRole("button", { name: "Try again" }).click();
  await becomes(async () => renewals.join(), "c.example.com");
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "bucket-certificates");
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByText("DNS 中没有此名称").waitFor();
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("About this server").click();
  await card.getByText("other.example.com").waitFor();
  expect(await card.getByText("a.example.com").count()).toBe(0);
});

inBrowser("settings say what is wrong with the rules of the site, and keep unsaved input", async () => {
  await using node = await sharedNode();
  await siteWith(node, { _redirects: "/a /b 999\n" });
  expect(
    await lookAround(node, "bucket-settings", "/buckets/site/settings", (page) =>
      page.getByText("_redirects:1").waitFor(),
    ),
  ).toEqual([]);
  await using tab = await openConsole(node, { at: "/buckets/site/settings" });
  const { page } = tab;
  await page.getByText("999").waitFor();
  await page.getByRole("checkbox", { name: "CORS" }).check();
  await page.getByRole("link", { name: "Files", exact: true }).click();
  await page.getByText("You will lose what you entered: the settings of site.").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".badge", { hasText: "CORS" }).waitFor();
  await page.getByRole("button", { name: "Delete bucket" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete bucket" }).click();
  await page.getByText("No buckets yet").waitFor();
});

inBrowser("a token sees the tabs that it can use, and is told about the others", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "a" });
  const token = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "list" }] },
  ]);
  await using tab = await openConsole(node, { at: "/buckets/site", token });
  const { page } = tab;
  await page.getByRole("link", { name: "Trash" }).waitFor();
  expect(await page.locator(".tab-links a").allTextContents()).toEqual([
    "Files",
    "Deploys",
    "Links",
    "Trash",
  ]);
  await page.getByRole("link", { name: "Links" }).click();
  await page.getByText("No links yet").waitFor();
  expect(await page.getByRole("button", { name: /New link|Revoke/ }).count()).toBe(0);
  await page.goto(`${node.url}/node/console/#/buckets/site/settings`);
  await page.getByText("Your token cannot use this part of the bucket.").waitFor();
});

inBrowser("settings keep the focus when they are saved", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using tab = await openConsole(node, { at: "/buckets/site/settings" });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "CORS" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("site saved").waitFor();
  await becomes(() => page.evaluate("document.activeElement.ariaLabel"), "Settings");
  expect(await page.getByRole("checkbox", { name: "CORS" }).isChecked()).toBe(true);
  expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
});

inBrowser("the settings lead to a file of rules that does not exist, which is created there", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "a", "b.txt": "b" });
  await using tab = await openConsole(node, { at: "/buckets/site/settings" });
  const { page } = tab;
  await page.getByRole("link", { name: "_headers" }).click();
  await page.getByRole("button", { name: "Create file" }).click();
  await page.getByRole("dialog", { name: "_headers" }).waitFor();
  expect(await Bun.file(join(folder, "_headers")).text()).toBe("");
  // The arrows stay where they are, whatever the file is like.
  const next = page.getByRole("button", { name: "Next file" });
  const before = await next.boundingBox();
  await next.click();
  await page.getByRole("dialog", { name: "a.txt" }).waitFor();
  expect(await next.boundingBox()).toEqual(before);
});
