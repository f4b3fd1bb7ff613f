import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, openConsole } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes, eventually } from "./eventually.ts";
import {
  atTask,
  count,
  exported,
  keeping,
  kept,
  rowsOf,
  rowWith,
  scrolled,
  scrollTo,
  state,
} from "./log-page.ts";

const toEnd = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** The page of the log with 200 entries. */
async function shownEntries() {
  await using opening = new AsyncDisposableStack();
  const node = opening.use(await keeping());
  const log = node.node.hub.logger("task");
  for (let n = 1; n <= 200; n += 1) log.info(`entry ${n}.`);
  const { page } = opening.use(await openConsole(node, { at: atTask }));
  await rowWith(page, "entry 200.").waitFor();
  const open = opening.move();
  return { log, page, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

inBrowser("scrolling up pauses the log; what comes meanwhile waits until one goes on", async () => {
  await using shown = await shownEntries();
  const { log, page } = shown;
  log.info("followed");
  await rowWith(page, "followed").waitFor();
  await rowsOf(page).last().hover();
  await page.mouse.wheel(0, -600);
  await state(page, "Paused");
  const { top } = await scrolled(page);
  for (let n = 1; n <= 5; n += 1) log.info(`late ${n}.`);
  await toEnd(page, "5 new entries, jump to the end").click();
  await state(page, "Live");
  await rowWith(page, "late 5.").waitFor();
  await eventually("the end is in view", async () => {
    const { top: end, most } = await scrolled(page);
    return end > top && most - end < 2;
  });

  // Keys work on the whole page, except in inputs.
  await page.getByRole("heading", { name: "Logs" }).focus();
  await page.keyboard.press("Space");
  await state(page, "Paused");
  log.info("one more");
  await toEnd(page, "1 new entry, jump to the end").waitFor();
  expect(await rowWith(page, "one more").count()).toBe(0);
  await page.keyboard.press("Space");
  await rowWith(page, "one more").waitFor();
  await page.keyboard.press("Home");
  await rowWith(page, "entry 1.").waitFor();
  await state(page, "Paused");
  await page.keyboard.press("End");
  await state(page, "Live");
  await rowWith(page, "one more").waitFor();

  await scrollTo(page, 0);
  await state(page, "Paused");
  await scrollTo(page, 1_000_000);
  await state(page, "Live");
});

inBrowser("the smallest scroll up pauses a busy log, and the end of a shorter list does not", async () => {
  await using shown = await shownEntries();
  const { log, page } = shown;
  await rowsOf(page).last().hover();
  let busy = 0;
  const writing = setInterval(() => log.info(`busy ${++busy}.`), 5);
  try {
    await eventually("entries follow", () => busy > 20);
    // As a trackpad scrolls: far less than a row at a time.
    for (let step = 0; step < 5; step += 1) await page.mouse.wheel(0, -3);
    await state(page, "Paused");
  } finally {
    clearInterval(writing);
  }
  // The last steps may still be on their way.
  await eventually("the end is followed again", async () => {
    await page.keyboard.press("End");
    return rowWith(page, `busy ${busy}.`).isVisible();
  });

  await page.getByLabel("Search").fill("entry 1");
  await page.getByLabel("Only matches").check();
  await eventually("the list is shorter", async () => (await rowWith(page, "busy").count()) === 0);
  log.info("entry 1 again");
  await rowWith(page, "entry 1 again").waitFor();
  await state(page, "Live");
});

inBrowser("a search marks, counts, steps through and picks out what is shown", async () => {
  await using node = await keeping();
  const log = node.node.hub.logger("task");
  for (let n = 1; n <= 300; n += 1) log.info(n % 100 === 0 ? `A needle (${n})` : `hay ${n}`, { n });
  await using tab = await openConsole(node, { at: atTask });
  const { page } = tab;
  await rowWith(page, "(300)").waitFor();
  const current = page.locator(".logs-row.current");
  await page.getByLabel("Search").fill("needle (");
  await count(page, "3 matches");
  await page.getByLabel("Search").press("Enter");
  await count(page, "3 of 3");
  await becomes(() => current.locator("mark").allTextContents(), ["needle ("]);
  await page.getByLabel("Search").press("Enter");
  await count(page, "1 of 3");
  await current.filter({ hasText: "(100)" }).waitFor();
  await page.getByRole("button", { name: "Previous match" }).click();
  await count(page, "3 of 3");
  await page.getByRole("button", { name: "Previous match" }).click();
  await count(page, "2 of 3");
  await current.filter({ hasText: "(200)" }).waitFor();

  await page.getByLabel("Only matches").check();
  await count(page, "3 of 300 entries");
  await becomes(() => rowsOf(page).count(), 3);
  const found = (await kept(node)).filter(({ message }) => message.includes("needle"));
  expect(await exported(page)).toEqual(found);
  await becomes(() => page.url(), expect.stringContaining("search=needle+%28&only=1"));
  await page.reload();
  await count(page, "3 of 300 entries");

  await page.getByLabel("Only matches").uncheck();
  await count(page, "300 entries");
  expect(await exported(page)).toEqual(await kept(node));
  await page.getByLabel("Search").fill("nowhere");
  await count(page, "0 matches");
  await page.getByLabel("Only matches").check();
  await page.getByText("No entry here contains “nowhere”.").waitFor();
});

inBrowser("an entry opens to its fields and spans, and arrow keys go from one to the next", async () => {
  await using node = await keeping("memory_log_capacity = 500\n");
  const log = node.node.hub.logger("task");
  log.info("first", { deep: { list: [1, null] }, text: "two words" });
  await using tab = await openConsole(node, { at: "/logs?filter=debug" });
  const { page } = tab;
  await rowWith(page, "first").click();
  const details = page.getByRole("region", { name: "Selected entry" });
  await details.getByText("two words").waitFor();
  expect(await details.locator("dd").first().textContent()).toBe('{\n  "list": [\n    1,\n    null\n  ]\n}');
  await state(page, "Paused");

  await page.keyboard.press("Escape");
  await details.waitFor({ state: "detached" });
  await page.keyboard.press("End");
  const key = node.superToken.split(":")[0];
  await node.call("token_get", [node.superToken]);
  await rowWith(page, "token::get").last().waitFor();
  await rowWith(page, "token::get").last().click();
  await becomes(() => details.locator("li").allTextContents(), [`token::get token_key=${key}`]);
  await page.keyboard.press("Home");
  await details.getByText("first", { exact: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await details.getByText("first", { exact: true }).waitFor();
  const json = await copiedBy(page, () => details.getByRole("button", { name: "Copy as JSON" }).click());
  expect(JSON.parse(json)).toEqual((await kept(node))[0]);
});

inBrowser("clearing empties the page and not the server", async () => {
  await using node = await keeping();
  const log = node.node.hub.logger("task");
  log.info("old");
  await using tab = await openConsole(node, { at: atTask });
  await rowWith(tab.page, "old").waitFor();
  await tab.page.getByRole("button", { name: "Clear" }).click();
  await tab.page.getByText("You cleared this page. New entries appear here").waitFor();
  expect(await tab.page.getByText("No entries match").count()).toBe(0);
  log.info("new");
  await rowWith(tab.page, "new").waitFor();
  expect(await rowsOf(tab.page).count()).toBe(1);
  expect(await kept(node)).toHaveLength(2);
});
