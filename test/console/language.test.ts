import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { preferred } from "../../src/console/text/language.ts";
import { siteWith } from "../support/bucket.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { showRoute } from "./show-route.ts";

test("the browser's first language that the console has is taken, and English without one", () => {
  expect(preferred(["zh-CN", "en"])).toBe("zh");
  expect(preferred(["zh-Hant-TW"])).toBe("zh");
  expect(preferred(["fr-FR", "en-GB", "zh"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
  expect(preferred([])).toBe("en");
});

/** Two English words beside each other, outside of what the server or a person wrote. */
const english = `(() => {
  const copy = document.body.cloneNode(true);
  const data = "code, pre, kbd, time, script, noscript, [lang], .virtual-rows, .explorer-list, .editor, .overview-problems li, .brand, .me";
  for (const element of copy.querySelectorAll(data)) element.remove();
  const spoken = [...copy.querySelectorAll("[title], [aria-label], [placeholder]")].flatMap((element) =>
    ["title", "aria-label", "placeholder"].map((name) => element.getAttribute(name) ?? ""));
  return [...copy.innerText.split("\\n"), ...spoken].filter((line) => /[A-Za-z]{4,}\\s[A-Za-z]{4,}/.test(line));
})()`;

const chinesePages: Readonly<Record<string, string>> = {
  overview: "概览",
  logs: "日志",
  buckets: "存储桶",
  "buckets/site": "site",
  "buckets/site/deploys": "site",
  "buckets/site/links": "site",
  "buckets/site/settings": "site",
  sql: "SQL",
  config: "配置",
  tokens: "令牌",
  "tokens?preset=webdav": "新建令牌",
  update: "更新",
  api: "API",
};

inBrowser("every page is in Chinese at once when that is chosen, and stays so over a reload", async () => {
  await using node = await testNode();
  await siteWith(node, { "a.txt": "a", "b.txt": "b" });
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("heading", { name: "概览" }).waitFor();
  await becomes(() => page.locator("html").getAttribute("lang"), "zh-Hans");
  await page.reload();
  for (const [path, title] of Object.entries(chinesePages)) {
    await goTo(page, path, title);
    expect([path, await page.evaluate(english)]).toEqual([path, []]);
    await shoot(page, `zh-${path.replaceAll(/\W/g, "-")}`);
  }
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  await becomes(() => page.locator("html").getAttribute("lang"), "en");
});

async function goTo(page: Page, path: string, title: string): Promise<void> {
  await showRoute(page, `/${path}`);
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

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
  expect(await page.evaluate(english)).toEqual([]);
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "zh-sign-in");
});
