import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { build } from "../../src/build.ts";
import { method } from "../../src/methods/declare.ts";
import { databaseKinds } from "../support/node.ts";
import { inBrowser, lookAround, openConsole, testNode } from "./browser.ts";

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
const asked = (page: Page) => region(page, "Server").getByText("Running for").waitFor();

for (const database of databaseKinds)
  inBrowser(`the overview shows what runs and how much its database takes (${database})`, async () => {
    await using node = await testNode({ database, methods });
    await using tab = await openConsole(node);
    const { page } = tab;
    await asked(page);
    const server = (await region(page, "Server").textContent()) ?? "";
    const uuid = (await node.call("node-server_uuid")) as string;
    for (const part of [
      release.cargo_version,
      release.cargo_target_triple,
      `${release.git_commit_sha.slice(0, 12)} on ${release.git_branch}`,
      release.git_commit_message,
      uuid,
      database === "sqlite" ? "SQLite" : "PostgreSQL",
    ])
      expect(server).toContain(part);
    await page.getByRole("button", { name: "Copy UUID" }).click();
    await page.getByText("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(uuid);

    const storage = region(page, "Storage");
    await storage.getByText("Your next visit will show").waitFor();
    const { tables } = (await node.call("node-server_database_storage", { token: node.superToken })) as {
      tables: Record<string, number>;
    };
    const names = Object.entries(tables)
      .filter(([, size]) => size > 0)
      .sort(([a, small], [b, big]) => big - small || (a < b ? -1 : 1))
      .map(([name]) => name);
    expect(await storage.locator("tbody th").allTextContents()).toEqual(names);

    // The next visit shows the growth.
    const values = Array.from(
      { length: 500 },
      (_, n) => `(${n + 1000}, 'n', 'k${n}', '"${"x".repeat(1000)}"')`,
    );
    await node.sql(`INSERT INTO kv (id, namespace, key, value) VALUES ${values.join(",")}`);
    await page.reload();
    await storage.getByText(/^\+[\d.]+ [kM]B since \d+ \w+ \d\d:\d\d$/).waitFor();
    const kv = storage.getByRole("row").filter({ has: page.getByText("kv", { exact: true }) });
    expect(await kv.textContent()).toMatch(/\+\d+ kB$/);
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
  log.warn("it breaks now");
  await problems.getByText("it breaks now").waitFor();
  const shown = await problems.getByRole("listitem").allTextContents();
  expect(shown.map((text) => /it .*$/.exec(text)?.[0])).toEqual(["it breaks now", "it was broken before"]);
  expect(await problems.textContent()).not.toContain("all is well");

  await asked(page);
  const timer = page.getByRole("timer");
  await timer.filter({ hasNotText: (await timer.textContent()) ?? "" }).waitFor();
  expect(await timer.textContent()).toMatch(/\d+ seconds?$/);

  await problems.getByRole("link", { name: "Open in the logs" }).click();
  await page.getByRole("heading", { name: "Logs" }).waitFor();
  expect(await page.getByLabel("Filter").inputValue()).toBe("warn");
});

inBrowser("the overview shows a token what it may see, and says what else there would be", async () => {
  await using node = await testNode();
  const poor = await node.newToken([{ scopes: ["global"], permissions: [{ static_bucket: "read" }] }]);
  const richer = await node.newToken([{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }]);
  for (const [token, database] of [
    [poor, "Shown with the permission Node::GetDatabaseType in scope global"],
    [richer, "SQLite"],
  ] as const) {
    await using tab = await openConsole(node, { token });
    await asked(tab.page);
    expect(await region(tab.page, "Server").textContent()).toContain(`Database${database}`);
    const hidden = region(tab.page, "More with other permissions");
    await hidden.getByText("Node::ReadLogs").waitFor();
    await hidden.getByText("Node::ReadStorage").waitFor();
    expect(await region(tab.page, "Storage").count()).toBe(0);
  }
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
  await region(page, "Storage").getByText("token", { exact: true }).waitFor();
  expect(await region(page, "More with other permissions").count()).toBe(0);
  expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
    "Overview",
    "Logs",
    "API",
  ]);
  await page.getByRole("link", { name: "Logs", exact: true }).click();
  await page.getByText("it was broken before").waitFor();
  log.error("it breaks now");
  await page.getByText("it breaks now").waitFor();

  await using other = await openConsole(node, { token: await reads("read_storage") });
  await region(other.page, "Storage").getByText("token", { exact: true }).waitFor();
  await region(other.page, "More with other permissions").getByText("Node::ReadLogs").waitFor();
});

inBrowser("the overview is readable by everybody", async () => {
  await using node = await testNode({ methods, logging: 'memory_log_filter = "info"' });
  const log = node.node.hub.logger("task");
  log.warn("the disk is almost full: 3 % of /var are free, and the nightly backup needs about twice as much");
  log.error("the nightly backup failed");
  const findings = await lookAround(node, "overview", "/overview", async (page) => {
    await asked(page);
    await page.getByText("the nightly backup failed").waitFor();
    await page.locator(".overview-bar").first().waitFor();
    await page.reload();
    await page.getByText("unchanged since").waitFor();
    await page.getByText("the nightly backup failed").waitFor();
  });
  expect(findings).toEqual([]);
});
