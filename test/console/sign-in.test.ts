import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { leftToAll } from "../support/tier.ts";
import { axeFindings, inBrowser, lookAround, openConsole, signIn, testNode } from "./browser.ts";

const further = leftToAll(inBrowser);

const menuOf = (page: Page) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents();
const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in" }).waitFor();
const inside = (page: Page) => page.locator(".menu").waitFor();

further("the sign-in page is readable by everybody, in light, in dark and on a phone", async () => {
  await using node = await testNode();
  const settle = (page: Page) => atSignIn(page);
  expect(await lookAround(node, "sign-in", { token: undefined }, settle)).toEqual([]);
});

inBrowser("one signs in with a token, or with user name and password", async () => {
  await using node = await testNode();
  for (const token of [node.superToken, `root|${node.rootPassword}`]) {
    await using tab = await openConsole(node, { token });
    await tab.page.getByText("root", { exact: true }).waitFor();
    expect(await menuOf(tab.page)).toEqual([
      "Overview",
      "Activity",
      "Logs",
      "Buckets",
      "SQL",
      "Config",
      "Tokens",
      "Update",
      "API",
    ]);
  }
});

inBrowser("what is wrong with a sign-in is said beside the field", async () => {
  await using node = await testNode();
  const expired = await node.newToken([], { timestamp_to: Date.now() - 1000 });
  const wrong: Record<string, RegExp> = {
    nothing: /This is not a token/,
    "wrong:secret": /does not know this token/,
    [expired]: /expired/,
  };
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  for (const [token, words] of Object.entries(wrong)) {
    await page.getByLabel("Token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: words }).waitFor();
  }
  await page.getByRole("button", { name: "Password" }).click();
  await page.getByText("For the Root Password that the server printed, enter root.").waitFor();
  await page.getByLabel("User name").fill("root");
  await page.getByLabel("Password", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "Wrong user name or password" }).waitFor();
});

inBrowser("signing out leaves nothing to come back with, also by the way back", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/overview" });
  const { page } = tab;
  await page.getByRole("link", { name: "API" }).click();
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  await page.reload();
  await atSignIn(page);
  await page.goBack();
  await page.reload();
  await atSignIn(page);
});

inBrowser("a kept token that has ended is named as such at the next visit", async () => {
  await using node = await testNode();
  const token = await node.newToken([]);
  await using tab = await openConsole(node, { token, at: "/api" });
  const { page } = tab;
  const [key = ""] = token.split(":");
  await page.goto("about:blank");
  await node.sql(`UPDATE token SET time_stamp_to = 1000 WHERE token_key = '${key}'`);
  await page.goto(`${node.url}/node/console/`);
  await page.getByText("You are signed out. Your token has expired.").waitFor();
  // Shown once: the browser no longer stores the token.
  await page.reload();
  await atSignIn(page);
  expect(await page.getByRole("status").count()).toBe(0);
});

further("a refused sign-in is one warning in the log", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"\n' });
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.getByLabel("Token", { exact: true }).fill("wrong:secret");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "does not know this token" }).waitFor();
  const log = (await node.call("node-server_log", { token: node.superToken })) as { level: string }[];
  expect(log.filter(({ level }) => level === "WARN")).toHaveLength(1);
});

further("the first field has the focus, so that one can type or paste at once", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  const focused = (name: string) => page.locator(`input[name=${name}]:focus`).waitFor();
  await focused("token");
  await page.getByRole("button", { name: "Password" }).click();
  await focused("username");
  await page.getByRole("button", { name: "Token" }).click();
  await focused("token");
  // What was refused as a token is not offered as a password.
  await page.keyboard.insertText("wrong:secret");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "does not know this token" }).waitFor();
  await page.getByRole("button", { name: "Password" }).click();
  await focused("username");
  expect(await page.getByLabel("Password", { exact: true }).inputValue()).toBe("");
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.getByRole("button", { name: "Token" }).click();
  await focused("token");
});

inBrowser(
  "a page that the token may not use is not in the menu, and by its address it says what it needs",
  async () => {
    await using node = await testNode();
    const token = await node.newToken([
      { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
    ]);
    await using tab = await openConsole(node, { token, at: "/config" });
    const { page } = tab;
    await page.getByText(/This page needs the Super Token/).waitFor();
    expect(await menuOf(page)).toEqual(["Buckets", "API"]);
    expect(await axeFindings(page)).toEqual([]);
  },
);

further("a server that cannot look up tokens is no reason to forget who was signed in", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { expected: /no such table/i });
  const { page } = tab;
  await node.sql("ALTER TABLE token RENAME TO away");
  await page.reload();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await node.sql("ALTER TABLE away RENAME TO token");
  await page.getByRole("button", { name: "Try again" }).click();
  await inside(page);
});

further("a token whose limits cannot be read may do nothing, and is shown just that", async () => {
  await using node = await testNode();
  const token = await node.newToken([]);
  await node.sql(
    `UPDATE token SET token_limit = '[{}, {"scopes": ["x"], "permissions": ["y"]}]' WHERE token_key = '${token.split(":")[0]}'`,
  );
  await using tab = await openConsole(node, { token });
  expect(await menuOf(tab.page)).toEqual(["Overview", "API"]);
});

further("who signs out is told when the browser could not be made to forget", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { expected: /502|may still have your token/ });
  const { page } = tab;
  await page.route("**/remember", (route) => route.fulfill({ status: 502, body: "the proxy is tired" }));
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  await page.getByText(/This browser may still have your token.*the proxy is tired/).waitFor();
});

further("a browser that keeps nothing for pages still shows the console", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.addInitScript(`
    for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
  `);
  await page.reload();
  await signIn(page, node.superToken);
  await page.getByRole("button", { name: "Dark colours" }).click();
  await page.locator('html[data-theme="dark"]').waitFor();
});

further("the console is used by keyboard alone", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.locator("input[name=token]:focus").waitFor();
  await page.keyboard.type(node.superToken);
  await page.keyboard.press("Enter");
  // The heading takes the focus when the page loads.
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.getByRole("link", { name: "API" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  // The heading has the focus, so that screen readers announce the page.
  expect(await page.evaluate("document.activeElement?.textContent")).toBe("API");
});
