import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { codeAt } from "../../src/auth/second-factor.ts";
import type { Token } from "../../src/client/index.ts";
import { isIn, type State, sortValues, toListed } from "../../src/console/pages/tokens/model.ts";
import { arrange, orderText, parseOrder, search } from "../../src/console/ui/order.ts";
import { bytesOfBase32 } from "../support/base32.ts";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { actOn, tokenRow } from "./token-row.ts";
import "./texts.ts";

const readSite = [
  { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
  { scopes: ["global"], permissions: [{ kv: { read: "a*" } }] },
];

/** Makes 1,000 tokens in one batch: every tenth is expired. */
async function makeMany(node: TestNode): Promise<void> {
  const calls = Array.from({ length: 1000 }, (_, at) => ({
    jsonrpc: "2.0",
    id: at,
    method: "token_create",
    params: {
      father_token: node.superToken,
      token_creation: {
        token_limit: readSite,
        name: `device-${at}`,
        ...(at % 10 === 0 ? { timestamp_to: 1000 + at } : {}),
      },
    },
  }));
  const answer = await fetch(`${node.url}/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls),
  });
  const answers = (await answer.json()) as object[];
  expect(answers.filter((one) => "result" in one)).toHaveLength(1000);
}

async function countOf(node: TestNode): Promise<number> {
  return ((await node.call("token_list_all_tokens", [node.superToken])) as { tokens: unknown[] }).tokens
    .length;
}

const rows = (page: Page) => page.locator(".tokens-table tbody tr:not(.spacer)");
const firstName = (page: Page) => rows(page).first().locator(".tokens-title").textContent();

inBrowser("a thousand tokens are searched, sorted and filtered, and many end by one question", async () => {
  await using node = await sharedNode();
  await makeMany(node);
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  await page.getByText("1,001 tokens", { exact: true }).waitFor();
  expect(await rows(page).count()).toBeLessThan(80);
  await page.mouse.move(700, 500);
  await page.mouse.wheel(0, 1_000_000);
  await page.getByRole("link", { name: "device-999", exact: true }).waitFor();

  const created = page.getByRole("columnheader", { name: "Name", exact: true });
  await created.getByRole("button").click();
  await becomes(() => created.getAttribute("aria-sort"), "ascending");
  await created.getByRole("button").click();
  await becomes(() => created.getAttribute("aria-sort"), "descending");
  await becomes(() => page.url(), expect.stringContaining("sort=-name"));
  // Another order begins at its top.
  await rows(page).first().getByText("root", { exact: true }).first().waitFor();
  await page.getByLabel("Find").fill("device-99");
  await page.getByText("11 of 1,001 tokens").waitFor();
  await becomes(() => firstName(page), "device-999");

  await page.getByLabel("Find").fill("");
  await page.getByRole("button", { name: "Expired 100" }).click();
  await page.getByText("100 of 1,001 tokens").waitFor();
  await page.getByLabel("Select all tokens shown").click();
  await page.getByText("100 tokens selected").waitFor();
  // A search leaves out of the question what it does not show.
  await page.getByLabel("Find").fill("device-1");
  await page.getByText("11 tokens selected").waitFor();
  await page.getByRole("button", { name: "Delete 11 tokens" }).click();
  const question = page.getByRole("dialog", { name: "Delete 11 tokens?" });
  await question
    .getByText(/and 3 more\. Consoles, scripts and network drives that use them stop working/)
    .waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await countOf(node)).toBe(1001);
  await page.getByRole("button", { name: "Delete 11 tokens" }).click();
  await question.getByRole("button", { name: "Delete" }).click();
  await page.getByText("11 tokens deleted.").waitFor();
  await page.getByText("No tokens match.").waitFor();
  expect(await countOf(node)).toBe(990);
});

inBrowser(
  "what a token may do is answered by the server, with the limit that decides, also in Chinese",
  async () => {
    await using node = await sharedNode();
    await node.call("static-bucket_create", { token: node.superToken, name: "site" });
    await node.newToken(readSite, { username: "alice" });
    await node.newToken(readSite, { username: "late", timestamp_to: 1000 });
    await using tab = await openConsole(node, { at: "/tokens" });
    const { page } = tab;
    const ask = async (name: string, steps: () => Promise<unknown>, answer: string) => {
      await actOn(page, name, "What can this token do?");
      const dialog = page.getByRole("dialog", { name: `What can ${name} do?` });
      await dialog.getByText("Enter a name to get an answer.").waitFor();
      await steps();
      await dialog.getByText(answer).waitFor();
      return dialog;
    };
    const scope = () => page.getByLabel("Scope", { exact: true });
    const bucket = (name: string) => page.getByLabel("Name of the bucket").fill(name);
    let dialog = await ask("alice", () => bucket("site"), "Yes. This limit grants the permission:");
    await dialog.getByText("Limit 1 Files: read, in bucket site").waitFor();
    await bucket("other");
    await dialog
      .getByText("No. None of its limits grants the permission. It is granted only in other scopes:")
      .waitFor();
    await dialog.getByLabel("Permission").selectOption("Server: run SQL");
    await scope().selectOption("Everywhere");
    await dialog.getByText("No. None of its limits grants the permission.", { exact: true }).waitFor();
    await dialog.getByLabel("Permission").selectOption("kv: read (a*)");
    await dialog.getByText("Limit 2 kv: read (a*), everywhere").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await shoot(page, "tokens-explain");
    await page.keyboard.press("Escape");
    dialog = await ask("late", () => bucket("site"), "No. The token has expired.");
    await page.keyboard.press("Escape");
    dialog = await ask("root", () => bucket("site"), "Yes. The Super Token can do everything.");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("columnheader", { name: "最近使用" }).waitFor();
    await tokenRow(page, "alice").getByRole("button", { name: "alice 的操作" }).click();
    await page.getByRole("menuitem", { name: "此令牌可以做什么？" }).click();
    await page.getByLabel("存储桶名称").fill("site");
    await page.getByText("可以。 由此授权规则授予：").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await shoot(page, "tokens-explain-zh");
  },
);

inBrowser("who may not make tokens sees what the own token may do, from the name in the menu", async () => {
  await using node = await testNode();
  const token = await node.newToken(readSite, { username: "alice" });
  await using tab = await openConsole(node, { token, at: "/api" });
  const { page } = tab;
  expect(await page.getByRole("link", { name: "Tokens", exact: true }).count()).toBe(0);
  await page.getByRole("link", { name: "alice Token" }).click();
  await page.getByRole("heading", { name: "Your token", level: 1 }).waitFor();
  await page.getByText("Files: read, in bucket site").waitFor();
  await page.getByLabel("Name of the bucket").fill("site");
  await page.getByText("Yes. This limit grants the permission:").waitFor();
  await page.getByLabel("Permission", { exact: true }).selectOption("Files: write");
  await page.getByText("No. None of its limits grants the permission.").waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

const base = { token_limit: [], timestamp_from: null, timestamp_to: null, created_by: null } as const;
const tokens = [
  { ...base, token_key: "k0", name: null, username: "root", created_at: 5, last_used_at: 9, super: true },
  { ...base, token_key: "k1", name: "b 10", username: null, created_at: 1, last_used_at: null },
  {
    ...base,
    token_key: "k2",
    name: "b 9",
    username: "alice",
    created_at: 2,
    last_used_at: 3,
    timestamp_to: 7,
  },
] as unknown as Token[];

test("tokens are ordered by numbers in names and by time, and what is missing is last", () => {
  const all = toListed(tokens, "Everything.");
  const keysOf = (listed: readonly (typeof all)[number][]) =>
    listed.map(({ token }) => token.token_key).join(" ");
  const order = (text: string) => {
    const { column, isDown } = parseOrder(text);
    return keysOf(arrange(all, sortValues[column as keyof typeof sortValues], isDown));
  };
  const inState = (state: State) => keysOf(all.filter((one) => isIn(one, state, 8)));
  expect(order("name")).toBe("k2 k1 k0");
  expect(order("used")).toBe("k2 k0 k1");
  expect(order("-used")).toBe("k0 k2 k1");
  expect(order("-expires")).toBe("k2 k0 k1");
  expect(inState("all")).toBe("k0 k1 k2");
  expect(inState("expired")).toBe("k2");
  expect(inState("unused")).toBe("k1");
  expect(keysOf(search(all, "everything", ({ text }) => text))).toBe("k0");
  expect(keysOf(search(all, "", ({ text }) => text))).toBe("k0 k1 k2");
  for (const text of ["name", "-name"]) expect(orderText(parseOrder(text))).toBe(text);
});

inBrowser("a person sees the own sessions, signs out elsewhere, and changes the own password", async () => {
  await using node = await testNode();
  await node.call("token_create", {
    father_token: node.superToken,
    token_creation: { token_limit: [], username: "anna", password: "first pass" },
  });
  const token = "anna|first pass";
  const other = (await node.call("session_create", { token, device: "Firefox on a phone" })) as {
    session: string;
  };
  await using tab = await openConsole(node, { at: "/overview", token, expected: /Failed to load resource/ });
  const { page } = tab;
  await page.locator("a.me").click();
  const account = page.getByRole("region", { name: "Your sign-in" });
  await account.getByText("Firefox on a phone").waitFor();
  await account.getByText("this one").waitFor();
  await account.getByRole("button", { name: "Sign out elsewhere" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out elsewhere" }).click();
  await account.getByText("Firefox on a phone").waitFor({ state: "detached" });
  expect((await node.refused("token_get", { token: other.session })).code).toBe(102);
  await account.getByRole("button", { name: "Change password" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Present password").fill("guess");
  await dialog.getByLabel("New password", { exact: true }).fill("second pass");
  await dialog.getByRole("button", { name: "Change password" }).click();
  await dialog.getByText("This is not your present password.").waitFor();
  await dialog.getByLabel("Present password").fill("first pass");
  await dialog.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Password changed. You are signed out everywhere else.").waitFor();
  await page.reload();
  await account.getByText("this one").waitFor();
  expect((await node.refused("token_get", { token })).code).toBe(102);
  // The browser keeps no password, and what it has kept ends with the sign-out.
  const kept = await page.evaluate("document.documentElement.outerHTML");
  expect(kept).not.toContain("second pass");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await eventually("the session has ended", async () => {
    const listed = (await node.call("session_list", { token: "anna|second pass" })) as unknown[];
    return listed.length === 0;
  });
});

inBrowser("a person turns two-factor sign-in on, and signs in with a code that is asked for", async () => {
  await using node = await testNode();
  await node.call("token_create", {
    father_token: node.superToken,
    token_creation: { token_limit: [], username: "anna", password: "first pass" },
  });
  const token = "anna|first pass";
  await using tab = await openConsole(node, { at: "/overview", token, expected: /Failed to load resource/ });
  const { page } = tab;
  await page.locator("a.me").click();
  const account = page.getByRole("region", { name: "Your sign-in" });
  const dialog = page.getByRole("dialog");
  await account.getByRole("button", { name: "Turn on two-factor sign-in" }).click();
  await dialog.getByLabel("Present password").fill("first pass");
  await dialog.getByRole("button", { name: "Next" }).click();
  const secret = ((await dialog.locator(".tokens-secret code").textContent()) ?? "").replaceAll(" ", "");
  const present = () => codeAt(bytesOfBase32(secret), Math.floor(Date.now() / 30_000));
  await dialog.getByLabel("Code").fill(present());
  await dialog.getByRole("button", { name: "Turn on two-factor sign-in" }).click();
  await dialog.getByText("Each signs in once").waitFor();
  const codes = ((await dialog.locator("pre").textContent()) ?? "")
    .split("\n")
    .map((line) => line.replaceAll(" ", ""));
  expect(codes).toHaveLength(10);
  expect(await axeFindings(page)).toEqual([]);
  await dialog.getByRole("button", { name: "I have saved them" }).click();
  await account.getByText("10 recovery codes are left.").waitFor();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Password" }).click();
  await page.getByLabel("User name").fill("anna");
  await page.getByLabel("Password", { exact: true }).fill("first pass");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Code").fill("wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("The code is wrong, or was used before.").waitFor();
  await page.getByLabel("Code").fill(codes[0] ?? "");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await account.getByText("9 recovery codes are left.").waitFor();
  await account.getByRole("button", { name: "Turn off two-factor sign-in" }).click();
  await dialog.getByLabel("Present password").fill("first pass");
  await dialog.getByLabel("Code").fill(codes[1] ?? "");
  await dialog.getByRole("button", { name: "Turn off two-factor sign-in" }).click();
  await account.getByRole("button", { name: "Turn on two-factor sign-in" }).waitFor();
});
