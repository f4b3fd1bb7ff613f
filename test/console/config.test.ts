import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { type TestNode, tempFolder } from "../support/node.ts";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

function editor(page: Page) {
  return page.getByRole("textbox", { name: "Configuration" });
}

/** Inserts a line after the header of a table. */
async function addBelow(page: Page, header: string, line: string): Promise<void> {
  await editor(page).getByText(header, { exact: true }).click();
  await page.keyboard.press("End");
  await page.keyboard.insertText(`\n${line}`);
}

function onDisk(node: TestNode): Promise<string> {
  return readFile(node.configPath, "utf8");
}

/** Confirms the changes in the dialog. */
async function save(page: Page): Promise<void> {
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Save and apply" }).click();
}

inBrowser("a change is looked at, saved, and in effect", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "trace"' });
  const kept = async () => (await node.call("node-server_log", { token: node.superToken })) as unknown[];
  expect((await kept()).length).toBeGreaterThan(2);
  const before = await onDisk(node);
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await addBelow(page, "[logging]", "memory_log_capacity = 2");
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Save these changes?" });
  await dialog.waitFor();
  await becomes(() => dialog.locator("ins").allTextContents(), ["added: + memory_log_capacity = 2"]);
  expect(await dialog.locator("del").count()).toBe(0);
  expect(await onDisk(node)).toBe(before);

  await dialog.getByRole("button", { name: "Save and apply" }).click();
  await page.getByText("Saved and in effect: logging.memory_log_capacity.").waitFor();
  const after = before.replace("[logging]\n", "[logging]\nmemory_log_capacity = 2\n");
  expect(await onDisk(node)).toBe(after);
  expect(await kept()).toHaveLength(2);

  await page.keyboard.press("Control+s");
  await page.getByText("Nothing to save").waitFor();
});

inBrowser("what is wrong is marked where it is, told in a sentence, and not saved", async () => {
  await using node = await testNode();
  const before = await onDisk(node);
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await addBelow(page, "[logging]", "  memory_log_capacity = -1\nlog_filter = 7");
  await page.getByText("memory_log_capacity: must be 0 or more").waitFor();
  const line = before.split("\n").indexOf("[logging]") + 2;
  await becomes(() => page.locator(".cm-lintRange-error").allTextContents(), ["-1", "7"]);
  await page.keyboard.press("Control+Home");
  await page.getByRole("button", { name: `Go to line ${line}, column 25` }).click();
  await page.keyboard.insertText("[ ");
  const changed = page.locator(".cm-line").nth(line - 1);
  await becomes(() => changed.textContent(), "  memory_log_capacity = [ -1");

  // Now it is not valid TOML, and the server says so.
  await page.getByText("is not TOML").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Not saved: the text has problems").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await onDisk(node)).toBe(before);

  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(before);
  await page.getByText("No problems found").waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor({ state: "detached" });
});

inBrowser(
  "a configuration that cannot be applied tells the server's reason, and everything stays as it was",
  async () => {
    await using node = await testNode({ logging: 'memory_log_filter = "trace"' });
    await using tab = await openConsole(node, { at: "/config", expected: /Saved, but not in effect/ });
    const { page } = tab;
    // No folder can be created below a file.
    const impossible = `json_log_file = ${JSON.stringify(`${node.configPath}/log.json`)}`;
    await addBelow(page, "[logging]", `${impossible}\nmemory_log_capacity = 0`);
    await save(page);
    const told = page.getByRole("status").filter({ hasText: "Saved, but not in effect" });
    await told.getByText("config.toml/log.json").waitFor();
    expect(await onDisk(node)).toContain(impossible);
    expect(await node.call("node-server_log", { token: node.superToken })).not.toEqual([]);
  },
);

inBrowser("a key that means nothing is saved, and the server's warning is shown", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/config" });
  await addBelow(tab.page, "[logging]", "colour = 1");
  await save(tab.page);
  await tab.page.getByText("Warning: configuration key logging.colour is unknown").waitFor();
});

inBrowser("when the server moves, the console tells where to", async () => {
  await using node = await testNode();
  using free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = free;
  free.stop(true);
  await using tab = await openConsole(node, {
    at: "/config",
    expected: /ERR_CONNECTION|WebSocket|has another address|cannot be reached/,
  });
  const { page } = tab;
  await editor(page).getByText('"127.0.0.1:0"').click();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.insertText(`ws_listener = "127.0.0.1:${port}"`);
  await save(page);
  await page.getByText("has another address").waitFor();
  const link = page.getByRole("link", { name: `http://127.0.0.1:${port}/node/console/` });
  expect(await link.getAttribute("href")).toBe(`http://127.0.0.1:${port}/node/console/`);
  expect(node.url).toBe(`http://127.0.0.1:${port}`);
});

inBrowser("what somebody else changed meanwhile is shown before it is overwritten", async () => {
  await using node = await testNode();
  const before = await onDisk(node);
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await addBelow(page, "[logging]", "memory_log_capacity = 7");
  const theirs = `# by somebody else\n${before}`;
  await writeFile(node.configPath, theirs);
  await page.keyboard.press("Control+s");
  const conflict = page.getByRole("dialog", { name: "Someone else changed the file" });
  await conflict.waitFor();
  await becomes(() => conflict.locator("ins").allTextContents(), ["added: + # by somebody else"]);
  await conflict.getByRole("button", { name: "Keep editing" }).click();
  await conflict.waitFor({ state: "detached" });
  expect(await onDisk(node)).toBe(theirs);

  await page.keyboard.press("Control+s");
  await conflict.getByRole("button", { name: "Keep mine" }).click();
  const review = page.getByRole("dialog", { name: "Save these changes?" });
  await review.waitFor();
  await becomes(() => review.locator("del").allTextContents(), ["removed: − # by somebody else"]);
  // The file changes once more while the changes are reviewed.
  await writeFile(node.configPath, `# again\n${theirs}`);
  await review.getByRole("button", { name: "Save and apply" }).click();
  await conflict.getByText("# again").waitFor();
  expect(await onDisk(node)).toBe(`# again\n${theirs}`);
  await conflict.getByRole("button", { name: "Discard mine" }).click();
  await page.locator(".cm-line").getByText("# again").waitFor();
  expect(await page.getByText("memory_log_capacity = 7").count()).toBe(0);
});

inBrowser(
  "a draft is kept while one looks at other pages, and not lost by a reload without a question",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/config" });
    const { page } = tab;
    await addBelow(page, "[logging]", "memory_log_capacity = 7");
    await page.getByText("Unsaved changes").waitFor();
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Config", exact: true }).click();
    await editor(page).getByText("memory_log_capacity = 7").waitFor();

    const asked = page.waitForEvent("dialog");
    const going = page.reload();
    const question = await asked;
    expect(question.type()).toBe("beforeunload");
    await question.accept();
    await going;
    await editor(page).getByText("[logging]").waitFor();
    expect(await page.getByText("memory_log_capacity = 7").count()).toBe(0);
  },
);

inBrowser("passwords are dots until somebody asks to see them", async () => {
  const password = "s3cret";
  await using node = await testNode({ databaseKeys: `# was "postgres://me:${password}@host/db"` });
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  const secret = page.locator(".cm-secret");
  expect(await secret.textContent()).toBe(password);
  const dots =
    "getComputedStyle(document.querySelector('.editor-container').shadowRoot.querySelector('.cm-secret')).webkitTextSecurity";
  expect(await page.evaluate(dots)).toBe("disc");
  await page.getByLabel("Show passwords").check();
  await secret.waitFor({ state: "detached" });

  await addBelow(page, "[database]", "sql_timeout_ms = 1000");
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog");
  const changes = dialog.getByRole("region", { name: "Changes" });
  await changes.getByText("••••••@").waitFor();
  expect(await changes.textContent()).not.toContain(`:${password}@`);
  await dialog.getByLabel("Show passwords").check();
  await changes.getByText(`:${password}@`).waitFor();
});

inBrowser("a configuration that the server may not write is explained", async () => {
  await using elsewhere = await tempFolder();
  await using node = await testNode({ workingDirectory: elsewhere.path });
  await using tab = await openConsole(node, { at: "/config", expected: /outside the working directory/ });
  await tab.page.getByText("outside the working directory; edit it on the machine itself").waitFor();
  expect(await tab.page.getByRole("button", { name: "Save…" }).isDisabled()).toBe(true);
});

inBrowser("the page is readable by everybody, with its marks and its changes", async () => {
  await using node = await testNode();
  expect(
    await lookAround(node, "config", "/config", async (page) => {
      await addBelow(page, "[logging]", "memory_log_capacity = -1");
      await page.getByText("Go to line").waitFor();
      await page.locator(".cm-lintRange-error").hover();
      await page.locator(".cm-tooltip-lint").waitFor();
    }),
  ).toEqual([]);
  expect(
    await lookAround(node, "config-changes", "/config", async (page) => {
      await addBelow(page, "[logging]", "memory_log_capacity = 7");
      await editor(page).getByText("ws_listener").dblclick();
      await page.keyboard.press("Home");
      await page.keyboard.insertText("# ws_listener = \n");
      await page.keyboard.press("Control+s");
      await page.getByRole("button", { name: "Save and apply" }).waitFor();
    }),
  ).toEqual([]);
});
