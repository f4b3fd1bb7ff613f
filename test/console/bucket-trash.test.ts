import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { withKey } from "../../src/console/pages/config/reload.ts";
import { siteWith } from "../support/bucket.ts";
import { storedFiles } from "../support/stored-site.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";

inBrowser("what was deleted comes back by Undo in the notice or from the trash, in Chinese too", async () => {
  await using node = await testNode({ store: "objects over sqlite" });
  const token = node.superToken;
  await node.call("static-bucket_create", { token, name: "site" });
  await storedFiles(node, "site").write({ "a.txt": "a", "b.txt": "b", "docs/c.txt": "c" });
  const read = (path: string) => node.send("static-bucket-file_read", { token, name: "site", path });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const remove = async (...names: string[]) => {
    for (const name of names) await page.getByRole("checkbox", { name }).check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  };
  await remove("a.txt", "docs");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("2 items restored.").waitFor();
  await page.getByRole("link", { name: "a.txt" }).waitFor();
  for (const path of ["a.txt", "docs/c.txt"]) expect((await read(path)).error).toBeUndefined();

  await remove("b.txt");
  await page.getByText("b.txt deleted.").waitFor();
  await page.getByRole("link", { name: "Trash" }).click();
  const row = page.getByRole("row", { name: /b\.txt/ });
  await row.waitFor();
  await page.getByRole("searchbox", { name: "Search by path" }).fill("b.t");
  await becomes(() => page.locator("tbody tr").count(), 1);
  // The path is what a person looks for: it has room beside the menu too.
  for (const width of [390, 820, 1280]) {
    await page.setViewportSize({ width, height: 720 });
    expect([width, ((await row.locator("bdi").boundingBox())?.width ?? 0) > 20]).toEqual([width, true]);
    await shoot(page, `bucket-trash-${width}`);
  }
  expect(await axeFindings(page)).toEqual([]);
  await row.getByText("deleted", { exact: true }).waitFor();
  await row.getByRole("button", { name: "b.txt" }).click();
  await page.getByRole("dialog").getByRole("region", { name: "Content of b.txt" }).getByText("b").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await row.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Restore selected" }).click();
  await page.getByText("1 item restored.").waitFor();
  expect((await read("b.txt")).error).toBeUndefined();

  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("button", { name: "清空回收站" }).click();
  await page.getByRole("dialog").getByText("此操作无法撤销").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "清空回收站" }).click();
  await page.getByText("回收站为空").waitFor();
  for (const [tab, text] of [
    ["部署", "此存储桶还没有部署"],
    ["链接", "还没有链接。"],
    ["设置", "未发现问题"],
  ] as const) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    await page.getByText(text).waitFor();
  }
});

inBrowser("nothing is deleted before it is told whether that can be undone", async () => {
  await using node = await testNode({ top: "keep_removed_days = 30\n" });
  await siteWith(node, { "a.txt": "a" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const deleted = page.waitForRequest((request) => request.postData()?.includes("delete_many") ?? false);
  await page.route("**/jsonrpc", async (route) => {
    // Time enough for a click that is too early.
    if (route.request().postData()?.includes("file_retention")) await Promise.race([deleted, Bun.sleep(500)]);
    await route.continue();
  });
  await page.getByRole("checkbox", { name: "a.txt" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("1 item restored.").waitFor();
});

inBrowser("a large deletion goes on in the corner, is cancelled with its count, and undone", async () => {
  await using node = await testNode({ top: "keep_removed_days = 30\n" });
  const names = Array.from({ length: 1200 }, (_, at) => `${at}.txt`);
  const { stored } = await siteWith(node, Object.fromEntries(names.map((name) => [name, name])));
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const cancelled = Promise.withResolvers<void>();
  let calls = 0;
  await page.route("**/jsonrpc", async (route) => {
    if (route.request().postData()?.includes("delete_many")) {
      calls += 1;
      if (calls === 2) await cancelled.promise;
    }
    await route.continue();
  });
  await page.getByRole("checkbox", { name: "Select all" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  const corner = page.getByRole("region", { name: "Changes of files" });
  await corner.getByText("Deleting 1,200 items").waitFor();
  await corner.getByText("500 of 1,200").waitFor();
  await shoot(page, "files-deleting");
  expect(await axeFindings(page)).toEqual([]);
  // It goes on on every page.
  await page.getByRole("link", { name: "Trash" }).click();
  await corner.getByRole("button", { name: "Cancel" }).click();
  cancelled.resolve();
  await page.getByText("1,000 done, 200 not changed.").waitFor();
  expect(await stored.paths()).toHaveLength(200);
  await page.getByRole("searchbox", { name: "Search by path" }).fill("777");
  await becomes(() => page.locator("tbody tr").count(), 1);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("1,000 items restored.").waitFor();
  expect(await stored.paths()).toHaveLength(1200);
});

for (const store of ["disk", "objects over sqlite"] as const)
  inBrowser(`whoever may change the configuration turns on the trash: ${store}`, async () => {
    await using node = await testNode({ store });
    await siteWith(node, { "a.txt": "a" });
    const config = `keep_removed_days = 0\n${readFileSync(node.configPath, "utf8")}`;
    await node.editConfig(config);
    await using tab = await openConsole(node, { at: "/buckets/site/trash" });
    const { page } = tab;
    await page.getByText("The trash is off").waitFor();
    await shoot(page, "trash-off");
    if (store === "disk") {
      await page.getByRole("button", { name: "中文" }).click();
      await page.getByText("回收站已关闭").waitFor();
      await page.getByRole("button", { name: "开启" }).click();
      await page.getByRole("dialog").getByText("所有存储桶中已删除和被替换的文件会保留").waitFor();
      await shoot(page, "trash-turn-on-zh");
      expect(await axeFindings(page)).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "取消" }).click();
      await page.getByRole("button", { name: "English" }).click();
    }
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("dialog").getByText("keep_removed_days = 30").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Turn on" }).click();
    await page.getByText("The trash is on. Deleted and replaced files are kept for 30 days.").waitFor();
    await page.getByText("are kept here for 30 days").waitFor();
    expect(readFileSync(node.configPath, "utf8").split("\n")).toContain("keep_removed_days = 30");
    const colleague = await node.newToken([
      { scopes: ["global"], permissions: ["read", "list"].map((action) => ({ static_bucket_file: action })) },
    ]);
    await node.editConfig(config);
    await using other = await openConsole(node, { at: "/buckets/site/trash", token: colleague });
    await other.page.getByText("To turn it on, set keep_removed_days in the configuration").waitFor();
    expect(await other.page.getByRole("button", { name: "Turn on" }).count()).toBe(0);
  });

test("a key is set in its own line, in that of its commented default, or in its table", () => {
  const text = "# a = 1\nb = 2\n[files]\n# a = 3\n[other]\na = 4\n";
  expect(withKey(text, { name: "a" }, "9")).toBe(text.replace("# a = 1", "a = 9"));
  expect(withKey(text, { name: "b" }, "9")).toBe(text.replace("b = 2", "b = 9"));
  expect(withKey(text, { name: "c" }, "9")).toBe(`c = 9\n${text}`);
  expect(withKey(text, { table: "files", name: "a" }, "9")).toBe(text.replace("# a = 3", "a = 9"));
  expect(withKey(text, { table: "other", name: "b" }, "9")).toBe(text.replace("[other]", "[other]\nb = 9"));
  expect(withKey(text, { table: "new", name: "b" }, "9")).toBe(`${text.trimEnd()}\n\n[new]\nb = 9\n`);
});
