import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/client/index.ts";
import {
  isInRange,
  levelOf,
  methodOf,
  parseRange,
  rangeAt,
  withLevel,
} from "../../src/console/pages/logs/model.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { rowsOf, rowWith } from "./log-page.ts";
import "./texts.ts";

inBrowser("levels are buttons, times a range, and the entry of a call leads to its method", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "off,task=trace,token=trace"' });
  const log = node.node.hub.logger("task");
  log.warn("a warning");
  log.debug("a detail");
  await using tab = await openConsole(node, {
    at: "/logs?filter=info,rpc%3Doff",
    expected: /Invalid credentials|401/,
  });
  const { page } = tab;
  await rowWith(page, "a warning").waitFor();
  expect(await rowWith(page, "a detail").count()).toBe(0);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  expect(await button("Info").getAttribute("aria-pressed")).toBe("true");
  await button("Trace").click();
  await rowWith(page, "a detail").waitFor();
  await becomes(() => page.getByLabel("Filter").inputValue(), "trace,rpc=off");
  await button("Error").click();
  await page.getByText("No entries match the filter error,rpc=off yet").waitFor();
  await button("Warn").click();
  await rowWith(page, "a warning").waitFor();

  const range = page.getByLabel("Time range");
  await range.selectOption("Last 5 minutes");
  await becomes(() => page.url(), expect.stringContaining("range=5m"));
  await rowWith(page, "a warning").waitFor();
  await range.selectOption("Custom range");
  await page.getByLabel("Until this time").fill("2020-01-01T00:00:00");
  await page.getByText("No entries in this time range.").waitFor();
  expect(await rowsOf(page).count()).toBe(0);
  await page.getByLabel("Until this time").fill("");
  await page.getByLabel("From this time").fill("2020-01-01T00:00:00");
  await rowWith(page, "a warning").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await shoot(page, "logs-range");
  await range.selectOption("All times");

  await page.getByRole("button", { name: "How to write levels and targets" }).click();
  const help = page.getByRole("dialog", { name: "How to write levels and targets" });
  await help.waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await help.getByRole("button", { name: "warn,token=debug" }).click();
  await becomes(() => page.getByLabel("Filter").inputValue(), "warn,token=debug");

  // A call that is refused leaves an entry in the span of its method.
  await node.refused("token_delete", ["no:token", "alice"]);
  await rowsOf(page).filter({ hasText: "token::delete" }).first().click();
  await page.getByRole("link", { name: "Open token_delete in the API explorer" }).click();
  await page.getByRole("heading", { name: "token_delete" }).waitFor();
});

test("the level of a filter is that of targets without a rule, and the rest is kept", () => {
  expect(levelOf("info,db=trace")).toBe("info");
  expect(levelOf("db=trace, WARN ,error")).toBe("error");
  expect(levelOf("4")).toBe("debug");
  for (const filter of ["off,task", "task=info", "", "info,off"]) expect(levelOf(filter)).toBeUndefined();
  expect(withLevel("db=trace, info ,3,task", "warn")).toBe("warn,db=trace,task");
  expect(withLevel("", "trace")).toBe("trace");
});

test("a time range lets entries at its bounds through, and gaps always", () => {
  const at = (timestamp: string) => ({ id: 1, kind: "entry", entry: { timestamp } as LogEntry }) as const;
  const now = Date.parse("2026-11-15T08:00:00Z");
  const last = rangeAt("5m", "", "", now);
  expect(isInRange(at("2026-11-15T07:55:00Z"), last)).toBe(true);
  expect(isInRange(at("2026-11-15T07:54:59Z"), last)).toBe(false);
  expect(isInRange({ id: 1, kind: "gap", after: undefined, before: undefined }, last)).toBe(true);
  expect(rangeAt("custom", "", "not a time", now)).toEqual({ from: undefined, to: undefined });
  expect(parseRange(new URLSearchParams("range=7m"))).toBe("all");
});

test("the method of an entry is that of its span, where a span is a call", () => {
  const spans = (...names: string[]) => ({ spans: names.map((name) => ({ name, fields: "" })) });
  expect(methodOf(spans("token::create"))).toBe("token_create");
  expect(methodOf(spans("request", "node-server::exec_sql"))).toBe("node-server_exec_sql");
  expect(methodOf(spans("request", "no::method"))).toBeUndefined();
});
