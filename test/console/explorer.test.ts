import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { TestNode } from "../support/node.ts";
import { inBrowser, lookAround, openConsole, sharedNode, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";

interface Described {
  readonly name: string;
  readonly summary: string;
  readonly params: ReadonlyArray<{ readonly name: string }>;
  readonly "x-event"?: unknown;
}

async function methodsOf(node: TestNode): Promise<readonly Described[]> {
  return ((await node.call("rpc.discover")) as { methods: Described[] }).methods;
}

const codeOf = async (page: Page, label: string) =>
  (await page.getByLabel(label, { exact: true }).textContent()) ?? "";

inBrowser("a form becomes a request, and the answer is the server's", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/api", expected: /A bucket site exists already/ });
  const { page } = tab;
  await page.getByLabel("Find a method").fill("bucket creates defaults");
  await page.getByText("1 of").waitFor();
  await page.getByRole("link", { name: "static-bucket_create" }).click();
  const method = page.getByRole("article", { name: "static-bucket_create" });
  await method
    .getByText(
      "Needs: StaticBucket::Write in scope static_bucket <name>, or StaticBucket::Write in scope global.",
    )
    .waitFor();
  await method.getByLabel("name", { exact: true }).fill("site");
  await method.getByLabel("cors").selectOption("true");
  await method.getByLabel("is_http_root").selectOption("null");
  expect(JSON.parse(await codeOf(page, "Request as JSON"))).toEqual({
    jsonrpc: "2.0",
    id: 1,
    method: "static-bucket_create",
    params: { token: "••••••", name: "site", is_http_root: null, cors: true },
  });
  await method.getByRole("button", { name: "Send" }).click();
  const answer = JSON.parse(await codeOf(page, "Response as JSON")) as { result: unknown };
  expect(answer.result).toEqual(
    await node.call("static-bucket_read", { token: node.superToken, name: "site" }),
  );
  expect(answer.result).toMatchObject({ name: "site", cors: true, is_http_root: false });

  await method.getByRole("button", { name: "Send" }).click();
  await method.getByText("error", { exact: true }).waitFor();
  expect(JSON.parse(await codeOf(page, "Response as JSON"))).toMatchObject({
    error: await node.refused("static-bucket_create", { token: node.superToken, name: "site" }),
  });
  expect(await page.content()).not.toContain(node.superToken.split(":")[1] ?? "");
});

inBrowser("the line for a shell does the same in a real one", async () => {
  await using node = await sharedNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  await using tab = await openConsole(node, { at: "/api/static-bucket-file_upload" });
  const { page } = tab;
  const content = 'It\'s $HOME, `id` and "quotes"\nin two lines';
  await page.getByLabel("name", { exact: true }).fill("site");
  await page.getByLabel("path", { exact: true }).fill("a 'b'.txt");
  await page.getByLabel("body", { exact: true }).fill(JSON.stringify(content));
  await page.getByText("export TOKEN=…").waitFor();
  const line = await copiedBy(page, () => page.getByRole("button", { name: "Copy command" }).click());
  expect(line).not.toContain(node.superToken);
  const shell = Bun.spawn(["bash", "-c", line], {
    env: { PATH: process.env.PATH, TOKEN: node.superToken },
    stdout: "pipe",
  });
  expect(JSON.parse(await new Response(shell.stdout).text())).toMatchObject({ result: { success: true } });
  expect(await (await fetch(`${node.url}/node/static/site/a%20'b'.txt`)).text()).toBe(content);
});

inBrowser("dangerous methods ask first, another token can be typed, and errors say what to do", async () => {
  await using node = await sharedNode();
  const weak = await node.newToken([]);
  await using tab = await openConsole(node, {
    at: "/api/node-server_exec_sql",
    expected: /Node::ExecSql required/,
  });
  const { page } = tab;
  const send = page.getByRole("button", { name: "Send" });
  await page.getByLabel("sql", { exact: true }).fill("INSERT INTO agent_uuid (uuid) VALUES ('a')");
  await page.getByLabel("params", { exact: true }).fill("[1");
  await page.getByText("This is not valid JSON").waitFor();
  expect(await send.isDisabled()).toBe(true);
  await page.getByLabel("params", { exact: true }).fill("");
  await send.click();
  const question = page.getByRole("dialog", { name: "Call node-server_exec_sql?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("token", { exact: true }).fill(weak);
  await page.keyboard.press("Control+Enter");
  await question.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("Your token does not allow this.").waitFor();
  expect(JSON.parse(await codeOf(page, "Response as JSON"))).toHaveProperty("error.code", 102);
  expect(await node.call("agent-uuid_list_all", [node.superToken])).toEqual([]);
});

inBrowser("methods that the token cannot call are marked, and still there", async () => {
  await using node = await testNode();
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }]);
  await using tab = await openConsole(node, { at: "/api", token });
  const row = (name: string) =>
    tab.page.getByRole("listitem").filter({ has: tab.page.getByRole("link", { name, exact: true }) });
  await row("node-server_read_config").getByText("not with this token").waitFor();
  await row("node-server_exec_sql").getByText("not with this token").waitFor();
  for (const open of ["node-server_hello", "node-server_get_database_type"])
    expect(await row(open).getByText("not with this token").count()).toBe(0);
  await row("node-server_read_config").getByRole("link").click();
  await tab.page.getByText("Your token does not have it.").waitFor();
});

inBrowser("a stream runs over a WebSocket, and can be started, stopped and started again", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, {
    at: "/api/node-server_stream_log",
    expected: /`no=such=filter` cannot be read/,
  });
  const { page } = tab;
  await page.getByLabel("log_filter").fill("no=such=filter");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("is not readable").waitFor();
  await page.getByLabel("log_filter").fill("rpc=debug");
  for (const _ of [1, 2]) {
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Running.").waitFor();
    await node.call("node-server_uuid");
    await page.getByLabel("Event 1", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Not running.").waitFor();
  }
  expect(JSON.parse(await codeOf(page, "Event 1"))).toHaveProperty("level");
});

inBrowser("every method of the server has its form", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/api" });
  const { page } = tab;
  const links = page.getByRole("navigation", { name: "Methods" }).getByRole("link");
  await links.first().waitFor();
  const methods = await methodsOf(node);
  expect(await links.count()).toBe(methods.length);
  for (const { name, params, "x-event": event } of methods) {
    await page.getByRole("link", { name, exact: true }).click();
    const method = page.getByRole("article", { name, exact: true });
    await method.waitFor();
    expect(await method.locator(".explorer-param .field > label").allTextContents()).toEqual(
      params.map((param) => param.name),
    );
    const does = event === undefined ? "Send" : "Start";
    expect(await method.getByRole("button", { name: does }).count()).toBe(1);
  }
});

inBrowser("the declarations of all methods arrive compressed", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().postData()?.includes("rpc.discover") === true),
    page.goto(`${node.url}/node/console/#/api`),
  ]);
  expect(await answer.headerValue("content-encoding")).not.toBeNull();
  await page.getByRole("link", { name: "node-server_hello" }).waitFor();
});

inBrowser("the explorer is readable by everybody", async () => {
  await using node = await sharedNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const list = await lookAround(node, "explorer-list", "/api", (page) =>
    page.getByRole("link", { name: "node-server_hello" }).waitFor(),
  );
  const method = await lookAround(node, "explorer", "/api/static-bucket_update", async (page) => {
    await page.getByLabel("name", { exact: true }).fill("site");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByLabel("Response as JSON").waitFor();
  });
  expect([...list, ...method]).toEqual([]);
});
