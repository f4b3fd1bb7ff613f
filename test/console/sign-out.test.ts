import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../support/process.ts";
import { inBrowser, openConsole, origins, testNode } from "./browser.ts";
import { restartableNode } from "./outage.ts";

const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in" }).waitFor();

inBrowser("signing out after the buckets were shown raises no error", async () => {
  await using node = await testNode();
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  await page.getByRole("heading", { name: "Buckets", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  expect(await page.locator(".toast").allTextContents()).toEqual([]);
});

for (const [origin, seenAs] of Object.entries(origins))
  inBrowser(`over ${origin} signing out ends the sign-in in every tab at once`, async () => {
    await using server = await testNode();
    const node = seenAs(server);
    await using tab = await openConsole(node, { at: "/api" });
    const { page } = tab;
    const other = await page.context().newPage();
    await other.goto(`${node.url}/node/console/#/sql`);
    await other.getByRole("heading", { name: "SQL", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await atSignIn(page);
    await atSignIn(other);
    await other.getByText("You signed out in another tab.").waitFor();
    for (const left of [page, other]) {
      await left.reload();
      await atSignIn(left);
    }
    expect(await page.context().cookies(`${node.url}/node/console/`)).toEqual([]);
  });

inBrowser("who signs out while the server is away is forgotten by the browser when it is back", async () => {
  await using node = await restartableNode();
  await using tab = await openConsole(node, {
    at: "/api",
    expected: /Failed to load|ERR_|WebSocket|may still keep the token/,
  });
  const { page } = tab;
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  await node.stop();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  await page.getByText(/This browser may still keep the token/).waitFor();
  const cookies = () => page.context().cookies(`${node.url}/node/console/`);
  expect((await cookies()).length).toBe(1);
  await node.start();
  await until("the cookie is gone", async () => (await cookies()).length === 0);
});
