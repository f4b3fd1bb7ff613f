import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { storedFiles } from "../support/stored-site.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";

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
  const row = page.locator(".trash-row", { hasText: "b.txt" });
  await row.waitFor();
  await page.getByRole("searchbox", { name: "Filter by path" }).fill("b.t");
  expect(await page.locator(".trash-row:not(.trash-head)").count()).toBe(1);
  // The path is what a person looks for: it has room beside the menu too.
  for (const width of [390, 820, 1280]) {
    await page.setViewportSize({ width, height: 720 });
    expect([width, ((await row.locator("bdi").boundingBox())?.width ?? 0) > 20]).toEqual([width, true]);
    await shoot(page, `bucket-trash-${width}`);
  }
  expect(await axeFindings(page)).toEqual([]);
  await row.getByRole("button", { name: "Restore" }).click();
  await page.getByText("b.txt restored.").waitFor();
  expect((await read("b.txt")).error).toBeUndefined();

  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("button", { name: "清空回收站" }).click();
  await page.getByRole("dialog").getByText("将无法恢复").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "清空回收站" }).click();
  await page.getByText("没有删除或替换过任何内容").waitFor();
  for (const [tab, text] of [
    ["部署", "此存储桶还没有部署"],
    ["链接", "没有带次数限制或密码的链接"],
    ["设置", "未发现问题"],
  ] as const) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    await page.getByText(text).waitFor();
  }
});

inBrowser("nothing is deleted before it is told whether that can be undone", async () => {
  await using node = await testNode({ top: "trash_days = 30\n" });
  await siteWith(node, { "a.txt": "a" });
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const deleted = page.waitForRequest((request) => request.method() === "DELETE");
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
