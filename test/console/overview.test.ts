import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { build } from "../../src/build.ts";
import type { ResultOf } from "../../src/client/index.ts";
import { method } from "../../src/methods/declare.ts";
import { metricsText, valuesIn } from "../support/metrics.ts";
import { databaseKinds } from "../support/node.ts";
import { axeFindings, inBrowser, lookAround, openConsole, shoot, testNode } from "./browser.ts";
import { copiedBy } from "./clipboard.ts";
import { becomes, eventually } from "./eventually.ts";
import { measuredMethods } from "./measured-node.ts";

/** Version record of a compiled server. */
const release = {
  ...build,
  binary_type: "node-server",
  build_time: "2026-11-15T02:53:23.055Z",
  cargo_version: "1.2.3",
  cargo_target_triple: "x86_64-unknown-linux-gnu",
  git_branch: "main",
  git_commit_date: "2026-11-15T02:50:00+00:00",
  git_commit_message: "docs: a newcomer's first five minutes",
  git_commit_sha: "38afee6c84fcf48c0edb2466aa4b27d287a59c30",
};
const methods = {
  "node-server_version": method({
    effect: "reads",
    doc: "Tells what a release tells.",
    need: anyone,
    params: {},
    result: z.record(z.string(), z.string()),
    run: () => release,
  }),
};

const region = (page: Page, name: string) => page.getByRole("region", { name });
const status = (page: Page) => page.locator(".overview-status");

/** Opens the facts about the server, which are folded at first. */
async function openAbout(page: Page): Promise<void> {
  await page.getByText("About this server").click();
  await region(page, "Server").getByText("Uptime").waitFor();
}

for (const database of databaseKinds)
  inBrowser(`the overview shows what runs and how much its database takes (${database})`, async () => {
    await using node = await testNode({ database, methods });
    await using tab = await openConsole(node);
    const { page } = tab;
    await openAbout(page);
    const uuid = (await node.call("node-server_uuid")) as string;
    for (const part of [
      release.cargo_version,
      release.cargo_target_triple,
      `${release.git_commit_sha.slice(0, 12)} on ${release.git_branch}`,
      release.git_commit_message,
      uuid,
      database === "sqlite" ? "SQLite" : "PostgreSQL",
    ])
      await becomes(() => region(page, "Server").textContent(), expect.stringContaining(part));
    const copyUuid = page.getByRole("button", { name: "Copy UUID" });
    expect(await copiedBy(page, () => copyUuid.click())).toBe(uuid);

    const storage = region(page, "Storage");
    await storage.getByText("Your next visit shows").waitFor();
    const { tables } = (await node.call("node-server_database_storage", { token: node.superToken })) as {
      tables: Record<string, number>;
    };
    const names = Object.entries(tables)
      .filter(([, size]) => size > 0)
      .sort(([a, small], [b, big]) => big - small || (a < b ? -1 : 1))
      .map(([name]) => name);
    await becomes(() => storage.locator("tbody th").allTextContents(), names);

    // The next visit shows the growth.
    const values = Array.from(
      { length: 500 },
      (_, n) => `(${n + 1000}, 'n', 'k${n}', '"${"x".repeat(1000)}"')`,
    );
    await node.sql(`INSERT INTO kv (id, namespace, key, value) VALUES ${values.join(",")}`);
    await page.reload();
    await openAbout(page);
    await storage.getByText(/^\+[\d.]+ [kM]B since \d+ \w+, \d\d:\d\d$/).waitFor();
    const kv = storage.getByRole("row").filter({ has: page.getByText("kv", { exact: true }) });
    await becomes(() => kv.textContent(), expect.stringMatching(/\+\d+ kB$/));
  });

inBrowser("the overview counts the uptime on, and shows warnings and errors as they happen", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"' });
  const log = node.node.hub.logger("task");
  log.info("all is well");
  log.error("it was broken before");
  await using tab = await openConsole(node);
  const { page } = tab;
  const problems = region(page, "Warnings and errors");
  await problems.getByText("it was broken before").waitFor();
  log.warn("it breaks now", { job: "nightly", tries: 3 });
  await problems.getByText("it breaks now job=nightly tries=3").waitFor();
  const shown = await problems.getByRole("listitem").allTextContents();
  expect(shown.map((text) => /it .*$/.exec(text)?.[0])).toEqual([
    "it breaks now job=nightly tries=3",
    "it was broken before ",
  ]);
  expect(await problems.textContent()).not.toContain("all is well");

  await openAbout(page);
  const timer = page.getByRole("timer");
  await timer.filter({ hasNotText: (await timer.textContent()) ?? "" }).waitFor();
  expect(await timer.textContent()).toMatch(/\d+ seconds?$/);

  await problems.getByRole("link", { name: "Open in the logs" }).click();
  await page.getByRole("heading", { name: "Logs" }).waitFor();
  await becomes(() => page.getByLabel("Filter").inputValue(), "warn");
});

inBrowser("a token for buckets starts where it can work, and others see what they may", async () => {
  await using node = await testNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const files = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  const on = (...names: readonly string[]) =>
    node.newToken([{ scopes: names.map((static_bucket) => ({ static_bucket })), permissions: files }]);
  {
    await using tab = await openConsole(node, { token: await on("site") });
    await tab.page.getByRole("heading", { name: "site", level: 1 }).waitFor();
    const menu = await tab.page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link")
      .allTextContents();
    expect(menu).toEqual(["Buckets", "API"]);
    // So does the address without a page.
    await tab.page.goto(`${node.url}/node/console/`);
    await tab.page.getByRole("heading", { name: "site", level: 1 }).waitFor();
  }
  {
    await using tab = await openConsole(node, { token: await on("site", "media*") });
    await tab.page.getByRole("heading", { name: "Buckets", level: 1 }).waitFor();
  }
  const watcher = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  await using tab = await openConsole(node, { token: watcher });
  const { page } = tab;
  await status(page).getByText("Healthy").waitFor();
  await page.getByRole("button", { name: /^CPU/ }).waitFor();
  await page.getByText("Node::ReadLogs").waitFor();
  expect(await region(page, "Recent activity").count()).toBe(0);
  expect(await region(page, "Buckets by size").count()).toBe(0);
  await openAbout(page);
  await region(page, "Server").getByText("Node::GetDatabaseType").waitFor();
});

inBrowser("the overview says in a word whether the server is well, why not, and where to look", async () => {
  const fullDisk = method({
    effect: "reads",
    doc: "Says that a disk is full.",
    need: anyone,
    params: {},
    result: z.unknown(),
    run: () => ({
      verdict: "trouble",
      reasons: [{ code: "disk", level: "trouble", disk: "static", free_bytes: 1e9 }],
    }),
  });
  await using full = await testNode({ methods: { "node-server_status": fullDisk } });
  await using other = await openConsole(full);
  await status(other.page).getByText("Unhealthy").waitFor();
  await status(other.page).getByText("Only 1 GB free on the disk of the buckets").waitFor();

  await using node = await testNode({ logging: 'memory_log_filter = "info"' });
  node.node.hub.logger("task").error("the nightly backup failed");
  await using tab = await openConsole(node);
  const { page } = tab;
  await status(page).getByText("Needs attention").waitFor();
  await status(page)
    .getByText("1 error in the log of the last hour. Newest: the nightly backup failed")
    .waitFor();
  await status(page).getByRole("link", { name: "Logs", exact: true }).click();
  await becomes(() => page.getByLabel("Filter").inputValue(), "error");
});

inBrowser(
  "tiles and charts show the last hour and day, in numbers too, and only new values are fetched",
  async () => {
    const asked: unknown[] = [];
    await using node = await testNode({ methods: measuredMethods({ asked }) });
    await using tab = await openConsole(node);
    const { page } = tab;
    await status(page).getByText("Healthy").waitFor();
    await page.getByRole("button", { name: /^Requests\s*[\d,]+\/min\s*last hour: / }).waitFor();
    await page.getByRole("button", { name: /^Disk free/ }).waitFor();
    const chart = region(page, "CPU");
    await page.getByRole("button", { name: /^CPU/ }).click();
    await chart.getByRole("img", { name: /Share of one core: [\d.]+% now, between/ }).waitFor();
    // The legend shows the newest values without a mouse, and those under it otherwise.
    const newest = chart.locator(".u-value").last();
    await newest.filter({ hasText: /^[\d.]+%$/ }).waitFor();
    await chart.getByText("Show as a table").click();
    await chart.locator(".overview-numbers").getByRole("row").nth(12).waitFor();
    expect(asked.filter((since) => typeof since !== "number")).toEqual([]);
    await chart.getByRole("button", { name: "24 hours" }).click();
    const firstTime = chart.locator(".overview-numbers").getByRole("row").last().getByRole("cell").first();
    const dayAgo = Date.now() - 23 * 3_600_000;
    await eventually(
      "the table goes back a day",
      async () => Date.parse((await firstTime.textContent()) ?? "") < dayAgo,
    );
    expect(asked).toContain(null);
    // The choice is in the address.
    await page.reload();
    await chart.getByRole("button", { name: "24 hours", pressed: true }).waitFor();
    await chart.locator("canvas").waitFor();
    const mine = asked.length;
    await eventually("new values are fetched", () => asked.length > mine);
    expect(Date.now() - Number(asked.at(-1))).toBeLessThan(60_000);
  },
  // Two ranges, each drawn and fetched again.
  60_000,
);

inBrowser("the overview tells of a newer version, and leads to the update", async () => {
  const latest = method({
    effect: "reads",
    doc: "Tells of a newer version.",
    need: anyone,
    params: {},
    result: z.unknown(),
    run: () => ({ current: "1.2.3", latest: "1.3.0", newer: true, checked_at: 1, problem: null }),
  });
  await using node = await testNode({ methods: { "node-server_latest_release": latest } });
  await using tab = await openConsole(node);
  const notice = tab.page.locator(".overview-release");
  await notice.getByText("Version 1.3.0 is available. This server runs 1.2.3.").waitFor();
  await notice.getByRole("link", { name: "Update", exact: true }).click();
  await tab.page.getByRole("heading", { name: "Update", level: 1 }).waitFor();
});

inBrowser("the overview lists the buckets by size and what was done lately", async () => {
  await using node = await testNode({ methods: measuredMethods() });
  await node.call("static-bucket_create", { token: node.superToken, name: "media" });
  await using tab = await openConsole(node);
  const { page } = tab;
  const buckets = region(page, "Buckets by size");
  await buckets.getByText("3 buckets, 11.4 GB").waitFor();
  expect(await buckets.getByRole("listitem").allTextContents()).toEqual([
    "media318 files9.3 GB",
    "backups12 files2.1 GB",
    "site1,204 files48 MB",
  ]);
  const activity = region(page, "Recent activity");
  await activity.getByText("Bucket created").waitFor();
  await activity.getByRole("link", { name: "All activity" }).click();
  await page.getByRole("heading", { name: "Activity", level: 1 }).waitFor();
  await page.goBack();
  await buckets.getByRole("link", { name: "media" }).click();
  await page.getByRole("heading", { name: "media", level: 1 }).waitFor();
});

inBrowser("a token that may read logs and storage sees both, and no page beyond", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"' });
  const log = node.node.hub.logger("task");
  log.warn("it was broken before");
  const reads = (...actions: readonly string[]) =>
    node.newToken([{ scopes: ["global"], permissions: actions.map((node) => ({ node })) }]);
  await using tab = await openConsole(node, { token: await reads("read_logs", "read_storage") });
  const { page } = tab;
  await region(page, "Warnings and errors").getByText("it was broken before").waitFor();
  await openAbout(page);
  await region(page, "Storage").getByText("token", { exact: true }).waitFor();
  await page.getByText("Node::Metrics").waitFor();
  expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
    "Overview",
    "Activity",
    "Logs",
    "API",
  ]);
  await page.getByRole("link", { name: "Logs", exact: true }).click();
  await page.getByText("it was broken before").waitFor();
  log.error("it breaks now");
  await page.getByText("it breaks now").waitFor();

  await using other = await openConsole(node, { token: await reads("read_storage") });
  await region(other.page, "Storage").getByText("token", { exact: true }).waitFor();
  await other.page.getByText("Node::ReadLogs").waitFor();
});

inBrowser("the overview is readable by everybody, in Chinese too", async () => {
  await using node = await testNode({
    methods: { ...methods, ...measuredMethods() },
    logging: 'memory_log_filter = "info"',
  });
  for (const name of ["site", "media", "backups"])
    await node.call("static-bucket_create", { token: node.superToken, name });
  const log = node.node.hub.logger("task");
  log.warn("the disk is almost full: 3 % of /var are free, and the nightly backup needs about twice as much");
  log.error("the nightly backup failed");
  const settle = async (page: Page) => {
    await page.getByText("the nightly backup failed").first().waitFor();
    await page.locator("canvas").waitFor();
    await openAbout(page);
    await page.getByText("next visit").waitFor();
    await page.evaluate("document.querySelector('main').scrollTo(0, 0)");
  };
  expect(await lookAround(node, "overview", "/overview", settle)).toEqual([]);
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.locator("canvas").waitFor();
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("heading", { name: "需要关注" }).waitFor();
  await page.getByText("以表格显示").click();
  await page.getByText("关于此服务器").click();
  await page.setViewportSize({ width: 820, height: 1180 });
  await shoot(page, "overview-tablet-zh");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await axeFindings(page)).toEqual([]);
});

inBrowser(
  "a chart of the last hour or day shows all of it, also soon after the start of the server",
  async () => {
    const minutes = 20;
    await using node = await testNode({ methods: measuredMethods({ measuredMs: minutes * 60_000 }) });
    await using tab = await openConsole(node);
    const { page } = tab;
    const chart = region(page, "CPU");
    await page.getByRole("button", { name: /^CPU/ }).click();
    /** Share of the width of the canvas, without its axis, where the line begins. */
    const begins = () =>
      page.evaluate<number>(`(() => {
      const canvas = document.querySelector("canvas");
      if (canvas === null) return 2;
      const { width, height } = canvas;
      const left = 84 * devicePixelRatio;
      const probe = document.createElement("i");
      probe.style.color = "var(--accent)";
      canvas.parentElement.append(probe);
      const accent = getComputedStyle(probe).color;
      probe.remove();
      const paint = new OffscreenCanvas(1, 1).getContext("2d");
      paint.fillStyle = accent;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      for (let x = left; x < width; x += 1)
        for (let y = 0; y < height; y += 1) {
          const at = 4 * (y * width + x);
          if (Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 30 && data[at + 3] > 200)
            return (x - left) / (width - left);
        }
      return 1;
    })()`);
    await chart.locator("canvas").waitFor();
    await eventually("an hour", async () => Math.abs((await begins()) - (1 - minutes / 60)) < 0.06);
    await shoot(page, "overview-new-hour");
    await chart.getByRole("button", { name: "24 hours" }).click();
    await eventually("a day", async () => Math.abs((await begins()) - (1 - minutes / 1440)) < 0.03);
  },
);

inBrowser("what the console itself asks is not among the requests of its chart", async () => {
  await using node = await testNode();
  const countOf = async (handler: string) =>
    [...valuesIn(await metricsText(node))]
      .filter(([name]) => name.startsWith(`node_server_http_requests_total{handler="${handler}"`))
      .reduce((sum, [, value]) => sum + value, 0);
  await using tab = await openConsole(node);
  await status(tab.page).getByText("Healthy").waitFor();
  const [own, calls, health] = [await countOf("console"), await countOf("jsonrpc"), await countOf("health")];
  await tab.page.reload();
  await status(tab.page).getByText("Healthy").waitFor();
  await eventually("its calls are counted", async () => (await countOf("console")) > own + 8);
  // Only its WebSockets count as JSON-RPC, once each: browsers add no headers to them.
  expect((await countOf("jsonrpc")) - calls).toBeLessThan(3);
  expect(await countOf("health")).toBe(health);
  const before = await countOf("jsonrpc");
  await node.call("node-server_hello");
  expect(await countOf("jsonrpc")).toBe(before + 1);
});

/** Two webhooks; the receiver of the first one, whose name is long, fails. */
const webhooks: ResultOf<"hooks_list"> = [
  {
    hook: "0aaac99222eb",
    url: `https://${"receiver-of-events-".repeat(3)}.internal.example.com/…`,
    events: ["*"],
    waiting: 9999,
    delivered: 123_456,
    lost: 12,
    failures: 7,
    retry_at: 1_800_000_000_000,
    problem: { at: 1_799_999_000_000, reason: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
  },
  {
    hook: "1bbbd00333fc",
    url: "http://10.0.0.1/…",
    events: ["file.*"],
    waiting: 0,
    delivered: 1,
    lost: 0,
    failures: 0,
  },
];

inBrowser("the card of webhooks says which one fails and why, in both languages and in 320 px", async () => {
  const hooksList = method({
    effect: "reads",
    doc: "Lists webhooks.",
    need: anyone,
    params: {},
    result: z.array(z.looseObject({})),
    run: () => webhooks.map((hook) => ({ ...hook })),
  });
  await using node = await testNode({ methods: { hooks_list: hooksList } });
  await using tab = await openConsole(node);
  const { page } = tab;
  await page.setViewportSize({ width: 320, height: 700 });
  for (const [name, fails, works] of [
    ["Webhooks", "not answering", "working"],
    ["Webhook 推送", "没有响应", "正常"],
  ] as const) {
    const card = region(page, name);
    await card.getByText("UNABLE_TO_VERIFY_LEAF_SIGNATURE").waitFor();
    const items = await card.getByRole("listitem").allTextContents();
    expect(items).toEqual([expect.stringContaining(fails), expect.stringContaining(works)]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    // A text that does not wrap reaches beyond the element that holds it.
    const cut = await page.evaluate<string[]>(`(() => {
      const card = document.querySelector("[aria-labelledby=hooks]");
      const edge = card.getBoundingClientRect().right - parseFloat(getComputedStyle(card).paddingRight);
      return [...card.querySelectorAll("*")]
        .filter((one) => one.getBoundingClientRect().right > edge + 1)
        .map(({ textContent }) => textContent);
    })()`);
    expect(cut).toEqual([]);
    expect(await axeFindings(page)).toEqual([]);
    await card.scrollIntoViewIfNeeded();
    await shoot(page, `overview-webhooks-320-${name === "Webhooks" ? "en" : "zh"}`);
    if (name !== "Webhooks") break;
    // On a phone the button is in the menu.
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "中文" }).click();
    await page.setViewportSize({ width: 320, height: 700 });
  }
});
