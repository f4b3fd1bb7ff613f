import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { tempFolder } from "../support/node.ts";
import { inBrowser, openConsole, sharedNode, shoot, testNode } from "./browser.ts";
import { dropFiles } from "./drop-files.ts";
import { showRoute } from "./show-route.ts";

const hint = "Drop files onto a bucket to upload them.";

/** An expression for the page: what can be clicked and lies under the toasts, once the page is painted. */
const covered = `new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))).then(() => {
  const { left, right, top, bottom } = document.querySelector(".toasts").getBoundingClientRect();
  const found = new Set();
  for (let x = left; x < right; x += 6)
    for (let y = top; y < bottom; y += 6)
      for (const element of document.elementsFromPoint(x, y)) {
        const control = element.closest("a, button, input, select, textarea, [role=row], .uploads, .dialog");
        if (control !== null && control.closest(".toasts") === null) found.add(control.outerHTML.slice(0, 80));
      }
  return [...found];
})`;

/** Drops a file onto the title, where no file belongs, so that a toast says so. */
async function showToast(page: Page, file: string): Promise<void> {
  await page.evaluate("for (const toast of document.querySelectorAll('.toast')) toast.dataset.before = ''");
  const box = await page.locator(".page-header h1").boundingBox();
  await dropFiles(page, { x: (box?.x ?? 0) + 5, y: (box?.y ?? 0) + 5 }, file);
  await page.locator(".toast:not([data-before])").getByText(hint).waitFor();
}

const sizes = { phone: [390, 844], tablet: [820, 1180], desktop: [1440, 900] } as const;

inBrowser(
  "toasts cover nothing that can be clicked, on any page, at any width, with uploads below them",
  async () => {
    await using node = await sharedNode();
    await using own = await tempFolder();
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`file-${at}.txt`, "x"]));
    await siteWith(node, many);
    for (let at = 0; at < 40; at += 1)
      await node.call("static-bucket_create", { token: node.superToken, name: `bucket-${at}` });
    const file = join(own.path, "a.txt");
    writeFileSync(file, "dropped");
    await using tab = await openConsole(node, { at: "/buckets/site" });
    const { page } = tab;
    const pages = ["/buckets/site/settings", "/buckets", "/tokens", "/overview", "/sql", "/logs"];
    for (const withUploads of [false, true]) {
      if (withUploads) {
        await page.goto(`${node.url}/node/console/#/buckets/site`);
        await page.locator('input[aria-label="Upload files"]').setInputFiles(file);
        await page.getByText("1 file uploaded").waitFor();
      }
      for (const [name, [width, height]] of Object.entries(sizes)) {
        await page.setViewportSize({ width, height });
        for (const at of pages) {
          await showRoute(page, at);
          await showToast(page, file);
          await showToast(page, file);
          expect([name, at, await page.evaluate(covered)]).toEqual([name, at, []]);
          if (at === "/buckets") await shoot(page, `toasts-${name}${withUploads ? "-uploads" : ""}`);
          // By a script, because they go by themselves too.
          await page.evaluate(
            "for (const button of document.querySelectorAll('.toast button')) button.click()",
          );
          await page.locator(".toast").first().waitFor({ state: "detached" });
        }
      }
    }
  },
  // Every page at every width.
  60_000,
);

inBrowser(
  "a message stays while the mouse or the focus is on it, gives the focus back, and is shown once however often it is said",
  async () => {
    await using node = await testNode({ top: "keep_removed_days = 30\n" });
    await siteWith(node, { "a.txt": "a", "b.txt": "b" });
    await using own = await tempFolder();
    const file = join(own.path, "a.txt");
    writeFileSync(file, "dropped");
    await using tab = await openConsole(node, { at: "/overview", ownContext: true });
    const { page } = tab;
    for (let times = 0; times < 2; times += 1) await showToast(page, file);
    expect(await page.locator(".toast").count()).toBe(1);

    await page.clock.install();
    await showRoute(page, "/buckets/site");
    const rows = page.getByRole("grid", { name: "Files" });
    await rows.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    const undo = page.getByRole("button", { name: "Undo" });
    await undo.hover();
    await page.clock.runFor(60_000);
    expect(await undo.isVisible()).toBe(true);
    await rows.focus();
    await undo.focus();
    await page.mouse.move(0, 0);
    await page.clock.runFor(60_000);
    await page.keyboard.press("Enter");
    await page.getByText("a.txt").waitFor();
    expect(await page.evaluate("document.activeElement?.getAttribute('aria-label')")).toBe("Files");
    // Nobody holds it any more.
    await page.clock.runFor(60_000);
    await page.locator(".toast").first().waitFor({ state: "detached" });
  },
);
