import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Token } from "../../src/client/index.ts";
import { isIn, type State, sortValues, toListed } from "../../src/console/pages/tokens/model.ts";
import { arrange, orderText, parseOrder, search } from "../../src/console/ui/order.ts";
import type { TestNode } from "../support/node.ts";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
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
