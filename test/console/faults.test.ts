import { expect } from "bun:test";
import { inBrowser, openConsole, testNode } from "./browser.ts";

inBrowser("a page that crashes says so, and the others still work", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/nowhere", expected: /boom/ });
  const { page } = tab;
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  const faulty = {
    contentType: "text/javascript",
    body: "export default () => { throw new Error('boom'); };",
  };
  await page.route("**/assets/page-*.js", (route) => route.fulfill(faulty), { times: 1 });
  await page.getByRole("link", { name: "Update", exact: true }).click();
  await page.getByText("This page has crashed: Error: boom").waitFor();
  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
});

inBrowser(
  "a page whose code has another name after an update is shown after a reload by itself",
  async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { at: "/nowhere", expected: /Failed to load resource|404/ });
    const { page } = tab;
    // Once for the first attempt, and once after the check whether the server answers.
    await page.route("**/assets/page-*.js", (route) => route.fulfill({ status: 404 }), { times: 2 });
    const reloaded = page.waitForEvent("load");
    await page.getByRole("link", { name: "Update", exact: true }).click();
    await reloaded;
    await page.getByRole("heading", { name: "Update", level: 1 }).waitFor();
    expect(await page.locator(".problem").count()).toBe(0);
  },
);

inBrowser("a page whose code cannot be had says so, and nothing unsaved is lost by a reload", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, {
    at: "/sql",
    expected: /Failed to load resource|404|cannot be loaded|the server was updated/,
  });
  const { page } = tab;
  await page.locator(".cm-content").fill("select 'unsaved'");
  await page.route("**/assets/page-*.js", (route) => route.fulfill({ status: 404 }));
  await page.getByRole("link", { name: "Update", exact: true }).click();
  await page.getByText(/because the server was updated. Save your work/).waitFor();
  await page.getByRole("link", { name: "SQL", exact: true }).click();
  await page.locator(".cm-content").getByText("unsaved").waitFor();
  // With nothing to lose, the page reloads once.
  // `fill("")` selects by script and presses Delete before the editor knows of the selection; a person's keys arrive in order.
  await page.locator(".cm-content").press("ControlOrMeta+a");
  await page.locator(".cm-content").press("Delete");
  await page.locator(".cm-content").getByText("unsaved").waitFor({ state: "detached" });
  const reloaded = page.waitForEvent("load");
  await page.getByRole("link", { name: "Update", exact: true }).click();
  await reloaded;
  await page.getByText(/because the server was updated/).waitFor();
  await page.unroute("**/assets/page-*.js");
  // The page that failed has the same heading, so the reload is waited for.
  const again = page.waitForEvent("load");
  await page.getByRole("button", { name: "Try again" }).click();
  await again;
  await page.getByRole("heading", { name: /^Version / }).waitFor();
});
