import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

const call = (node: TestNode, method: string, params: object) =>
  node.call(method, { token: node.superToken, ...params });
const rows = (page: Page) => page.getByRole("table").locator("tbody tr");
const texts = async (page: Page) =>
  (await rows(page).allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());

/** A server on which some things were changed, by two tokens. */
async function used(node: TestNode): Promise<string> {
  const limits = [
    {
      scopes: ["global"],
      permissions: ["read", "write", "list", "delete"].map((static_bucket_file) => ({ static_bucket_file })),
    },
  ];
  const alice = await node.newToken(limits, { name: "Alice's laptop" });
  await call(node, "static-bucket_create", { name: "site" });
  await call(node, "static-bucket_create", { name: "media", is_http_root: false, cors: true });
  for (const path of ["index.html", "img/logo.svg"])
    await node.call("static-bucket-file_upload", { token: alice, name: "site", path, body: "hello" });
  await node.refused("token_get", { token: "nobody:knows-this" });
  return alice;
}

inBrowser(
  "the activity page tells who changed what, with links, filters and what happens meanwhile",
  async () => {
    await using node = await testNode();
    const alice = await used(node);
    await using tab = await openConsole(node, { at: "/activity" });
    const { page } = tab;
    await page.getByText("Live", { exact: true }).waitFor();
    await rows(page).first().waitFor();
    // The names of the tokens come later than the entries.
    await becomes(
      () => texts(page),
      [
        "just now nobody Sign-in failed wrong credentials 127.0.0.1",
        "just now Alice's laptop Files written site 2 items 127.0.0.1",
        expect.stringMatching(/^just now Super Token Bucket created media HTTP root: no\W+CORS: yes /),
        expect.stringContaining("Super Token Bucket created site"),
        "just now Super Token Token created Alice's laptop 127.0.0.1",
      ],
    );
    expect(await page.getByText("just now").first().getAttribute("title")).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
    );
    await page.getByText("keep_audit_days").waitFor();

    // What another client does now appears by itself.
    await node.call("static-bucket-file_upload", {
      token: alice,
      name: "media",
      path: "a.txt",
      body: "1234",
    });
    await page.getByRole("link", { name: "media/a.txt" }).waitFor();

    await page.getByLabel("Kind").selectOption("Files");
    await page.getByLabel("Bucket").selectOption("site");
    await becomes(() => texts(page), ["just now Alice's laptop Files written site 2 items 127.0.0.1"]);
    await page.getByText("1 entry").waitFor();
    // The choice is in the address.
    await page.reload();
    await page.getByText("1 entry").waitFor();
    await page.getByLabel("Search").fill("bob");
    await page.getByText("No entries match these filters.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("Who").selectOption("Alice's laptop");
    await page.getByText("2 entries").waitFor();

    await page.getByRole("link", { name: "media/a.txt" }).click();
    await page.getByText("1234").waitFor();
    await page.goto(`${node.url}/node/console/#/activity?kind=token`);
    await page.getByRole("link", { name: "Alice's laptop" }).click();
    await page.getByRole("heading", { name: "Edit" }).waitFor();
  },
);

inBrowser(
  "the activity page lists the files of one upload as one row, without links to a token that may not follow them",
  async () => {
    await using node = await testNode();
    await call(node, "static-bucket_create", { name: "site" });
    for (let n = 0; n < 40; n += 1)
      await call(node, "static-bucket-file_upload", { name: "site", path: `${n}.txt`, body: "x" });
    const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
    await using tab = await openConsole(node, { at: "/activity", token });
    const { page } = tab;
    await page.getByText("40 items").waitFor();
    expect(await rows(page).count()).toBe(3);
    // A token that may not list the bucket's files, nor tokens, gets no links to them.
    expect(await rows(page).getByRole("link").count()).toBe(0);
    expect((await texts(page))[1]).toContain(`${node.superToken.split(":")[0]} Files written site 40 items`);
  },
);

inBrowser("the activity page is readable by everybody, in Chinese too", async () => {
  await using node = await testNode();
  await used(node);
  const findings = await lookAround(node, "activity", "/activity", async (page) => {
    await page.getByText("2 items").waitFor();
  });
  expect(findings).toEqual([]);
  await using tab = await openConsole(node, { at: "/activity" });
  const { page } = tab;
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("heading", { name: "活动" }).waitFor();
  await page.getByText("写入了文件").waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

inBrowser("a row about many files names their folder, and one about a failed sign-in the token", async () => {
  await using node = await testNode();
  await call(node, "static-bucket_create", { name: "photos" });
  for (let n = 0; n < 30; n += 1) {
    const path = `2026/${n % 2 === 0 ? "may" : "june"}/${n}.txt`;
    await call(node, "static-bucket-file_upload", { name: "photos", path, body: "x" });
  }
  const { deploy } = (await call(node, "static-bucket_deploy_begin", { name: "photos" })) as {
    deploy: string;
  };
  const put = await fetch(`${node.url}/node/static-webdav/photos@${deploy}/index.html`, {
    method: "PUT",
    headers: { authorization: `Basic ${Buffer.from(node.superToken).toString("base64")}` },
    body: "x",
  });
  expect(put.status).toBe(201);
  await node.refused("token_get", { token: "root|not the password" });
  await using tab = await openConsole(node, { at: "/activity" });
  const { page } = tab;
  await page.getByRole("link", { name: "photos/2026/" }).waitFor();
  await becomes(
    async () => (await texts(page)).map((text) => text.replace(/^just now | 127.0.0.1$/g, "")),
    expect.arrayContaining([
      "Super Token Sign-in failed wrong credentials",
      "Super Token Files written photos/2026/ 30 items",
    ]),
  );
  const choices = await page.getByLabel("Bucket").locator("option").allTextContents();
  expect(choices).toEqual(["All buckets", "photos"]);
  await page.getByRole("link", { name: `photos@${deploy}/index.html` }).click();
  await page.getByRole("heading", { name: "photos", level: 1 }).waitFor();
  await page
    .getByRole("link", { name: "Deploys", exact: true })
    .and(page.locator("[aria-current]"))
    .waitFor();
});

inBrowser("older entries are loaded on demand, and what a filter lets through is exported", async () => {
  await using node = await testNode();
  await call(node, "static-bucket_create", { name: "old" });
  await call(node, "static-bucket_create", { name: "site" });
  for (let n = 0; n < 310; n += 1)
    await call(node, "static-bucket_update", { name: "site", cors: n % 2 === 0 });
  await using tab = await openConsole(node, { at: "/activity" });
  const { page } = tab;
  await page.getByText("300 entries").waitFor();
  await page.getByRole("button", { name: "Load older entries" }).click();
  await page.getByText("312 entries").waitFor();
  expect(await page.getByRole("button", { name: "Load older entries" }).count()).toBe(0);
  // A filter asks the server for what is older than the entries that were read.
  await page.goto(`${node.url}/node/console/#/activity?bucket=old`);
  await page.reload();
  await page.getByText("1 entry").waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).fields.bucket)).toEqual(["old"]);
});
