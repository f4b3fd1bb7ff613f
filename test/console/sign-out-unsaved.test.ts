import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";

const dialog = (page: Page) => page.getByRole("dialog", { name: "Sign in again" });
const editor = (page: Page) => page.locator(".cm-content[contenteditable=true]");
const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();

async function signInAgain(page: Page, token: string): Promise<void> {
  await dialog(page).getByLabel("Token", { exact: true }).fill(token);
  await dialog(page).getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Tab with an unsaved text, locked because another tab of the same browser has signed out. */
async function lockedTab(node: TestNode) {
  const site = await siteWith(node, { "notes.txt": "old" });
  const tab = await openConsole(node, { at: "/buckets/site?file=notes.txt" });
  const { page } = tab;
  await page.getByRole("button", { name: "Edit" }).click();
  await editor(page).fill("what I wrote");
  await page.getByText("Not saved").waitFor();
  const other = await page.context().newPage();
  await other.goto(`${node.url}/node/console/#/api`);
  await other.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(other);
  await dialog(page).getByText("You signed out in another tab.").waitFor();
  return { tab, page, other, site };
}

inBrowser(
  "signing out in another tab hides unsaved work, which is there again for the same user",
  async () => {
    await using node = await testNode();
    const { tab, page, site } = await lockedTab(node);
    await using _ = tab;
    await shoot(page, "signed-out-elsewhere");
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.getByText("what I wrote").isVisible()).toBe(false);
    expect(await page.locator(".menu").isVisible()).toBe(false);
    // No key closes the dialog or reaches the page.
    for (const key of ["Escape", "Escape", "ControlOrMeta+s"]) await page.keyboard.press(key);
    await dialog(page).getByText("unsaved work").waitFor();
    expect(await (await site.get("/notes.txt")).text()).toBe("old");
    // The same token by its other name.
    await dialog(page).getByRole("button", { name: "Password" }).click();
    await dialog(page).getByLabel("User name").fill("root");
    await dialog(page).getByLabel("Password", { exact: true }).fill(node.rootPassword);
    await dialog(page).getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog(page).waitFor({ state: "detached" });
    await page.getByText("what I wrote").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    expect(await (await site.get("/notes.txt")).text()).toBe("what I wrote");
  },
);

inBrowser("another user who signs in after a sign-out elsewhere finds no unsaved work", async () => {
  await using node = await testNode();
  const { tab, page } = await lockedTab(node);
  await using _ = tab;
  const permissions = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  await signInAgain(page, await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions }]));
  await dialog(page).waitFor({ state: "detached" });
  await page.locator(".cm-content").getByText("old").waitFor();
  expect(await page.getByText("what I wrote").count()).toBe(0);
  expect(await page.getByText("This is your unsaved draft").count()).toBe(0);
});

inBrowser("a form that another user finds after a sign-out elsewhere is empty", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=sql" });
  const { page } = tab;
  const name = page.getByLabel("User name", { exact: true });
  await name.fill("a draft");
  const other = await page.context().newPage();
  await other.goto(`${node.url}/node/console/#/api`);
  await other.getByRole("button", { name: "Sign out" }).click();
  await dialog(page).waitFor();
  const permissions = [{ token: "create" }];
  await signInAgain(page, await node.newToken([{ scopes: ["global"], permissions }]));
  await dialog(page).waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "New token", level: 1 }).waitFor();
  expect(await name.inputValue()).toBe("");
});

inBrowser("unsaved work can be discarded after a sign-out elsewhere, and only that", async () => {
  await using node = await testNode();
  const { tab, page, other } = await lockedTab(node);
  await using _ = tab;
  await other.getByLabel("Token", { exact: true }).fill(node.superToken);
  await other.getByRole("button", { name: "Sign in", exact: true }).click();
  await other.getByRole("heading", { name: "API", level: 1 }).waitFor();
  // It cannot be resumed without a reload, so it stays.
  await dialog(page).getByText("You signed in again in another tab. Sign in here too").waitFor();
  await dialog(page).getByRole("button", { name: "Discard" }).click();
  const sure = page.getByRole("dialog", { name: "Discard unsaved work?" });
  await sure.getByText(/unsaved files/).waitFor();
  await sure.getByRole("button", { name: "Discard" }).click();
  await atSignIn(page);
  expect(await page.getByText("what I wrote").count()).toBe(0);
  // The new sign-in of the other tab is untouched.
  await other.reload();
  await other.getByRole("heading", { name: "API", level: 1 }).waitFor();
});
