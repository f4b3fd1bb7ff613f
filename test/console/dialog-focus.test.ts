import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { inBrowser, openConsole, sharedNode, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { actOn } from "./token-row.ts";

/** Label or text of the focused element; in an editor, the label of the editor. */
const focused = `(() => {
  const outer = document.activeElement;
  const element = outer.shadowRoot?.activeElement ?? outer;
  const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent;
  return element.tagName.toLowerCase() + " " + label;
})()`;

/** Opens a dialog, returns what has the focus, and closes it. */
async function startOf(page: Page, open: () => Promise<unknown>): Promise<string> {
  await open();
  await page.getByRole("dialog").first().waitFor();
  const start = (await page.evaluate(focused)) as string;
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  return start;
}

inBrowser(
  "dialogs of buckets and files start on their first field, and dangerous ones on Cancel",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "a", "b.txt": "b" });
    await using tab = await openConsole(node, { at: "/buckets" });
    const { page } = tab;
    const press = (name: string) => () => page.getByRole("button", { name, exact: true }).click();
    expect(await startOf(page, press("New bucket"))).toBe("input Name");
    const choose = (name: string) => async () => {
      await press("Actions for site")();
      await page.getByRole("menuitem", { name }).click();
    };
    expect(await startOf(page, choose("Delete bucket"))).toBe("button Cancel");
    expect(await startOf(page, choose("Mount"))).toBe("h2 Mount site");

    await page.getByRole("link", { name: "site", exact: true }).click();
    await page.getByRole("grid", { name: "Files" }).waitFor();
    expect(await startOf(page, press("New folder"))).toBe("input Name");
    expect(await startOf(page, press("New file"))).toBe("input Name");
    await page.getByRole("checkbox", { name: "Select all" }).check();
    expect(await startOf(page, press("Move to…"))).toBe("div Folders in site");
    expect(await startOf(page, press("Delete"))).toBe("button Cancel");
    // The focus is back where it was.
    expect(await page.evaluate(focused)).toBe("button Delete");
    await press("Clear")();
    await using own = await tempFolder();
    writeFileSync(join(own.path, "a.txt"), "new");
    const replace = () =>
      page.locator('input[aria-label="Upload files"]').setInputFiles(join(own.path, "a.txt"));
    expect(await startOf(page, replace)).toBe("button Cancel");
    expect(await startOf(page, () => page.getByRole("link", { name: "a.txt" }).click())).toBe("h2 a.txt");
  },
);

inBrowser("F2, a name and Enter rename a file, which keeps its ending and its folder", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, {
    "docs/notes.old.txt": "a",
    "docs/.env": "b",
    "docs/sub.d/c": "c",
  });
  await using tab = await openConsole(node, { at: "/buckets/site?path=docs" });
  const { page } = tab;
  const list = page.getByRole("grid", { name: "Files" });
  const rename = async (from: string, typed: string) => {
    await list.getByRole("row").filter({ hasText: from }).getByRole("checkbox").check();
    await list.focus();
    await page.keyboard.press("F2");
    await page.keyboard.type(typed);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await rename("notes.old.txt", "letters");
  await rename(".env", "settings");
  await rename("sub.d", "below");
  await list.getByText("below").waitFor();
  expect((await readdir(join(folder, "docs"))).sort()).toEqual(["below", "letters.txt", "settings"]);
});

inBrowser(
  "who renames one file after the other is quicker than the list, and renames each alone",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "a", "b.txt": "b" });
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    const list = page.getByRole("grid", { name: "Files" });
    const rename = page.getByRole("dialog", { name: "Rename" });
    const held = Promise.withResolvers<void>();
    let isMoved = false;
    await page.route("**/static-webdav/site/**", async (route) => {
      if (route.request().method() === "MOVE") isMoved = true;
      else if (isMoved) await held.promise;
      await route.continue();
    });
    await list.getByRole("row").filter({ hasText: "a.txt" }).getByRole("checkbox").check();
    await page.keyboard.press("F2");
    await rename.waitFor();
    await page.keyboard.type("first");
    await page.keyboard.press("Enter");
    await rename.waitFor({ state: "detached" });
    await list.getByRole("row").filter({ hasText: "b.txt" }).getByRole("checkbox").check();
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("F2");
    await rename.waitFor();
    held.resolve();
    await list.getByText("first.txt").waitFor();
  },
);

inBrowser("a file that is edited has the cursor in its editor", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "first" });
  await using tab = await openConsole(node, { at: "/buckets/site?file=a.txt" });
  const { page } = tab;
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("button", { name: "Discard changes" }).waitFor();
  await eventually("the editor has the focus", () =>
    page.evaluate<boolean>(`${focused} === "div Content of a.txt"`),
  );
  await page.keyboard.type("my ");
  expect(await page.locator(".cm-content").textContent()).toBe("my first");
});

inBrowser("dialogs of SQL, tokens, API and update start where nothing is lost by Enter", async () => {
  await using node = await testNode({ top: 'release_url = "http://127.0.0.1:9/"\n' });
  await node.newToken([], { username: "alice", password: "secret-1" });
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const press = (name: string) => () => page.getByRole("button", { name, exact: true }).first().click();
  const run = async (sql: string) => {
    await page.getByRole("textbox", { name: "SQL statement" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(sql);
    await page.keyboard.press("Control+Enter");
  };
  expect(await startOf(page, () => run("DELETE FROM kv"))).toBe("button Cancel");
  expect(await startOf(page, press("History"))).toBe("h2 History");
  await run("SELECT 7 AS n");
  const cell = page.getByRole("gridcell", { name: "7", exact: true });
  expect(await startOf(page, () => cell.dblclick())).toBe("button Copy value");

  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  const of = (action: string) => () => actOn(page, "alice", action);
  expect(await startOf(page, of("Delete"))).toBe("button Cancel");
  expect(await startOf(page, of("Change password"))).toBe("input New password");
  expect(await startOf(page, of("Rotate secret"))).toBe("button Cancel");
  await of("Rotate secret")();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("it is not shown again").waitFor();
  expect(await page.evaluate(focused)).toBe("button Copy");
  await press("I have copied it")();

  await page.evaluate("location.hash = '/api/token_delete'");
  await page.getByLabel("target_token").fill("alice");
  expect(await startOf(page, press("Send"))).toBe("button Cancel");
  await page.getByRole("link", { name: "Update", exact: true }).click();
  await page.getByLabel("Tag of the release").fill("v9.9.9");
  expect(await startOf(page, press("Update"))).toBe("button Cancel");
});

inBrowser("saving the configuration starts on the button that changes nothing", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await page.getByRole("textbox", { name: "Configuration" }).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("# one\n");
  expect(await startOf(page, () => page.keyboard.press("Control+s"))).toBe("button Keep editing");
  await writeFile(node.configPath, `# another\n${await Bun.file(node.configPath).text()}`);
  expect(await startOf(page, () => page.keyboard.press("Control+s"))).toBe("button Keep editing");
  const drop = () => page.getByRole("button", { name: "Reload" }).click();
  expect(await startOf(page, drop)).toBe("button Cancel");
});
