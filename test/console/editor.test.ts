import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { axeFindings, inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";

/** Expression inside the editor's shadow root, which selectors of the page do not reach. */
function inEditor(expression: string): string {
  return `((root) => ${expression})(document.querySelector(".editor-container").shadowRoot)`;
}

async function intoEditor(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "SQL statement" }).click();
}

inBrowser("what is typed quickly arrives whole, also over a selection, and is undone by Ctrl+Z", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await intoEditor(page);
  const text = "SELECT a, 'b' AS c FROM d WHERE e = 1 ";
  await page.keyboard.type(text.repeat(5));
  await page.keyboard.press("Escape");
  const content = page.locator(".cm-content");
  expect(await content.textContent()).toBe(text.repeat(5));
  // A style that the policy forbids would be reported, and this test would fail.
  await page.keyboard.press("Control+a");
  await page.keyboard.type("x");
  expect(await content.textContent()).toBe("x");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("'");
  expect(await content.textContent()).toBe("'x'");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  expect(await content.textContent()).toBe(text.repeat(5));
});

inBrowser("Tab indents, and Escape lets Tab leave the editor", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  await intoEditor(page);
  const isFocused = inEditor("root.activeElement?.classList.contains('cm-content') === true");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(isFocused)).toBe(true);
  expect(await page.locator(".cm-content").textContent()).toMatch(/^\s+$/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(isFocused)).toBe(false);
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Run");
  await page.keyboard.press("Shift+Tab");
  expect(await page.evaluate(isFocused)).toBe(true);
});

inBrowser("a long text scrolls inside the editor, which keeps its size", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  // The tables come later than the editor and make the page taller.
  await page.locator(".sql-schema").getByText("SQLite").waitFor({ state: "attached" });
  await intoEditor(page);
  const before = await page.locator(".editor").boundingBox();
  await page.keyboard.insertText("SELECT 1;\n".repeat(100));
  expect(await page.locator(".editor").boundingBox()).toEqual(before);
  const scroller = await page.locator(".cm-scroller").boundingBox();
  expect(Math.round(scroller?.height ?? 0)).toBe(Math.round((before?.height ?? 0) - 2));
  const line = (number: string) =>
    page.locator(".cm-lineNumbers").getByText(number, { exact: true }).waitFor();
  // The end of the text is drawn and scrolled to before the way back begins.
  await line("101");
  await page.keyboard.press("Control+Home");
  await line("1");
  // CodeMirror draws the first lines at once and scrolls to them with the next frame.
  await eventually("the first line is in sight", () =>
    page.evaluate<boolean>(inEditor("root.querySelector('.cm-scroller').scrollTop < 20")),
  );
});

inBrowser(
  "the focus, the popup of completions and the search are seen and read in all colours",
  async () => {
    await using node = await testNode();
    for (const [way, look] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true } })) {
      await using tab = await openConsole(node, { at: "/sql", ...look });
      const { page } = tab;
      await page.locator(".sql-schema").getByText("SQLite").waitFor({ state: "attached" });
      await intoEditor(page);
      await page.keyboard.type("SELECT t FROM token WHERE t");
      await page.locator(".cm-tooltip-autocomplete").getByText("token_key").waitFor();
      const outline = "getComputedStyle(document.querySelector('.editor')).outlineStyle";
      expect(await page.evaluate(outline)).toBe("solid");
      await shoot(page, `editor-completion-${way}`);
      // The list is scrolled by the arrow keys, which the editor hands on; axe cannot know that.
      const only = way === "dark" ? "colours" : undefined;
      const serious = (await axeFindings(page, { only })).filter(
        (finding) => !/scrollable-region.*#cm-ac-/s.test(finding),
      );
      expect(serious).toEqual([]);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+f");
      await page.keyboard.type("token");
      await shoot(page, `editor-search-${way}`);
      expect(await axeFindings(page, { only })).toEqual([]);
    }
    // Axe judges two states of the editor in light, in dark and on a phone.
  },
  60_000,
);

inBrowser("the search of the editor has the look and the language of the console", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/sql" });
  const { page } = tab;
  const open = async (name: string) => {
    await page.getByRole("textbox", { name }).click();
    await page.keyboard.press("Control+f");
    await page.locator(".cm-search").waitFor();
  };
  const words = () =>
    page.evaluate<string[]>(
      inEditor(`[...root.querySelectorAll(".cm-search :is(input[placeholder], button, label)")].map((one) =>
        one.placeholder || one.ariaLabel || one.textContent)`),
    );
  await open("SQL statement");
  expect(await words()).toEqual([
    ...["Find", "Next", "Previous", "Select all", "Match case", "Regular expression", "Whole words"],
    ...["Replace with", "Replace", "Replace all", "Close"],
  ]);
  const look =
    "(({ fontFamily, fontSize, borderRadius, minHeight }) => [fontFamily, borderRadius, minHeight])";
  const own = await page.evaluate(inEditor(`${look}(getComputedStyle(root.querySelector(".cm-button")))`));
  expect(own).toEqual(
    await page.evaluate(`${look}(getComputedStyle(document.querySelector(".button:not(.quiet)")))`),
  );
  // The panel follows the language when it is opened again.
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "中文" }).click();
  await open("SQL 语句");
  expect(await words()).toEqual([
    ...["查找", "下一个", "上一个", "全选", "区分大小写", "正则表达式", "全词匹配"],
    ...["替换为", "替换", "全部替换", "关闭"],
  ]);
  await shoot(page, "editor-search-zh");
});
