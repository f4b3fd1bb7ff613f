import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import type { LogEntry } from "../../src/log/entry.ts";
import { type TestNode, testNode } from "../support/node.ts";

/** Keeps all entries of the target `task`, and no others. */
export function keeping(more = ""): Promise<TestNode> {
  return testNode({ logging: `memory_log_filter = "off,task=trace"\n${more}` });
}

export const atTask = "/logs?filter=off%2Ctask";

export async function kept(node: TestNode): Promise<LogEntry[]> {
  return (await node.call("node-server_log", { token: node.superToken })) as LogEntry[];
}

export const rowsOf = (page: Page) => page.locator(".logs-row");
export const rowWith = (page: Page, text: string) => rowsOf(page).filter({ hasText: text });
export const count = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor();

/** Waits for a connection status as the page shows it. */
export const state = (page: Page, word: string) =>
  page.getByRole("status").getByText(word, { exact: true }).waitFor();

/** Parsed content of the exported file. */
export async function exported(page: Page): Promise<LogEntry[]> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click(),
  ]);
  const text = await readFile(await download.path(), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LogEntry);
}

/** Scroll position of the list and its maximum. */
export async function scrolled(page: Page): Promise<{ top: number; most: number }> {
  return (await page.evaluate(
    "(({ scrollTop, scrollHeight, clientHeight }) => ({ top: scrollTop, most: scrollHeight - clientHeight }))(document.querySelector('.logs-rows'))",
  )) as { top: number; most: number };
}

export async function scrollTo(page: Page, top: number): Promise<void> {
  await page.evaluate(`document.querySelector('.logs-rows').scrollTop = ${top}`);
}
