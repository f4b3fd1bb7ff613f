import { expect } from "bun:test";
import { inBrowser, openConsole } from "./browser.ts";
import { livelyNode } from "./views.ts";

/** Width that the placeholder of the filter lacks; the field of an empty search has no button to clear it. */
const missingWidth = `(() => {
  const field = document.querySelector(".files-filter");
  const style = getComputedStyle(field);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return Math.max(0, canvas.measureText(field.placeholder).width - room);
})()`;

const widthOf = (selector: string) =>
  `document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().width`;

/** Whether all tabs of a bucket are in view without scrolling. */
const tabsFit = `(() => {
  const tabs = document.querySelector(".tab-links");
  return tabs.scrollWidth <= tabs.clientWidth;
})()`;

inBrowser("nothing is squeezed or cut in the width of a phone and of a tablet", async () => {
  await using node = await livelyNode();
  await using tab = await openConsole(node, { at: "/buckets/site" });
  const { page } = tab;
  const open = (at: string) => page.evaluate(`location.hash = ${JSON.stringify(at)}`);
  for (const [width, height] of [
    [390, 844],
    [820, 1180],
  ] as const) {
    await page.setViewportSize({ width, height });
    await open("/buckets/site");
    await page.locator(".files-row a").first().waitFor();
    expect([width, await page.evaluate(missingWidth)]).toEqual([width, 0]);
    expect([width, await page.evaluate(tabsFit)]).toEqual([width, true]);
    await open("/buckets/site/links");
    await page.locator("tbody th").first().waitFor();
    expect(await page.evaluate<number>(widthOf("tbody th"))).toBeGreaterThan(width / 3);
    await open("/logs");
    await page.locator(".logs-row").last().click();
    await page.locator(".logs-details").waitFor();
    // The details are below the list, which keeps the whole width.
    const [list, details] = [
      await page.evaluate<number>(widthOf(".logs-shown")),
      await page.evaluate<number>(widthOf(".logs-details")),
    ];
    expect(list).toBeGreaterThan(width / 2);
    expect(details).toBe(list);
  }
});
