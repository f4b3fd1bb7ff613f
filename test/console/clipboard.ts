import type { Page } from "playwright-core";
import { eventually } from "./eventually.ts";

/** Text that an action puts into the clipboard. It is emptied before: the browser fills it some time after the click. */
export async function copiedBy(page: Page, copy: () => Promise<unknown>): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')");
  await copy();
  let text = "";
  await eventually("something is copied", async () => {
    text = await page.evaluate<string>("navigator.clipboard.readText()");
    return text !== "";
  });
  return text;
}
