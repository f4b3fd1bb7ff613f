import { expect, test } from "bun:test";
import { fitsWebdav } from "../../src/client/index.ts";
import { usernameHint, usernameProblem } from "../../src/console/pages/tokens/draft.ts";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, lookAround, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import "./texts.ts";

inBrowser("the form of a new token begins with what to choose, and not with a fault", async () => {
  await using node = await sharedNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  await using tab = await openConsole(node, { at: "/tokens?preset=webdav" });
  const { page } = tab;
  const rights = page.getByRole("region", { name: "Permissions" });
  await rights.getByText("Choose a bucket first.").waitFor();
  expect(await page.getByText("cannot read").count()).toBe(0);
  expect(await page.getByRole("alert").count()).toBe(0);
  await shoot(page, "tokens-empty-form");
  await page.getByLabel("Bucket", { exact: true }).fill("site");
  await rights.getByText("Files: read, write, delete, list, in bucket site").waitFor();
  await page.getByRole("button", { name: "Custom" }).click();
  await page.getByLabel("Name of the bucket").fill("");
  await rights.getByRole("listitem").getByText("a scope has no name").waitFor();
});

inBrowser("a password that was made up is shown once more with the secret, a typed one is not", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=sql" });
  const { page } = tab;
  const dialog = page.getByRole("dialog", { name: "The new token" });
  const facts = async () => {
    const names = await dialog.locator("dt").allInnerTexts();
    const values = await dialog.locator("dd").allInnerTexts();
    return Object.fromEntries(names.map((name, at) => [name, values[at]?.split("\n")[0]]));
  };
  await page.getByLabel("User name", { exact: true }).fill("alice");
  await page.getByRole("button", { name: "Generate" }).click();
  const password = await page.getByLabel("Password").inputValue();
  await page.getByRole("button", { name: "Create token" }).click();
  await dialog.waitFor();
  expect(await facts()).toMatchObject({ "Or with a name: user name": "alice", Password: password });
  await shoot(page, "tokens-secret-password");
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  expect(await page.content()).not.toContain(password);
  expect(await node.send("token_get", [`alice|${password}`])).toHaveProperty("result.username", "alice");

  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("button", { name: "SQL", exact: true }).click();
  await page.getByLabel("User name", { exact: true }).fill("bob");
  await page.getByLabel("Password").fill("typed by hand");
  await page.getByRole("button", { name: "Create token" }).click();
  await dialog.waitFor();
  expect(await facts()).toMatchObject({ Password: "The password that you entered. It is not shown here." });
  expect(await dialog.textContent()).not.toContain("typed by hand");
  await dialog.getByRole("button", { name: "I have copied it" }).click();
});

inBrowser("a user name with a colon or a bar is taken, and the form says what it cannot do", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=sql" });
  const { page } = tab;
  const name = page.getByLabel("User name", { exact: true });
  await name.fill("[agent]:1");
  await page.getByText("For network drives, use the key and the secret.").waitFor();
  expect(await name.getAttribute("aria-invalid")).toBeNull();
  expect(await page.getByRole("button", { name: "Create token" }).isEnabled()).toBe(true);
  await name.fill("[agent]|1");
  await page.getByText("Use the key and the secret there.").waitFor();
  expect(await name.getAttribute("aria-invalid")).toBeNull();
  await name.fill("r\u200Boot");
  await becomes(() => name.getAttribute("aria-invalid"), "true");
});

inBrowser(
  "a user with a colon in the name, which Basic cannot carry, signs in and changes files",
  async () => {
    await using node = await testNode();
    await siteWith(node, { "a.txt": "hello" });
    const four = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
    await node.newToken([{ scopes: [{ static_bucket: "site" }], permissions: four }], {
      username: "[agent]:1",
      password: "pass:word|more",
    });
    await using tab = await openConsole(node, { token: undefined, at: "/buckets/site" });
    const { page } = tab;
    await page.getByRole("button", { name: "Password" }).click();
    await page.getByLabel("User name").fill("[agent]:1");
    await page.getByLabel("Password", { exact: true }).fill("pass:word|more");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("a.txt", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Upload files" }).waitFor();
  },
);

test("the words on user names know what Basic authentication can carry", () => {
  expect(usernameProblem("[agent]:0b9c")).toBeUndefined();
  for (const refused of ["r\u200Boot", "root ", "c3vRzqVb0Ytn1cUa"])
    expect([refused, usernameProblem(refused)]).toEqual([refused, expect.any(String)]);
  expect(usernameProblem("a|b")).toBeUndefined();
  expect(usernameHint("a|b", true)).toContain("“|”");
  expect(usernameHint("[agent]:0b9c", true)).toContain("use the key and the secret");
  expect(usernameHint("alice", true)).not.toContain("WebDAV");
});

test("a client knows whether WebDAV can take a token", () => {
  expect(fitsWebdav("key:secret")).toBe(true);
  expect(fitsWebdav("alice|pass:word|more")).toBe(true);
  expect(fitsWebdav("[agent]:1|password")).toBe(false);
});

inBrowser("the empty form of a token is readable by everybody", async () => {
  await using node = await sharedNode();
  const findings = await lookAround(node, "tokens-empty", "/tokens?preset=webdav", (page) =>
    page.getByText("Choose a bucket first.").waitFor(),
  );
  expect(findings).toEqual([]);
});

inBrowser("a user name without a password is said to be of no use for signing in", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=sql" });
  const { page } = tab;
  const hint = page.getByText("Set a password to sign in with this name.");
  const name = page.getByRole("textbox", { name: "User name" });
  await name.fill("alice");
  await hint.waitFor();
  await page.getByLabel("Password").fill("a password");
  await hint.waitFor({ state: "detached" });
  await page.getByLabel("Password").fill("");
  await hint.waitFor();
  await name.fill("");
  await hint.waitFor({ state: "detached" });
});
