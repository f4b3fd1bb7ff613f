import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, sharedNode } from "./browser.ts";
import { check, rename } from "./file-page.ts";
import { showRoute } from "./show-route.ts";

/** The tabs of some stories on the shared server, one after the other. */
async function tabsOf(...stories: ReadonlyArray<(page: Page) => Promise<unknown>>): Promise<Page[]> {
  const pages: Page[] = [];
  for (const story of stories) {
    await using node = await sharedNode();
    await siteWith(node, { "a.txt": "a" });
    await using tab = await openConsole(node, { at: "/buckets/site" });
    await tab.page.getByText("1 file, 1 B").waitFor();
    await story(tab.page);
    pages.push(tab.page);
  }
  return pages;
}

const nothing = async () => {};

/** Things that a story may leave behind, which no other may meet. */
const remains: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  "a question": async (page) => {
    await showRoute(page, "/buckets/site/settings");
    await page
      .getByRole("button", { name: /^Delete/ })
      .first()
      .click();
    await page.getByRole("dialog").waitFor();
  },
  "input that is not saved": async (page) => {
    await showRoute(page, "/tokens?preset=own");
    await page.getByLabel("User name", { exact: true }).fill("ada");
  },
  "a statement": (page) => showRoute(page, "/sql"),
  "another language": async (page) => {
    await page.getByRole("button", { name: "中文" }).click();
    await page.locator("html[lang^=zh]").waitFor();
  },
  "another theme": (page) => page.getByRole("button", { name: "Dark colours" }).click(),
  "a value in the storage": (page) => page.evaluate("localStorage.setItem('a', 'b')"),
  "another page": (page) => page.goto(`${new URL(page.url()).origin}/node/static/site/a.txt`),
};

inBrowser("the stories of a file share one tab, as long as each leaves it clean", async () => {
  const toast = async (page: Page) => {
    await check(page, "a.txt").click();
    await rename(page, "b.txt");
    await page.locator(".toast").first().waitFor();
  };
  const small = (page: Page) => page.setViewportSize({ width: 390, height: 844 });
  const [first, ...others] = await tabsOf(toast, small, nothing);
  for (const page of others) expect(page === first).toBe(true);
  expect(first?.viewportSize()?.width).toBe(1280);
});

for (const [what, leave] of Object.entries(remains))
  inBrowser(`a tab with ${what} is replaced by a new one`, async () => {
    const [before, after] = await tabsOf(leave, nothing);
    expect([before === after, before?.isClosed()]).toEqual([false, true]);
  });

inBrowser(
  "a story on the shared tab fails when its page complains, and the next story finds nothing of it",
  async () => {
    const complain = (page: Page) => page.evaluate("void console.error('an error')");
    await expect(tabsOf(complain)).rejects.toThrow("an error");
    await tabsOf(nothing);
    await using node = await sharedNode();
    const token = node.superToken;
    expect(await node.call("static-bucket_list", { token })).toEqual([]);
    expect(await node.call("token_list_all_tokens", { token })).toMatchObject({
      tokens: [{ username: "root" }],
    });
  },
);
