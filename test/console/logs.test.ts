import { expect, test } from "bun:test";
import { unknownNames } from "../../src/console/pages/logs/model.ts";
import { filterNames } from "../../src/log/filter.ts";
import { openRelay } from "../support/relay.ts";
import { axeFindings, inBrowser, lookAround, openConsole, shoot, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { atTask, count, exported, keeping, kept, rowsOf, rowWith, state } from "./log-page.ts";
import "./texts.ts";

inBrowser("the log page joins what was kept with what happens: nothing missing, nothing twice", async () => {
  await using node = await keeping("memory_log_capacity = 50000");
  const log = node.node.hub.logger("task");
  let written = 0;
  const write = () => {
    written += 1;
    // Some are identical.
    log.info(written % 3 === 0 ? "same" : `entry ${written}`, { deep: { list: [written % 5, null] } });
  };
  while (written < 700) write();
  const writing = setInterval(() => {
    for (let times = 0; times < 3; times += 1) write();
  }, 4);
  try {
    await using tab = await openConsole(node, { at: atTask });
    await rowsOf(tab.page).first().waitFor();
    const before = written;
    await eventually("300 more are written", () => written >= before + 300);
    clearInterval(writing);
    await count(tab.page, `${written.toLocaleString("en")} entries`);
    expect(await exported(tab.page)).toEqual(await kept(node));
    expect(written).toBeGreaterThan(1000);
  } finally {
    clearInterval(writing);
  }
});

inBrowser("a filter that cannot be read is marked at its place, and what was read goes on", async () => {
  await using node = await keeping();
  const log = node.node.hub.logger("task");
  log.debug("first");
  await using tab = await openConsole(node, { at: atTask });
  const { page } = tab;
  await rowWith(page, "first").waitFor();
  const box = page.getByLabel("Filter");
  await box.fill("info, task=loud,db=trace");
  await box.press("Enter");
  await page.getByText("`loud` is not a level; use off, error, warn, info, debug or trace").waitFor();
  expect(await page.locator(".logs-filter-place").textContent()).toBe("info, task=loud,db=trace");
  expect(await page.locator(".logs-filter-place mark").textContent()).toBe("task=loud");
  expect(await box.getAttribute("aria-invalid")).toBe("true");
  log.debug("second");
  await rowWith(page, "second").waitFor();
  expect(await rowsOf(page).count()).toBe(2);

  // Without Enter: after a pause.
  await box.fill("off,task=warn");
  await page.getByText("No entries match the filter off,task=warn yet").waitFor();
  expect(await page.locator(".logs-filter-place").count()).toBe(0);
  log.info("unheard");
  log.warn("heard");
  await rowWith(page, "heard").waitFor();
  expect(await rowsOf(page).count()).toBe(1);
  await becomes(() => page.url(), expect.stringMatching(/#\/logs\?filter=off%2Ctask%3Dwarn$/));

  await page.reload();
  await rowWith(page, "heard").waitFor();
  await becomes(() => page.getByLabel("Filter").inputValue(), "off,task=warn");
});

inBrowser("an address with a filter that cannot be read says so and waits for a better one", async () => {
  await using node = await keeping();
  node.node.hub.logger("task").info("here");
  await using tab = await openConsole(node, { at: "/logs?filter=a%3Db%3Dc" });
  await tab.page.getByText("Correct the filter to see the log.").waitFor();
  await state(tab.page, "Stopped");
  expect(await tab.page.locator(".logs-filter-place mark").textContent()).toBe("a=b=c");
  await tab.page.getByLabel("Filter").fill("task");
  await rowWith(tab.page, "here").waitFor();
  await state(tab.page, "Live");
});

inBrowser("entries that the server dropped stand in the list as what they are", async () => {
  await using node = await keeping("memory_log_capacity = 10");
  await using tab = await openConsole(node, { at: atTask });
  await state(tab.page, "Live");
  const log = node.node.hub.logger("task");
  // In one tick, so that the server can send nothing between: a subscriber's mailbox holds 512.
  for (let n = 1; n <= 1500; n += 1) log.info(`burst ${n}`);
  await rowWith(tab.page, "burst 512").waitFor();
  log.info("after");
  await rowWith(tab.page, "988 entries missing here").waitFor();
  await rowWith(tab.page, "after").waitFor();
  const messages = (await exported(tab.page)).map(({ message }) => message);
  expect(messages.slice(-3)).toEqual([
    "burst 512",
    "988 log events were dropped: this subscriber reads too slowly",
    "after",
  ]);
  expect(messages).toHaveLength(514);
});

inBrowser(
  "a broken connection is told, made again, and leaves a mark where entries may be missing",
  async () => {
    await using node = await keeping("memory_log_capacity = 3");
    await using relay = await openRelay(Number(new URL(node.url).port));
    const log = node.node.hub.logger("task");
    await using tab = await openConsole(
      { ...node, url: relay.url },
      { at: atTask, expected: /WebSocket|ERR_|Failed to load/ },
    );
    const { page } = tab;
    await state(page, "Live");
    log.info("before");
    await rowWith(page, "before").waitFor();
    relay.cut();
    await state(page, "Reconnecting…");
    for (let n = 1; n <= 10; n += 1) log.info(`away ${n}`);
    await relay.mend();
    await state(page, "Live");
    await rowWith(page, "Entries may be missing after").waitFor();
    await becomes(
      () => rowsOf(page).allTextContents(),
      [
        expect.stringContaining("before"),
        expect.stringMatching(
          /^Entries may be missing after [\d .:-]+ and before [\d .:-]+: the connection was lost$/,
        ),
        ...[8, 9, 10].map((n) => expect.stringContaining(`away ${n}`)),
      ],
    );
    log.info("live again");
    await rowWith(page, "live again").waitFor();
  },
);

inBrowser("a token whose secret was changed is signed out, and told why, while the log is open", async () => {
  await using node = await keeping();
  await using tab = await openConsole(node, { at: atTask, expected: /Failed to load/ });
  await state(tab.page, "Live");
  const [key] = node.superToken.split(":");
  await node.call("token_roll_token_secret", { token: node.superToken, target_token: key });
  await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await tab.page.getByText("The server no longer accepts your token").waitFor();
});

inBrowser("the log page is readable by everybody", async () => {
  await using node = await keeping();
  const log = node.node.hub.logger("task");
  log.error("the nightly backup failed", { code: 5, path: "/var/backups/node.db", tries: [1, 2, 3] });
  log.warn("the disk is almost full", { free_bytes: 1024 });
  for (let n = 1; n <= 30; n += 1) {
    log.info("a task has run", { task: n, took_ms: n * 7 });
    log.debug("looked for work");
    log.trace("tick");
  }
  const findings = await lookAround(node, "logs", `${atTask}&search=task`, async (page) => {
    await state(page, "Live");
    await page.getByRole("status", { name: "Matches" }).filter({ hasText: "92" }).waitFor();
    await page.getByLabel("Search").press("Enter");
    await page.locator(".logs-row.current button").click();
    await page.getByRole("button", { name: "Copy as JSON" }).waitFor();
  });
  expect(findings).toEqual([]);
});

inBrowser("a word of the filter that is neither a level nor a known target is named below it", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/logs?filter=inof" });
  const { page } = tab;
  const hint = page.getByText("Unknown level or target: inof.");
  await hint.waitFor();
  await shoot(page, "logs-unknown-target");
  expect(await axeFindings(page)).toEqual([]);
  const box = page.getByRole("textbox", { name: "Filter" });
  await box.fill("info,db=trace");
  await box.press("Enter");
  await hint.waitFor({ state: "detached" });
});

test("the console knows the same levels and targets as the server", () => {
  expect(unknownNames(filterNames.join(","))).toBeUndefined();
  for (const filter of ["info", "INFO, db=trace", "off,token", "3", "rpc::session=debug,sqlx::query", ""])
    expect([filter, unknownNames(filter)]).toEqual([filter, undefined]);
  expect(unknownNames("info,dbb=trace")).toStartWith("Unknown level or target: dbb.");
  expect(unknownNames("inof, tokn")).toStartWith("Unknown level or target: inof, tokn.");
});
