import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser } from "./browser.ts";
import { Siege, text } from "./hostile-site.ts";

/** A document may give an entry of its own the console's address; these have the console come up in that very entry. */
const ways = {
  "by a reload": async (page: Page) => {
    await page.evaluate(`history.pushState(null, "", "/node/console/"); setTimeout(() => location.reload())`);
  },
  "by the way back": async (page: Page) => {
    await page.evaluate(
      `history.pushState(null, "", "/node/console/"); setTimeout(() => { location.href = "/evil.html?away"; })`,
    );
    await page.waitForURL("**/evil.html?away");
    await page.evaluate("setTimeout(() => history.back())");
  },
};

for (const [way, bringUp] of Object.entries(ways))
  inBrowser(
    `a page that lends the console a history entry of its own, ${way}, never gets to read what the console keeps there`,
    async () => {
      await using siege = await Siege.open();
      const page = await siege.evil("/evil.html");
      await bringUp(page);
      await page.locator(".menu").waitFor({ state: "attached" });
      const kept = (await page.evaluate("history.state")) as { pad: string };
      expect(kept.pad).not.toBe("");
      await page.goBack();
      await page.waitForURL("**/evil.html");
      expect(await text(page, "document.title")).toBe("evil");
      await page.reload();
      await page.evaluate("globalThis.isEvil = true");
      expect(await text(page, "JSON.stringify([history.state, navigation.currentEntry.getState()])")).toBe(
        "[null,null]",
      );
      // In the entry that holds the pad there is the console again, and not the page that lent it.
      await page.goForward();
      await page.locator(".menu").waitFor({ state: "attached" });
      expect(await text(page, "globalThis.isEvil")).toBe("undefined");
      expect(await page.evaluate("history.state.pad")).toBe(kept.pad);
    },
  );
