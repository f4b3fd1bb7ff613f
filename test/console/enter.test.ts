import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { until } from "../support/until.ts";
import { inBrowser, openConsole, sharedNode } from "./browser.ts";
import { showRoute } from "./show-route.ts";
import { actOn } from "./token-row.ts";

const gone = (page: Page) => page.getByRole("dialog").waitFor({ state: "detached" });

inBrowser("Enter in the field of a dialog does what its button does", async () => {
  await using node = await sharedNode();
  const { folder } = await siteWith(node, { "a.txt": "a" });
  await using tab = await openConsole(node, { at: "/tokens" });
  const { page } = tab;
  const change = () => actOn(page, "root", "Change password");
  await change();
  await page.getByLabel("New password").fill("short");
  await page.keyboard.press("Enter");
  await page.getByText("Use at least 6 characters.").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(1);
  await page.getByLabel("New password").fill("a longer password");
  await page.keyboard.press("Enter");
  await page.getByText("Password of root changed.").waitFor();
  await gone(page);
  expect(await node.send("token_get", ["root|a longer password"])).toHaveProperty("result.username", "root");
  // Enter in a password that is shown is the same.
  await change();
  await page.getByRole("dialog").getByRole("checkbox", { name: "Show" }).check();
  await page.getByLabel("New password").fill("yet another password");
  await page.keyboard.press("Enter");
  await gone(page);
  expect(await node.send("token_get", ["root|yet another password"])).toHaveProperty("result.username");

  await showRoute(page, "/buckets/site");
  await page.getByRole("button", { name: "New folder" }).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("made");
  await page.keyboard.press("Enter");
  await until("the folder is there", () => existsSync(join(folder, "made")));
  await gone(page);
  await showRoute(page, "/buckets");
  await page.getByRole("button", { name: "New bucket" }).first().click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("other");
  await page.keyboard.press("Tab");
  await page.keyboard.type("other-folder");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "other", level: 1 }).waitFor();
});
