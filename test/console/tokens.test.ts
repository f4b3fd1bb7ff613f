import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { TestNode } from "../support/node.ts";
import { inBrowser, lookAround, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes } from "./eventually.ts";
import { actOn, tokenRow as card } from "./token-row.ts";

const files = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));

interface Listed {
  readonly token_key: string;
  readonly username: string | null;
  readonly token_limit: unknown;
  readonly timestamp_from: number | null;
  readonly timestamp_to: number | null;
}

/** All tokens of the server except the Super Token. */
async function tokensOf(node: TestNode): Promise<Listed[]> {
  const { tokens } = (await node.call("token_list_all_tokens", [node.superToken])) as { tokens: Listed[] };
  return tokens.slice(1);
}

/** Reads the token from the dialog that shows it once, and closes the dialog. */
async function takeSecret(page: Page): Promise<string> {
  const dialog = page.getByRole("dialog");
  const text = (await dialog.locator("dd code").first().textContent()) ?? "";
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await dialog.waitFor({ state: "detached" });
  return text;
}

async function mount(node: TestNode, bucket: string, token: string): Promise<number> {
  const { status } = await fetch(`${node.url}/node/static-webdav/${bucket}/`, {
    method: "PROPFIND",
    headers: { authorization: `Basic ${btoa(token)}`, depth: "1" },
  });
  return status;
}

async function aliceOf(node: TestNode): Promise<string> {
  return node.newToken([{ scopes: [{ static_bucket: "site" }], permissions: files }], {
    username: "alice",
    password: "correct horse",
  });
}

inBrowser("a link from a bucket makes a token that mounts this bucket and can do nothing else", async () => {
  await using node = await sharedNode();
  for (const name of ["site", "other"])
    await node.call("static-bucket_create", { token: node.superToken, name });
  await using tab = await openConsole(node, { at: "/tokens?bucket=site&preset=webdav" });
  const { page } = tab;
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog", { name: "The new token" });
  await dialog.getByText(`${node.url}/node/static-webdav/site/`).waitFor();
  const copied = await copiedBy(page, () => dialog.getByRole("button", { name: "Copy" }).first().click());
  await shoot(page, "tokens-secret");
  const token = await takeSecret(page);
  expect(copied).toBe(token);
  const [key = "", secret = ""] = token.split(":");
  expect(await mount(node, "site", token)).toBe(207);
  expect(await mount(node, "other", token)).toBe(403);
  expect(await tokensOf(node)).toMatchObject([
    { token_key: key, token_limit: [{ scopes: [{ static_bucket: "site" }], permissions: files }] },
  ]);
  await card(page, key).getByText("Files: read, write, delete, list, in bucket site").waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(page.url()).not.toContain(key);
  expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage])")).not.toContain(secret);
  expect(JSON.stringify(await node.call("node-server_log", [node.superToken]))).not.toContain(secret);
});

inBrowser("a secret is not lost by a slip: the dialog that shows it once asks before it goes", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens?bucket=site&preset=read" });
  const { page } = tab;
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("dialog", { name: "The new token" }).waitFor();
  await page.keyboard.press("Escape");
  const question = page.getByRole("dialog", { name: "Close without copying the secret?" });
  await question.getByText("The secret is not shown again.").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  const token = await takeSecret(page);
  expect(await node.send("token_get", [token])).toHaveProperty("result.token_limit", [
    {
      scopes: [{ static_bucket: "site" }],
      permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
    },
  ]);
});

inBrowser("boxes and JSON say the same, whichever is changed, and the server gets just that", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("button", { name: "Custom" }).click();
  const first = page.getByRole("group", { name: "Limit 1" });
  await first.getByLabel("Scope", { exact: true }).selectOption("Database");
  await first.getByLabel("Name of the database").fill("metrics*");
  await first.getByRole("group", { name: "Databases" }).getByLabel("read").check();
  await page.getByRole("button", { name: "JSON" }).click();
  const raw = page.getByLabel("token_limit");
  expect(JSON.parse(await raw.inputValue())).toMatchObject([{ scopes: [{ db: "metrics*" }] }]);

  await raw.fill('[{"scopes": ["everywhere"], "permissions": []}]');
  await page.getByText('Limit 1: "everywhere" is not a scope.').waitFor();
  expect(await page.getByRole("button", { name: "Create token" }).isDisabled()).toBe(true);
  const limits = [
    { scopes: ["global"], permissions: [{ node: "exec_sql" }, { kv: { read: "a*" } }] },
    { scopes: [{ agent_uuid: "a1" }, { js_worker: "w" }], permissions: [{ monitoring_uuid: "list" }] },
  ];
  await raw.fill(JSON.stringify(limits));
  await page.getByText("Server: run SQL; kv: read (a*), everywhere").waitFor();
  await page.getByRole("button", { name: "Form" }).click();
  expect(await first.getByRole("group", { name: "Server" }).getByLabel("run SQL").isChecked()).toBe(true);
  expect(JSON.parse(await first.getByLabel("As a JSON list").inputValue())).toEqual([{ kv: { read: "a*" } }]);
  await first.getByLabel("As a JSON list").fill('[{"kv": "write"}, {"task": {"run": "n*"}}]');
  await page.getByRole("group", { name: "Limit 2" }).getByLabel("Remove this scope").first().click();
  await page.getByRole("button", { name: "Create token" }).click();
  await takeSecret(page);
  expect((await tokensOf(node))[0]?.token_limit).toEqual([
    { scopes: ["global"], permissions: [{ node: "exec_sql" }, { kv: "write" }, { task: { run: "n*" } }] },
    { scopes: [{ js_worker: "w" }], permissions: [{ monitoring_uuid: "list" }] },
  ]);
});

inBrowser(
  "a token can have a user name, a made-up password and times, and says when it expires",
  async () => {
    await using node = await sharedNode();
    await using tab = await openConsole(node, { at: "/tokens?preset=sql" });
    const { page } = tab;
    const make = page.getByRole("button", { name: "Create token" });
    await page.getByLabel("Password").fill("short");
    await page.getByText("Use at least 6 characters.").first().waitFor();
    expect(await make.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Generate" }).click();
    const password = await page.getByLabel("Password").inputValue();
    await page.getByText("A password needs a user name.").waitFor();
    await page.getByLabel("User name", { exact: true }).fill("bob");
    await page.getByLabel("Valid from").fill("2024-01-01T00:00");
    await page.getByLabel("Valid to").fill("2023-01-01T00:00");
    await page.getByText("The end must be later than the start.").first().waitFor();
    await page.getByLabel("Valid to").fill("2124-01-01T00:00");
    await make.click();
    await takeSecret(page);
    await card(page, "bob")
      .getByText(/^in \d+ years$/)
      .waitFor();
    expect(await node.send("token_get", [`bob|${password}`])).toMatchObject({
      result: {
        username: "bob",
        timestamp_from: new Date("2024-01-01T00:00").getTime(),
        timestamp_to: new Date("2124-01-01T00:00").getTime(),
      },
    });
  },
);

inBrowser("expired tokens and those that do not count yet are told apart in words", async () => {
  await using node = await sharedNode();
  await node.newToken([], { username: "late", timestamp_to: 1000 });
  await node.newToken([], { username: "soon", timestamp_from: Date.now() + 86_400_000 * 40 });
  await using tab = await openConsole(node, { at: "/tokens" });
  await card(tab.page, "late")
    .getByText(/^expired \d+ years ago$/)
    .waitFor();
  await card(tab.page, "soon")
    .getByText(/^starts /)
    .waitFor();
  await card(tab.page, "root").getByText("Super Token").waitFor();
  await card(tab.page, "root").getByText("you", { exact: true }).waitFor();
  await card(tab.page, "root").getByRole("button", { name: "Actions for root" }).click();
  expect(await tab.page.getByRole("menuitem").allInnerTexts()).toEqual([
    "What can this token do?",
    "Rotate secret",
    "Show S3 keys",
    "Change password",
  ]);
  await tab.page.keyboard.press("Escape");
  await tab.page.getByLabel("Find").fill("soon");
  await tab.page.getByText("1 of 3 tokens").waitFor();
  await becomes(() => tab.page.url(), expect.stringContaining("find=soon"));
});

inBrowser("limits are edited, the secret rolled, the password changed and the token deleted", async () => {
  await using node = await sharedNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const old = await aliceOf(node);
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  const alice = card(page, "alice");

  await actOn(page, "alice", "Edit");
  const group = page.getByRole("group", { name: "Files" });
  for (const action of ["write", "delete"]) await group.getByLabel(action).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await alice.getByText("Files: read, list, in bucket site").waitFor();
  expect((await tokensOf(node))[0]?.token_limit).toEqual([
    {
      scopes: [{ static_bucket: "site" }],
      permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
    },
  ]);
  expect(await mount(node, "site", old)).toBe(403);

  await actOn(page, "alice", "Rotate secret");
  await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
  await page.getByRole("dialog", { name: "The new secret of alice" }).waitFor();
  const rolled = await takeSecret(page);
  expect(await node.refused("token_get", [old])).toMatchObject({ code: 102 });
  expect(await node.send("token_get", [rolled])).toHaveProperty("result.username", "alice");

  await actOn(page, "alice", "Change password");
  await page.getByLabel("New password").fill("another horse");
  await page.getByRole("dialog").getByRole("button", { name: "Change password" }).click();
  await page.getByText("Password of alice changed.").waitFor();
  expect(await node.refused("token_get", ["alice|correct horse"])).toMatchObject({ code: 102 });
  expect(await node.send("token_get", ["alice|another horse"])).toHaveProperty("result.username", "alice");

  await actOn(page, "alice", "Delete");
  const question = page.getByRole("dialog", { name: "Delete alice?" });
  await question.getByText("network drives").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await tokensOf(node)).toHaveLength(1);
  await actOn(page, "alice", "Delete");
  await question.getByRole("button", { name: "Delete" }).click();
  await alice.waitFor({ state: "detached" });
  expect(await tokensOf(node)).toEqual([]);
});

for (const way of ["secret", "password"] as const)
  inBrowser(`who changes the ${way} they signed in with stays signed in here, with the new one`, async () => {
    await using node = await testNode();
    const byPassword = way === "password";
    const token = byPassword ? `root|${node.rootPassword}` : node.superToken;
    await using tab = await openConsole(node, { at: "/tokens", token, expected: /Failed to load/ });
    const { page } = tab;
    const root = card(page, "root");
    if (byPassword) {
      await actOn(page, "root", "Change password");
      await page.getByLabel("New password").fill("a longer password");
      await page.getByRole("dialog").getByRole("button", { name: "Change password" }).click();
      await page.getByText("You stay signed in here. Sign in again elsewhere.").waitFor();
    } else {
      await actOn(page, "root", "Rotate secret");
      await page.getByText("You are signed in with this token.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
      await page.getByText("You stay signed in here. Sign in again elsewhere.").waitFor();
      const rolled = await takeSecret(page);
      expect(await node.send("token_list_all_tokens", [rolled])).toHaveProperty("result.tokens");
    }
    expect(await node.refused("token_get", [token])).toMatchObject({ code: 102 });
    await page.reload();
    await root.waitFor();
  });

inBrowser(
  "a token that may only make tokens sees the form alone, and the server's word on what it asks",
  async () => {
    await using node = await testNode();
    const maker = await node.newToken([
      { scopes: ["global"], permissions: [{ token: "create" }, { static_bucket_file: "read" }] },
    ]);
    await using tab = await openConsole(node, {
      at: "/tokens",
      token: maker,
      expected: /can grant only permissions/,
    });
    const { page } = tab;
    await page.getByText("Only the Super Token can list all tokens.").waitFor();
    await page.getByRole("button", { name: "WebDAV for a bucket" }).click();
    await page.getByLabel("Bucket", { exact: true }).fill("site");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText("a token can grant only permissions that it holds").waitFor();
    await page.getByText("Scopes and permissions").click();
    for (const action of ["write", "delete", "list"])
      await page.getByRole("group", { name: "Files" }).getByLabel(action).uncheck();
    await page.getByRole("button", { name: "Create token" }).click();
    await takeSecret(page);
    expect((await tokensOf(node)).at(-1)?.token_limit).toEqual([
      { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
    ]);
  },
);

inBrowser("the list and the form of tokens are readable by everybody", async () => {
  await using node = await sharedNode();
  await aliceOf(node);
  await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }], { timestamp_to: 1000 });
  const list = await lookAround(node, "tokens", "/tokens", (page) => card(page, "alice").waitFor());
  const form = await lookAround(node, "tokens-new", "/tokens?preset=own", (page) =>
    page.getByRole("group", { name: "Limit 1" }).waitFor(),
  );
  expect([...list, ...form]).toEqual([]);
});
