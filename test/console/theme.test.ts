import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { get } from "./asking.ts";
import { inBrowser, openConsole, shoot, testNode } from "./browser.ts";

const light = "rgb(246, 247, 249)";
const dark = "rgb(16, 20, 26)";

function groundOf(page: Page): Promise<string> {
  return page.evaluate("getComputedStyle(document.body).backgroundColor");
}

/** State of the page before any script has run, as at the first paint. */
async function withoutScripts(page: Page): Promise<void> {
  await page.route("**/assets/*.js", (route) => route.abort());
  await page.reload();
}

for (const [system, ground] of [
  ["light", light],
  ["dark", dark],
] as const)
  inBrowser(`the first paint has the colours of the system, without a script (${system})`, async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, {
      token: undefined,
      dark: system === "dark",
      expected: /Failed to load resource/,
    });
    await withoutScripts(tab.page);
    expect(await groundOf(tab.page)).toBe(ground);
    expect(await tab.page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe(
      "light dark",
    );
  });

inBrowser("chosen colours are there at the first paint, and the choice can be given back", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { expected: /Failed to load resource/ });
  const { page } = tab;
  const choose = (name: string) => page.getByRole("button", { name, exact: true });
  await choose("Dark colours").click();
  expect(await groundOf(page)).toBe(dark);
  await shoot(page, "theme-dark");
  expect(await choose("Dark colours").getAttribute("aria-pressed")).toBe("true");
  // The cookie is only for the console.
  const cookies = await page.context().cookies(`${node.url}/node/console/`);
  const cookie = cookies.find(({ name }) => name === "node_server_theme");
  expect(cookie).toMatchObject({ value: "dark", path: "/node/console/", sameSite: "Strict" });
  expect(await page.context().cookies(`${node.url}/node/static/`)).toEqual([]);

  await withoutScripts(page);
  expect(await groundOf(page)).toBe(dark);
  await page.unroute("**/assets/*.js");
  await page.reload();
  expect(await choose("Dark colours").getAttribute("aria-pressed")).toBe("true");

  await choose("System colours").click();
  expect(await groundOf(page)).toBe(light);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await groundOf(page)).toBe(dark);
  await choose("Light colours").click();
  expect(await groundOf(page)).toBe(light);
  await choose("System colours").click();
  await page.reload();
  await choose("System colours").waitFor();
  expect(await page.locator("html[data-theme]").count()).toBe(0);
  const left = await page.context().cookies();
  expect(left.filter(({ name }) => name === "node_server_theme")).toEqual([]);
});

test("nothing but the two known themes goes from the cookie into the page", async () => {
  await using node = await testNode();
  const opening = async (cookie: string) => {
    const answer = await fetch(`${node.url}/node/console/`, { headers: { cookie } });
    return /<html[^>]*>/.exec(await answer.text())?.[0];
  };
  expect(await opening("a=b; node_server_theme=dark")).toBe('<html lang="en" data-theme="dark">');
  expect(await opening("node_server_theme=light")).toBe('<html lang="en" data-theme="light">');
  for (const value of ["", "system", "DARK", "dark%22%3E%3Cscript%3E", '"><script>', "dark light"])
    expect(await opening(`node_server_theme=${value}`)).toBe('<html lang="en">');
  expect(await (await get(node, "/node/console/", { decompress: true })).text()).toContain(
    'content="light dark"',
  );
});
