import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { axeFindings, inBrowser, openConsole } from "./browser.ts";
import { inEachDialog, livelyNode, opened, openView, textsOf, views } from "./views.ts";

for (const language of ["en", "zh"] as const)
  inBrowser(
    `axe finds nothing serious in any view and dialog, in light and dark (${language})`,
    async () => {
      await using node = await livelyNode();
      const t = await textsOf(language);
      await using tab = await openConsole(node);
      const { page } = tab;
      await page.locator(".overview-status").waitFor();
      if (language === "zh") await page.getByRole("button", { name: "中文" }).click();
      const findings: Record<string, string[]> = {};
      const look = async (name: string, within?: string) => {
        const found = await inBothColours(page, within);
        if (found.length > 0) findings[name] = found;
      };
      for (const view of views) {
        await openView(page, view);
        await look(view.at);
        await inEachDialog(page, view, t, (name) => look(name, opened));
      }
      expect(findings).toEqual({});
    },
    600_000,
  );

async function inBothColours(page: Page, within = "html"): Promise<string[]> {
  const light = await axeFindings(page, { within });
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await axeFindings(page, { coloursOnly: true, within });
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark.map((finding) => `dark: ${finding}`)];
}
