import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { dropFiles } from "./drop-files.ts";
import { becomes, eventually } from "./eventually.ts";

const hint = "Drop files onto a bucket to upload them.";

async function middleOf(page: Page, selector: string) {
  const box = await page.locator(selector).first().boundingBox();
  return { x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 };
}

/** Dismisses the hint, so that the next one is a new one. */
async function dismissHint(page: Page): Promise<void> {
  await page.locator(".toast.notice").getByText(hint).waitFor();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.locator(".toast").waitFor({ state: "detached" });
}

inBrowser("a file dropped beside a bucket leaves nobody's page, wherever it falls", async () => {
  await using node = await testNode();
  await siteWith(node, {});
  await using own = await tempFolder();
  const file = join(own.path, "a.txt");
  writeFileSync(file, "dropped");
  await using tab = await openConsole(node, { token: undefined });
  const { page } = tab;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await dropFiles(page, { x: 640, y: 700 }, file);
  await dismissHint(page);
  await page.getByLabel("Token", { exact: true }).fill(node.superToken);
  await dropFiles(page, await middleOf(page, "form"), file);
  await dismissHint(page);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  for (const name of [
    "Overview",
    "Activity",
    "Logs",
    "Buckets",
    "SQL",
    "Config",
    "Tokens",
    "Update",
    "API",
  ]) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    // What is dropped onto an element that is just being replaced is lost.
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    for (const selector of [".page-header h1", ".menu"]) {
      await dropFiles(page, await middleOf(page, selector), file);
      await dismissHint(page);
    }
  }
  await becomes(() => page.url(), `${node.url}/node/console/#/api`);
  expect(tab.pages).toHaveLength(1);
});

inBrowser("a dropped file is kept from the browser before any part of a page sees it", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  await page.getByRole("link", { name: "site", exact: true }).waitFor();
  const kept = await page.evaluate<boolean[]>(`["h1", "main", "body", ".buckets-row"].map((selector) => {
    let isKept = false;
    const look = (event) => { isKept = event.defaultPrevented; };
    document.addEventListener("drop", look, { capture: true, once: true });
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["x"], "x.txt"));
    // It does not bubble, as if a target had stopped it.
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
    return isKept;
  })`);
  expect(kept).toEqual([true, true, true, true]);
  await dismissHint(page);
});

inBrowser("an editor takes the text of a file that is dropped onto it", async () => {
  await using node = await sharedNode();
  await using own = await tempFolder();
  const file = join(own.path, "a.sql");
  writeFileSync(file, "SELECT 4711");
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await page.locator(".cm-content").waitFor();
  await dropFiles(page, await middleOf(page, ".cm-content"), file);
  await becomes(() => page.locator(".cm-content").textContent(), expect.stringContaining("SELECT 4711"));
  expect(await page.locator(".toast").count()).toBe(0);
});

inBrowser(
  "what is dropped onto a bucket of the list is uploaded into it, and replaces nothing unasked",
  async () => {
    await using node = await sharedNode();
    const { folder } = await siteWith(node, { "a.txt": "old" });
    await using own = await tempFolder();
    mkdirSync(join(own.path, "img"));
    writeFileSync(join(own.path, "img/dot.svg"), "<svg/>");
    writeFileSync(join(own.path, "a.txt"), "new");
    await using tab = await openConsole(node, { at: "/buckets" });
    const { page } = tab;
    await page.getByRole("link", { name: "site", exact: true }).waitFor();
    const row = await middleOf(page, ".buckets-row");
    await dropFiles(page, row, join(own.path, "img"), join(own.path, "a.txt"));
    await page.getByRole("button", { name: "Upload the folder" }).click();
    const question = page.getByRole("dialog", { name: "Replace files?" });
    await question.getByText("a.txt").waitFor();
    await shoot(page, "buckets-drop-question");
    await question.getByRole("button", { name: "Replace" }).click();
    await page.getByText("2 files uploaded").waitFor();
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("new");
    expect(readFileSync(join(folder, "img/dot.svg"), "utf8")).toBe("<svg/>");
  },
);

inBrowser(
  "dropped folders ask once whether they or their contents are meant, wherever they are dropped; files never ask",
  async () => {
    await using node = await sharedNode();
    const { folder } = await siteWith(node, { "sub/x.txt": "x" });
    await using own = await tempFolder();
    for (const [path, name] of [
      ["one", "a.txt"],
      ["two/deep", "b.txt"],
    ] as const) {
      mkdirSync(join(own.path, path), { recursive: true });
      writeFileSync(join(own.path, path, name), name);
    }
    writeFileSync(join(own.path, "plain.txt"), "plain");
    const [one, two, plain] = ["one", "two", "plain.txt"].map((name) => join(own.path, name)) as [
      string,
      string,
      string,
    ];
    await using tab = await openConsole(node, { at: "/buckets" });
    const { page } = tab;
    const question = page.getByRole("dialog", { name: "Upload the folder or only its contents?" });
    const uploaded = (count: number) =>
      page.getByText(`${count} file${count === 1 ? "" : "s"} uploaded`).waitFor();
    const has = (path: string) => existsSync(join(folder, path));

    // A bucket of the list, and plain files.
    await page.getByRole("link", { name: "site", exact: true }).waitFor();
    await dropFiles(page, await middleOf(page, ".buckets-row"), plain);
    await uploaded(1);
    await dropFiles(page, await middleOf(page, ".buckets-row"), one, two);
    await question.getByText("directly into site/").waitFor();
    await shoot(page, "uploads-folders");
    await question.getByRole("button", { name: "Upload their contents" }).click();
    await uploaded(3);
    expect([has("a.txt"), has("deep/b.txt"), has("one")]).toEqual([true, true, false]);

    // A folder's row, with files and with a folder.
    await page.getByRole("link", { name: "site", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "sub" });
    await row.waitFor();
    await dropFiles(page, await middleOf(page, '[data-folder="sub"]'), plain);
    await uploaded(4);
    await dropFiles(page, await middleOf(page, '[data-folder="sub"]'), two);
    await question.getByText("site/sub/two/").waitFor();
    await question.getByRole("button", { name: "Upload the folder" }).click();
    await uploaded(5);
    expect([has("sub/plain.txt"), has("sub/two/deep/b.txt")]).toEqual([true, true]);

    // The page of the folder; "Cancel" uploads nothing.
    await row.getByRole("link").click();
    await page.getByText("x.txt").waitFor();
    await dropFiles(page, await middleOf(page, ".files-bar"), one);
    await question.getByRole("button", { name: "Cancel" }).click();
    await dropFiles(page, await middleOf(page, ".files-bar"), one);
    await question.getByRole("button", { name: "Upload its contents" }).click();
    await uploaded(6);
    expect([has("sub/a.txt"), has("sub/one")]).toEqual([true, false]);
  },
);

inBrowser(
  "the invitation to drop ends with the drag, even if the drop was lost with what was under it",
  async () => {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "a" });
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    const invitation = page.getByText("Drop to upload into site.");
    await page.getByText("a.txt").waitFor();
    const { x, y } = await middleOf(page, ".files-rows");
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(node.folder, "config.toml")], dragOperationsMask: 1 };
    const drag = (type: "dragEnter" | "dragOver" | "drop") =>
      session.send("Input.dispatchDragEvent", { type, x, y, data });
    for (const type of ["dragEnter", "dragOver", "dragOver"] as const) await drag(type);
    await invitation.waitFor();
    await page.evaluate(
      `{ const at = document.elementFromPoint(${x}, ${y}); at.replaceWith(at.cloneNode(true)); }`,
    );
    await drag("drop");
    // The mouse moves the files, and nothing else, until a drag has ended.
    await page.mouse.move(x, y - 5);
    await invitation.waitFor({ state: "detached" });
  },
);

inBrowser("a bucket that takes no uploads says why when something is dropped onto it", async () => {
  await using node = await sharedNode();
  await siteWith(node, {});
  await using own = await tempFolder();
  const file = join(own.path, "a.txt");
  writeFileSync(file, "dropped");
  const scopes = [{ static_bucket: "site" }];
  const token = await node.newToken([{ scopes, permissions: [{ static_bucket: "read" }] }]);
  await using tab = await openConsole(node, { at: "/buckets", token });
  await tab.page.getByRole("link", { name: "site", exact: true }).waitFor();
  await dropFiles(tab.page, await middleOf(tab.page, ".buckets-row"), file);
  await tab.page.getByText(/Not uploaded: your token needs .* on the bucket site/).waitFor();

  await node.call("static-bucket_update", { token: node.superToken, name: "site", enable: false });
  await using other = await openConsole(node, { at: "/buckets" });
  await other.page.getByText("Off").waitFor();
  await dropFiles(other.page, await middleOf(other.page, ".buckets-row"), file);
  await other.page.getByText(/the bucket site is off/).waitFor();
});

inBrowser("the invitation to drop names the folder, over the list and above the messages", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "a.txt": "a", "docs/b.txt": "b", "docs/old/c.txt": "c" });
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [join(node.folder, "config.toml")], dragOperationsMask: 1 };
  const dragTo = async (selector: string) => {
    const at = await middleOf(page, selector);
    for (const type of ["dragEnter", "dragOver", "dragOver"] as const)
      await session.send("Input.dispatchDragEvent", { type, ...at, data });
  };
  // A message that stays while the file is dragged.
  await dropFiles(page, await middleOf(page, "h1"), join(node.folder, "config.toml"));
  await page.locator(".toast").getByText(hint).waitFor();
  await page.evaluate(`location.hash = "#/buckets/site?path=docs"`);
  await page.getByTitle("b.txt").waitFor();
  await dragTo(".files-heads");
  const invitation = page.locator(".files-drop");
  const edges = async (selector: string) => {
    const { x = 0, y = 0, width = 0, height = 0 } = (await page.locator(selector).boundingBox()) ?? {};
    return { left: x, right: x + width, top: y, bottom: y + height };
  };
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await invitation.getByText("Drop to upload into docs.").waitFor();
    await eventually("it is above the messages and in the middle of the list", async () => {
      const own = await edges(".files-drop");
      const list = await edges(".files-box");
      const message = await edges(".toast");
      const offCentre = Math.abs(own.left + own.right - list.left - list.right);
      return own.bottom < message.top && own.top > list.top && offCentre < 12;
    });
    await shoot(page, `drop-invitation-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await eventually("the invitation names the folder below the pointer", async () => {
    await dragTo("[data-folder='docs/old']");
    const isNamed = (await invitation.textContent()) === "Drop to upload into old.";
    return isNamed && (await page.locator(".drop-into").count()) === 1;
  });
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "drop-invitation-dark");
  await session.send("Input.dispatchDragEvent", { type: "dragCancel", x: 0, y: 0, data });
});
