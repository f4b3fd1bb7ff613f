import { expect } from "bun:test";
import { inBrowser, openConsole } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { atTask, count, exported, keeping, rowsOf, rowWith, scrolled, scrollTo, state } from "./log-page.ts";

inBrowser("of very many entries the page keeps the newest 50,000 and draws those in view", async () => {
  await using node = await keeping("memory_log_capacity = 51000");
  const log = node.node.hub.logger("task");
  for (let n = 1; n <= 51_000; n += 1) log.info(`entry ${n}.`);
  await using tab = await openConsole(node, { at: atTask });
  const { page } = tab;
  await count(page, "the newest 50,000 entries");
  await rowWith(page, "entry 51000.").waitFor();
  const { most } = await scrolled(page);
  for (const [part, n] of [
    [0, 1001],
    [0.5, 26_001],
    [1, 51_000],
  ] as const) {
    await scrollTo(page, Math.round(most * part));
    await rowWith(page, `entry ${n}.`).waitFor();
    expect(await rowsOf(page).count()).toBeLessThan(100);
  }
  await page.getByLabel("Search").fill("entry 1500");
  await count(page, "11 matches");
  log.info("live");
  await rowWith(page, "live").waitFor();
  await eventually("the end is in view", async () => {
    const { top, most: end } = await scrolled(page);
    return end - top < 2;
  });
  const messages = (await exported(page)).map(({ message }) => message);
  expect([messages.length, messages[0], messages.at(-1)]).toEqual([50_000, "entry 1002.", "live"]);
});

inBrowser(
  "a flood leaves the page at its reader's command, and no entry is lost without a word",
  async () => {
    await using node = await keeping("memory_log_capacity = 10");
    await using tab = await openConsole(node, { at: atTask });
    const { page } = tab;
    await state(page, "Live");
    const log = node.node.hub.logger("task");
    let written = 0;
    // Of a bounded length: on a slow machine an endless flood would slow down the page that it waits for, without end.
    const flood = async () => {
      for (const end = written + 1500; written < end; await Bun.sleep(10))
        for (let times = 0; times < 40; times += 1) log.info(`entry ${++written}.`, { written });
    };
    const during = (act: () => Promise<unknown>) => Promise.all([flood(), act()]);
    await during(() => rowsOf(page).first().waitFor());
    await during(() => page.getByRole("button", { name: "Pause" }).click());
    await state(page, "Paused");
    await during(() => page.getByRole("button", { name: /new entries, jump to the end/ }).click());
    await state(page, "Live");
    await during(() => page.getByLabel("Search").fill("entry 1"));
    log.info("the end");
    // Where the page is far behind, the last entry may be among those that were dropped.
    await rowsOf(page)
      .filter({ hasText: /the end|dropped/ })
      .last()
      .waitFor();
    await eventually("every entry is shown or counted", async () => {
      const entries = await exported(page);
      const dropped = entries.map(({ fields }) => (typeof fields.dropped === "number" ? fields.dropped : 0));
      const notices = dropped.filter((times) => times > 0).length;
      return entries.length - notices + dropped.reduce((sum, times) => sum + times, 0) === written + 1;
    });
  },
);
