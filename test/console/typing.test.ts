import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { inBrowser, openConsole, sharedNode, signIn, testNode } from "./browser.ts";

/**
 * Makes the page as slow as on a busy machine until the end of the scope, so that delayed work comes much later. Chromium does that by
 * using up the processor for the rest of the time.
 */
async function slowDown(page: Page): Promise<AsyncDisposable> {
  const session = await page.context().newCDPSession(page);
  const setRate = (rate: number) => session.send("Emulation.setCPUThrottlingRate", { rate });
  await setRate(4);
  // Later tests use the same process.
  return {
    async [Symbol.asyncDispose]() {
      await setRate(1);
    },
  };
}

const editor = (page: Page) => page.getByRole("textbox", { name: "SQL statement" });
const says = (page: Page, words: RegExp) => page.locator(".sql-status").filter({ hasText: words }).waitFor();

inBrowser(
  "what is typed right after a dialog has closed goes into the editor, and runs, on a slow machine too",
  async () => {
    await using node = await sharedNode();
    await using tab = await openConsole(node, { at: "/sql" });
    const { page } = tab;
    await editor(page).click();
    await page.keyboard.insertText("SELECT 'first' AS a");
    await page.keyboard.press("Control+Enter");
    await says(page, /^1 row/);
    const box = await editor(page).boundingBox();
    await using _ = await slowDown(page);
    for (const [shown, next] of [
      ["first", "second"],
      ["second", "third"],
    ]) {
      await page.getByRole("gridcell", { name: shown ?? "", exact: true }).dblclick();
      await page.getByRole("dialog").waitFor();
      // No waiting in between: the page's pending work meets the person's next action.
      await page.keyboard.press("Escape");
      await page.mouse.click((box?.x ?? 0) + 60, (box?.y ?? 0) + 20);
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(`SELECT '${next}' AS a`);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("gridcell", { name: next ?? "", exact: true }).waitFor();
    }
  },
);

inBrowser("an editor whose code comes late takes what is typed as soon as it is there", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { token: undefined, at: "/sql" });
  const { page } = tab;
  const wanted = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  await page.route("**/assets/code-editor-*.js", async (route) => {
    wanted.resolve();
    await held.promise;
    await route.continue();
  });
  await signIn(page, node.superToken);
  await wanted.promise;
  await page.getByText("Loading the editor…").waitFor();
  await using _ = await slowDown(page);
  held.resolve();
  await editor(page).click();
  await page.keyboard.type("SELECT 1 + 1 AS two");
  await page.keyboard.press("Control+Enter");
  await says(page, /^1 row/);
  expect(await page.locator(".cm-content").textContent()).toBe("SELECT 1 + 1 AS two");
});

inBrowser("what is typed while a statement runs is still there when its rows come", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const sent = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  await page.route("**/jsonrpc", async (route) => {
    if (route.request().postData()?.includes("'held'")) {
      sent.resolve();
      await held.promise;
    }
    await route.continue();
  });
  await editor(page).click();
  await page.keyboard.insertText("SELECT 'held' AS a");
  await page.keyboard.press("Control+Enter");
  await sent.promise;
  await page.keyboard.press("Control+a");
  await page.keyboard.type("SELECT 'next' AS b");
  held.resolve();
  await page.getByRole("gridcell", { name: "held", exact: true }).waitFor();
  expect(await page.locator(".cm-content").textContent()).toBe("SELECT 'next' AS b");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("gridcell", { name: "next", exact: true }).waitFor();
});

const texts: Readonly<Record<string, string>> = {
  "a.json": '{ "key": "value", "n": [1, true, null] }',
  "a.toml": 'key = "value"\n[table]\nn = 1\n',
  "a.js": "const a = { b: `c`, d: /e/ };\nclass F extends G { h() { return this.i; } }\n",
  "a.ts": "export interface A { readonly b?: string }\nenum C { D }\nfunction e<T>(f: T): T { return f; }\n",
  "a.css":
    "@media print { a:hover::before > .b #c { color: #fff; width: calc(1px + 2em) !important; --d: 1 } }\n",
  "a.html": '<!doctype html>\n<html lang="en"><body class=a><!-- b --><br/>&amp;</body></html>\n',
  "a.xml": '<?xml version="1.0"?>\n<a b="c"><![CDATA[d]]></a>\n',
  "a.yaml": "a: &b\n  - c: 'd'\n  - !!int 1 # e\n--- |\n  text\n",
  "a.sh": '#!/bin/sh\nfor a in $(ls); do echo "$a" > "$b"; done # c\n',
  "a.py": "@a\nclass B(C):\n  def d(self, *e): return f'{1}' if None else 0x1f\n",
};

inBrowser("a text of every known language is shown without a word in the browser's console", async () => {
  await using node = await sharedNode();
  await siteWith(node, texts);
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  for (const [name, text] of Object.entries(texts)) {
    await page.evaluate(`location.hash = "/buckets/site?file=${name}"`);
    const dialog = page.getByRole("dialog", { name });
    // Highlighted words show that the language has loaded.
    await dialog.locator(".cm-line span").first().waitFor();
    expect(await dialog.locator(".cm-line").count()).toBe(text.split("\n").length);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
});
