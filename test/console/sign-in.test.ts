import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, shoot, signIn, testNode } from "./browser.ts";

const menuOf = (page: Page) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents();
const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in" }).waitFor();
const inside = (page: Page) => page.locator(".menu").waitFor();

async function rollSecret(node: TestNode, token: string): Promise<void> {
  const target_token = token.split(":", 1)[0];
  await node.call("token_roll_token_secret", { token: node.superToken, target_token });
}

inBrowser("the sign-in page is readable by everybody, in light, in dark and on a phone", async () => {
  await using node = await testNode();
  for (const [way, look] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true } })) {
    await using tab = await openConsole(node, { token: undefined, ...look });
    await atSignIn(tab.page);
    await shoot(tab.page, `sign-in-${way}`);
    expect(await axeFindings(tab.page)).toEqual([]);
  }
});

inBrowser("one signs in with a token, or with user name and password", async () => {
  await using node = await testNode();
  for (const token of [node.superToken, `root|${node.rootPassword}`]) {
    await using tab = await openConsole(node, { token });
    await tab.page.getByText("root", { exact: true }).waitFor();
    expect(await menuOf(tab.page)).toEqual([
      "Overview",
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
    nothing: /This is no token/,
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
  await page.getByLabel("User name").fill("root");
  await page.getByLabel("Password", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "User name or password is wrong" }).waitFor();
});

inBrowser(
  "a token is kept for the tab: over reloads and ways back, in no other tab, and in no store that holds it whole",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node);
    const { page } = tab;
    await page.reload();
    await inside(page);
    await page.goto(`${node.url}/node/console/#/api`);
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    await page.reload();
    await inside(page);
    // Another document of the same origin in the same tab, and back.
    await page.goto(`${node.url}/`);
    await page.goBack();
    await inside(page);
    const secret = node.superToken.split(":")[1] ?? "";
    for (const store of ["localStorage", "sessionStorage"]) {
      const held = (await page.evaluate(`JSON.stringify({ ...${store} })`)) as string;
      expect(held).not.toContain(secret);
      expect(atobAll(held)).not.toContain(secret);
    }
    expect(await page.evaluate("document.cookie")).toBe("");
    const other = await page.context().newPage();
    await other.goto(`${node.url}/node/console/`);
    await atSignIn(other);
  },
);

inBrowser(
  "another page of the origin that writes to the storage gets nobody in, and keeps nobody out",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node);
    const { page } = tab;
    for (const planted of ["not base64 !", "", btoa("root|password-that-was-planted")]) {
      await page.evaluate(
        `for (const key of Object.keys(sessionStorage)) sessionStorage.setItem(key, ${JSON.stringify(planted)})`,
      );
      await page.reload();
      await atSignIn(page);
      await signIn(page, node.superToken);
    }
  },
);

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

inBrowser("a token is remembered by the browser when that was chosen, until one signs out", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.getByLabel(/^Remember on this device/).check();
  await signIn(page, node.superToken);
  const other = await page.context().newPage();
  await other.goto(`${node.url}/node/console/`);
  await inside(other);
  const [cookie] = await page.context().cookies(`${node.url}/node/console/`);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/node/console/" });
  expect(await page.context().cookies(`${node.url}/`)).toEqual([]);
  await other.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(other);
  const third = await page.context().newPage();
  await third.goto(`${node.url}/node/console/`);
  await atSignIn(third);
});

inBrowser("who is revoked is signed out, and told why, with the next thing he does", async () => {
  await using node = await testNode();
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  await using tab = await openConsole(node, { token, at: "/sql", expected: /Invalid credentials/ });
  const { page } = tab;
  await page.getByRole("heading", { name: "SQL", level: 1 }).waitFor();
  await rollSecret(node, token);
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText(/the server no longer takes this token/).waitFor();
  await page.reload();
  await atSignIn(page);
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
    expect(await menuOf(page)).toEqual(["Overview", "Buckets", "API"]);
    expect(await axeFindings(page)).toEqual([]);
  },
);

inBrowser("a server that is away is no reason to forget who was signed in", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, {
    expected: /Failed to load resource|ERR_|The server does not answer|cannot be reached/,
  });
  const { page } = tab;
  await page.route("**/jsonrpc", (route) => route.abort());
  await page.reload();
  await page.getByText(/The server does not answer/).waitFor();
  await page.unroute("**/jsonrpc");
  await page.getByRole("button", { name: "Try again" }).click();
  await inside(page);
});

inBrowser("a server that cannot look up tokens is no reason to forget who was signed in", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { expected: /DatabaseError/ });
  const { page } = tab;
  await node.sql("ALTER TABLE token RENAME TO away");
  await page.reload();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await node.sql("ALTER TABLE away RENAME TO token");
  await page.getByRole("button", { name: "Try again" }).click();
  await inside(page);
});

inBrowser("who reloaded on the way comes back to every page of the console signed in", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.getByRole("link", { name: "API" }).click();
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  await page.reload();
  await inside(page);
  await page.goto(`${node.url}/`);
  await page.evaluate("setTimeout(() => history.go(-2))");
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
});

inBrowser("a token whose limits cannot be read may do nothing, and is shown just that", async () => {
  await using node = await testNode();
  const token = await node.newToken([]);
  await node.sql(
    `UPDATE token SET token_limit = '[{}, {"scopes": ["x"], "permissions": ["y"]}]' WHERE token_key = '${token.split(":")[0]}'`,
  );
  await using tab = await openConsole(node, { token });
  expect(await menuOf(tab.page)).toEqual(["Overview", "API"]);
});

inBrowser("who signs out is told when the browser could not be made to forget", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { expected: /502|may still remember the token/ });
  const { page } = tab;
  await page.route("**/remember", (route) => route.fulfill({ status: 502, body: "the proxy is tired" }));
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  await page.getByText(/This browser may still remember the token.*the proxy is tired/).waitFor();
});

inBrowser("a browser that keeps nothing for pages still shows the console", async () => {
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

inBrowser("a question that nobody can answer any more is not left on the screen", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  await page.getByRole("button", { name: "Roll the secret" }).click();
  await page.getByRole("dialog").waitFor();
  await rollSecret(node, node.superToken);
  await page.evaluate("window.dispatchEvent(new Event('focus'))");
  await page.getByRole("heading", { name: "Sign in" }).waitFor({ timeout: 30_000 });
  expect(await page.getByRole("dialog").count()).toBe(0);
});

inBrowser("the console is used by keyboard alone", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.getByLabel("Token", { exact: true }).focus();
  await page.keyboard.type(node.superToken);
  await page.keyboard.press("Enter");
  // Its heading takes the focus as soon as it is there.
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.getByRole("link", { name: "API" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  // The heading has the focus, so that a screen reader tells where one is.
  expect(await page.evaluate("document.activeElement?.textContent")).toBe("API");
});

/** Every text in base64 within another text, decoded. */
function atobAll(text: string): string {
  return [...text.matchAll(/[A-Za-z0-9+/=]{8,}/g)]
    .map(([part]) => Buffer.from(part, "base64").toString())
    .join("\n");
}
