import { expect, test } from "bun:test";
import { preferred } from "../../src/console/text/language.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { englishIn } from "./walk.ts";

test("the browser's first language that the console has is taken, and English without one", () => {
  expect(preferred(["zh-CN", "en"])).toBe("zh");
  expect(preferred(["zh-Hant-TW"])).toBe("zh");
  expect(preferred(["fr-FR", "en-GB", "zh"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
  expect(preferred([])).toBe("en");
});

inBrowser("the console is in Chinese at once when that is chosen, and stays so over a reload", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("heading", { name: "概览" }).waitFor();
  await becomes(() => page.locator("html").getAttribute("lang"), "zh-Hans");
  await page.reload();
  await page.getByRole("heading", { name: "概览" }).waitFor();
  await shoot(page, "zh-overview");
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  await becomes(() => page.locator("html").getAttribute("lang"), "en");
});

inBrowser("a switch of the language keeps what was typed, and follows in an open form", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/tokens?preset=own", token: node.superToken });
  const { page } = tab;
  await page.getByLabel("User name", { exact: true }).fill("alice");
  await page.getByRole("button", { name: "中文" }).click();
  expect(await page.getByLabel("用户名", { exact: true }).inputValue()).toBe("alice");
  await page.getByRole("button", { name: "创建令牌" }).waitFor();
  await page.getByLabel("用户名", { exact: true }).fill("");
});

inBrowser("the sign-in page comes in the language of the browser", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined, ownContext: true });
  const { page } = tab;
  await page.addInitScript(`Object.defineProperty(navigator, "languages", { get: () => ["zh-CN", "en"] })`);
  await page.reload();
  await page.getByRole("heading", { name: "登录" }).waitFor();
  expect(await page.evaluate(englishIn("html"))).toEqual([]);
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "zh-sign-in");
});
