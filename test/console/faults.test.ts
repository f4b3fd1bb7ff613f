import { expect } from "bun:test";
import { inBrowser, openConsole, testNode } from "./browser.ts";

inBrowser("a page with a fault says so, and the others go on", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/nowhere", expected: /boom/ });
  const { page } = tab;
  await page.getByRole("heading", { name: "No such page" }).waitFor();
  const faulty = {
    contentType: "text/javascript",
    body: "export default () => { throw new Error('boom'); };",
  };
  await page.route("**/assets/page-*.js", (route) => route.fulfill(faulty), { times: 1 });
  await page.getByRole("link", { name: "Update" }).click();
  await page.getByText("This page has a fault: Error: boom").waitFor();
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
});

inBrowser("a page whose code is not there any more says that the server may have been updated", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, {
    at: "/nowhere",
    expected: /Failed to load resource|404|cannot be loaded/,
  });
  const { page } = tab;
  await page.route("**/assets/page-*.js", (route) => route.fulfill({ status: 404 }), { times: 1 });
  await page.getByRole("link", { name: "Update" }).click();
  await page.getByText(/The server may have been updated/).waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Update", level: 1 }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});
