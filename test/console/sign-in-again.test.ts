import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";

const dialog = (page: Page) => page.getByRole("dialog", { name: "Sign in again" });
const allFour = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
const siteLimits = [{ scopes: [{ static_bucket: "site" }], permissions: allFour }];
// Chromium reports every refused request.
const expected = /status of 401/;

async function revoke(node: TestNode, token: string): Promise<void> {
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
}

/** Rotates the secret of the Super Token; the old one is no longer valid. */
async function rollSuperToken(node: TestNode): Promise<string> {
  const [key = ""] = node.superToken.split(":");
  const pair = { token: node.superToken, target_token: key };
  const made = (await node.call("token_roll_token_secret", pair)) as { key: string; secret: string };
  return `${made.key}:${made.secret}`;
}

async function signInAgain(page: Page, token: string): Promise<void> {
  await dialog(page).getByLabel("Token", { exact: true }).fill(token);
  await dialog(page).getByRole("button", { name: "Sign in", exact: true }).click();
}

const comesBack = (page: Page) => page.evaluate("dispatchEvent(new Event('focus'))");

inBrowser(
  "a token that is revoked during an edit is asked for above the page, and the edit is saved",
  async () => {
    await using node = await testNode();
    const site = await siteWith(node, { "notes.txt": "old" });
    const token = await node.newToken(siteLimits);
    await using tab = await openConsole(node, { token, at: "/buckets/site?file=notes.txt", expected });
    const { page } = tab;
    await page.getByRole("button", { name: "Edit" }).click();
    const editor = page.locator(".cm-content[contenteditable=true]");
    await editor.fill("what I wrote");
    await revoke(node, token);
    // The console notices it first by a 401 over WebDAV.
    await page.keyboard.press("ControlOrMeta+s");
    await dialog(page)
      .getByText(/The server no longer accepts your token. It was deleted/)
      .waitFor();
    expect(await editor.textContent()).toBe("what I wrote");
    await shoot(page, "sign-in-again");
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate("document.activeElement?.name")).toBe("token");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await dialog(page).getByText("Your unsaved work is kept").waitFor();
    const other = await node.newToken(siteLimits);
    await signInAgain(page, other);
    await page.getByText("Saved.").waitFor();
    expect(await dialog(page).count()).toBe(0);
    expect(await (await site.get("/notes.txt")).text()).toBe("what I wrote");
    await page.getByTitle(`key ${other.split(":")[0]}`).waitFor();
  },
);

/** Unsaved input on a page, and the check that it is still there. */
const drafts: Readonly<
  Record<string, { fill: (page: Page) => Promise<void>; shown: (page: Page) => Promise<string | null> }>
> = {
  "/sql": {
    fill: (page) => page.locator(".cm-content").fill("select 'a draft'"),
    shown: (page) => page.locator(".cm-content").textContent(),
  },
  "/config": {
    fill: async (page) => {
      await page.locator(".cm-content").getByText("database_url").waitFor();
      await page.locator(".cm-content").press("ControlOrMeta+Home");
      await page.keyboard.type("# a draft ");
    },
    shown: (page) => page.locator(".cm-line").first().textContent(),
  },
  "/tokens?preset=webdav": {
    fill: (page) => page.getByRole("textbox", { name: "User name" }).fill("a draft"),
    shown: (page) => page.getByRole("textbox", { name: "User name" }).inputValue(),
  },
};

for (const [at, { fill, shown }] of Object.entries(drafts))
  inBrowser(`a draft at ${at} is still there after a new sign-in above the page`, async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at });
    const { page } = tab;
    await fill(page);
    expect(await shown(page)).toContain("a draft");
    const rolled = await rollSuperToken(node);
    await comesBack(page);
    await dialog(page).waitFor();
    await signInAgain(page, rolled);
    await dialog(page).waitFor({ state: "detached" });
    expect(await shown(page)).toContain("a draft");
    // The browser stores the new one.
    const other = await page.context().newPage();
    await other.goto(`${node.url}/node/console/#/api`);
    await other.getByRole("heading", { name: "API", level: 1 }).waitFor();
  });

inBrowser(
  "an expired token is named as such, and nothing is called with it while another is asked for",
  async () => {
    await using node = await testNode();
    const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
    await using tab = await openConsole(node, { token, at: "/sql" });
    const { page } = tab;
    await page.getByText("seaql_migrations").waitFor();
    await node.sql(
      `UPDATE token SET time_stamp_to = ${Date.now() - 1000} WHERE token_key = '${token.split(":")[0]}'`,
    );
    await comesBack(page);
    await dialog(page).getByText("Your token has expired.").waitFor();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/jsonrpc")) sent.push(request.postData() ?? "");
    });
    // A page with many requests, which also checks the token.
    await page.evaluate("location.hash = '#/overview'");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    for (let times = 0; times < 3; times += 1) await comesBack(page);
    await signInAgain(page, token);
    await dialog(page).getByRole("alert").filter({ hasText: "This token has expired" }).waitFor();
    const withToken = sent.filter((body) => body.includes(token));
    expect(withToken.map((body) => (JSON.parse(body) as { method: string }).method)).toEqual(["token_get"]);
    await signInAgain(page, node.superToken);
    await page.locator(".overview-status").waitFor();
    // What the new token may do is shown as well.
    await page.getByRole("link", { name: "Config", exact: true }).waitFor();
  },
);

inBrowser("who signs out where a token is asked for again leaves nothing behind", async () => {
  await using node = await testNode();
  await siteWith(node, { "notes.txt": "old" });
  const token = await node.newToken(siteLimits);
  await using tab = await openConsole(node, { token, at: "/buckets/site?file=notes.txt", expected });
  const { page } = tab;
  await page.getByRole("button", { name: "Edit" }).click();
  await page.locator(".cm-content[contenteditable=true]").fill("what I wrote");
  await revoke(node, token);
  await comesBack(page);
  await dialog(page).getByRole("button", { name: "Sign out" }).click();
  const sure = page.getByRole("dialog", { name: "Sign out?" });
  await sure.getByText(/unsaved files/).waitFor();
  await sure.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  await page.reload();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
});

inBrowser(
  "signing out where a token is asked for again ends what waits for it without an error",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/logs" });
    const { page } = tab;
    await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
    await rollSuperToken(node);
    await dialog(page).getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
    expect(await page.locator(".toast").allTextContents()).toEqual([]);
  },
);

inBrowser("the logs go on by themselves after a new sign-in", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/logs" });
  const { page } = tab;
  const live = page.getByRole("status").filter({ hasText: "Live" });
  await live.waitFor();
  const rolled = await rollSuperToken(node);
  // The server ends the stream with the token.
  await dialog(page).waitFor();
  await signInAgain(page, rolled);
  await live.waitFor();
  node.node.hub.logger("task").info("logged after the new sign-in");
  await page.getByText("logged after the new sign-in").waitFor();
});

inBrowser("who has signed in by user name and password is asked for the password alone", async () => {
  await using node = await testNode();
  await siteWith(node, { "notes.txt": "old" });
  const alice = { username: "alice", password: "secret-1" };
  await node.newToken(siteLimits, alice);
  await using tab = await openConsole(node, { token: "alice|secret-1", at: "/buckets/site", expected });
  const { page } = tab;
  await page.getByTitle("notes.txt").waitFor();
  await node.call("token_change_password", {
    token: node.superToken,
    target_token: "alice",
    new_password: "secret-2",
  });
  await comesBack(page);
  await dialog(page).getByRole("button", { name: "Password", pressed: true }).waitFor();
  expect(await dialog(page).getByLabel("User name").inputValue()).toBe("alice");
  // The focus is in the field that is empty.
  await page.keyboard.type("secret-2");
  await page.keyboard.press("Enter");
  await dialog(page).waitFor({ state: "detached" });
});
