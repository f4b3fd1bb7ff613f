import type { Page } from "playwright-core";

/** Shows another route of the console, as by its address, and waits until its page has replaced the one before and has loaded. */
export async function showRoute(page: Page, at: string): Promise<void> {
  const hash = `#${at}`;
  // The console listens first, so it has drawn the other page when this listener is called.
  await page.evaluate(`new Promise((shown) => {
    if (location.hash === ${JSON.stringify(hash)}) return shown();
    addEventListener("hashchange", () => setTimeout(shown), { once: true });
    location.hash = ${JSON.stringify(hash)};
  })`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}
