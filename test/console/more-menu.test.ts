import { expect } from "bun:test";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../support/node.ts";
import { axeFindings, inBrowser, Tab } from "./browser.ts";
import { serveFolder } from "./fixture.ts";

const sources = join(import.meta.dir, "../../src/console");

/** Page with one menu. Each action is written into the title. */
const main = `
import { createElement, render } from "${Bun.fileURLToPath(import.meta.resolve("preact"))}";
import { MoreMenu } from "${join(sources, "ui/more-menu.tsx")}";
const say = (label) => ({ label, onSelect: () => { document.title = label; } });
const items = [say("Open"), say("Rename"), { ...say("Move"), disabled: true }, { ...say("Remove"), danger: true }];
render(createElement(MoreMenu, { label: "Actions for site", items }), document.getElementById("app"));
`;

inBrowser("the menu of a row opens, moves and closes by keyboard, and gives the focus back", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "main.tsx"), main);
  await copyFile(join(sources, "styles/popups.css"), join(folder.path, "style.css"));
  await using server = serveFolder(folder.path);
  await using tab = await Tab.open(server);
  const { page } = tab;
  await page.goto(`${server.url}/node/console/`);
  const button = page.getByRole("button", { name: "Actions for site" });
  /** Role queries do not see a menu that is hidden and about to be removed. */
  const closed = () => page.locator('[aria-label="Actions for site"][aria-expanded=false]').waitFor();
  const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menu", { name: "Actions for site" }).waitFor();
  expect(await focused()).toBe("Open");
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("ArrowUp");
  expect(await focused()).toBe("Remove");
  await page.keyboard.press("ArrowUp");
  // What is disabled is passed over.
  expect(await focused()).toBe("Rename");
  await page.keyboard.press("r");
  expect(await focused()).toBe("Remove");
  await page.keyboard.press("Escape");
  await closed();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Actions for site");
  expect(await page.title()).not.toBe("Remove");

  await button.click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await closed();
  expect(await page.title()).toBe("Rename");
  // A second click on the button closes it.
  await button.click();
  await page.getByRole("menu").waitFor();
  await button.click();
  await closed();
  // A click elsewhere closes it, and does nothing else.
  await button.click();
  await page.getByRole("menu").waitFor();
  await page.mouse.click(600, 500);
  await closed();
  expect(await page.title()).toBe("Rename");
});
