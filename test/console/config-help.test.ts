import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeKeys, settings } from "../../src/config/schema.ts";
import { type ConfigKeys, keyAt, suggestConfig } from "../../src/console/pages/config/config-keys.ts";
import { config as zh } from "../../src/console/text/zh/config.ts";
import { axeFindings, inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import "./texts.ts";

const documented = describeKeys() as ConfigKeys;

/** Labels that are suggested at the mark `|`. */
function suggested(marked: string): string[] {
  const at = marked.indexOf("|");
  return suggestConfig(documented, marked.replace("|", ""), at)?.options.map(({ label }) => label) ?? [];
}

test("keys of the table are suggested that are not set yet", () => {
  const top = suggested('ws_listener = "a:1"\nt|\n[logging]\nlog_filter = "info"\n');
  expect(top).toContain("tls_cert");
  expect(top).not.toContain("ws_listener");
  expect(top).not.toContain("log_filter");
  const logging = suggested('[logging]\nlog_filter = "info"\n# json_log_file =\nj|');
  expect(logging).toContain("json_log_file");
  expect(logging).not.toContain("log_filter");
  expect(suggested("[d|")).toEqual(["tls", "logging", "database", "files", "s3"]);
  expect(suggested("[[h|")).toEqual(["hooks"]);
  const hook = '[[hooks]]\nurl = "https://a.example/"\n';
  expect(suggested(`${hook}x|\n${hook}`)).toEqual(["secret", "events", "buckets"]);
  expect(suggested(`${hook}[[hooks]]\nx|`)).toEqual(["url", "secret", "events", "buckets"]);
  expect(suggested("# t|")).toEqual([]);
  const known = settings.filter(({ table }) => table === "database").map(({ name }) => name);
  expect(suggested("[database]\nx|")).toEqual(known);
});

test("values are suggested, but never in place of one that was written", () => {
  expect(suggested("console = |")).toEqual(["true", "false"]);
  expect(suggested("console = t|")).toEqual(["true", "false"]);
  expect(suggested("console = true|")).toEqual([]);
  expect(suggested("proxy_header = |")).toEqual(['"x-forwarded-for"', '"forwarded"']);
  expect(suggested('proxy_header = "f|"')).toEqual(["x-forwarded-for", "forwarded"]);
  expect(suggested("[logging]\nmemory_log_capacity = |")).toEqual(["500"]);
  expect(suggested("[logging]\nmemory_log_capacity = 5|")).toEqual([]);
  expect(suggested("[logging]\nconsole = |")).toEqual([]);
});

test("the key of a line is known by its table, also in a comment", () => {
  const text = 'console = true\n[files]\n# url = "x"\n[database]\nmax_connections = 5';
  expect([1, 2, 3, 5].map((line) => keyAt(documented, text, line)?.name)).toEqual([
    "console",
    undefined,
    "url",
    "max_connections",
  ]);
  expect(keyAt(documented, "[logging]\nconsole = true", 2)).toBeUndefined();
});

test("every key has a description and a type in Chinese, with the same names and values in it", () => {
  const { descriptions, types } = zh;
  const nameOf = ({ table, name }: ConfigKeys[number]) => (table === undefined ? name : `${table}.${name}`);
  expect(Object.keys(descriptions).sort()).toEqual(documented.map(nameOf).sort());
  const codeIn = (text = "") => text.split("`").filter((_, at) => at % 2 === 1);
  for (const key of documented) {
    const path = key.table === undefined ? key.name : `${key.table}.${key.name}`;
    const text = descriptions[path];
    expect([path, text]).toEqual([path, expect.stringMatching(/[\u4e00-\u9fff]|^`/)]);
    expect([path, codeIn(text).sort()]).toEqual([path, codeIn(key.description).sort()]);
    expect([path, types[key.type]]).toEqual([path, expect.any(String)]);
  }
});

function editor(page: Page) {
  return page.getByRole("textbox", { name: "Configuration" });
}

/** Puts the cursor into a new line below a line of the text. */
async function below(page: Page, line: string): Promise<void> {
  await editor(page).getByText(line, { exact: true }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
}

inBrowser("keys and values are completed, and the key under the cursor is explained", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  const help = page.getByRole("region", { name: "Help for the key" });
  await below(page, "[logging]");
  await help.getByText("Put the cursor on a key").waitFor();
  const list = page.locator(".cm-tooltip-autocomplete");
  await page.keyboard.type("access_log_fo");
  await list.getByText("access_log_format").hover();
  // A click right after another character is obeyed too.
  await page.keyboard.type("r");
  await page.mouse.down();
  await page.mouse.up();
  await help.getByText("access_log_format", { exact: true }).waitFor();
  await help.getByText('text, default "combined"').waitFor();
  await page.keyboard.type('"j');
  await list.getByRole("option", { name: "json" }).click();
  const lines = page.locator(".cm-line");
  await lines.filter({ hasText: 'access_log_format = "json"' }).waitFor();
  await page.keyboard.press("End");
  // What is written out is not completed: Enter begins a line.
  await page.keyboard.press("Enter");
  await page.keyboard.type("memory_log_capacity = 5");
  await page.keyboard.press("Enter");
  await page.keyboard.type("memory_log_capacty = 7");
  await page.getByText("did you mean memory_log_capacity?").waitFor();
  expect(await page.locator(".cm-lintRange-warning").count()).toBeGreaterThan(0);
  const written = (await lines.allTextContents()).join("\n");
  expect(written).toContain(
    '[logging]\naccess_log_format = "json"\nmemory_log_capacity = 5\nmemory_log_capacty = 7\n',
  );
  await page.keyboard.press("ArrowUp");
  await help.getByText("The number of entries kept in memory").waitFor();
});

inBrowser("in Chinese, keys are explained in Chinese", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/config" });
  const { page } = tab;
  await below(page, "[logging]");
  await page.keyboard.type("memory_log_cap");
  await page.locator(".cm-completionInfo").getByText("The number of entries kept in memory").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "中文" }).click();
  await page.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+z");
  await page.keyboard.press("ControlOrMeta+Home");
  const help = page.getByRole("region", { name: "配置项说明" });
  await help.getByText("端口 0 表示任意空闲端口").waitFor();
  await help.getByText("地址").first().waitFor();
  await page.keyboard.insertText("keep_rem");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-completionInfo").getByText("0 表示不保留").waitFor();
  await shoot(page, "config-help-zh");
});

inBrowser("the help and the completion are readable in all colours and sizes", async () => {
  await using node = await testNode();
  for (const [way, look] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true } })) {
    await using tab = await openConsole(node, { at: "/config", ...look });
    const { page } = tab;
    await below(page, "[logging]");
    await page.keyboard.type("json_");
    await page.locator(".cm-tooltip-autocomplete").getByText("json_log_file").waitFor();
    await shoot(page, `config-completion-${way}`);
    // The list is scrolled by the arrow keys, which the editor hands on; axe cannot know that.
    const serious = (await axeFindings(page)).filter(
      (finding) => !/scrollable-region.*#cm-ac-/s.test(finding),
    );
    expect(serious).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Help for the key" }).getByText("Also append").waitFor();
    await shoot(page, `config-help-${way}`);
    expect(await axeFindings(page)).toEqual([]);
  }
});
