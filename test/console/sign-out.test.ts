import { expect } from "bun:test";
import type { Page, Route } from "playwright-core";
import { sharedNodes } from "../support/shared-node.ts";
import { inBrowser, openConsole, originsFor, signIn, testNode } from "./browser.ts";
import { becomes, eventually } from "./eventually.ts";
import { restartableNode } from "./outage.ts";

const sharedNode = sharedNodes();

const atSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in" }).waitFor();

inBrowser("signing out after the buckets were shown raises no error", async () => {
  await using node = await sharedNode();
  await using tab = await openConsole(node, { at: "/buckets" });
  const { page } = tab;
  await page.getByRole("heading", { name: "Buckets", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  expect(await page.locator(".toast").allTextContents()).toEqual([]);
});

for (const [origin, seenAs] of originsFor("signing out"))
  inBrowser(`over ${origin} signing out ends the sign-in in every tab at once`, async () => {
    await using server = await sharedNode();
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
    await becomes(() => page.context().cookies(`${node.url}/node/console/`), []);
  });

for (const [origin, seenAs] of originsFor("a sign-in in one tab"))
  inBrowser(`over ${origin} a sign-in in one tab takes the others back to their pages`, async () => {
    await using server = await testNode();
    const node = seenAs(server);
    await using tab = await openConsole(node, { at: "/api" });
    const { page } = tab;
    const other = await page.context().newPage();
    await other.goto(`${node.url}/node/console/#/sql`);
    await other.getByRole("heading", { name: "SQL", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await atSignIn(other);
    await signIn(page, node.superToken);
    await other.getByRole("heading", { name: "SQL", level: 1 }).waitFor();
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    // A tab whose token has ended and that holds nothing unsaved continues too.
    const [key = ""] = node.superToken.split(":");
    const pair = { token: node.superToken, target_token: key };
    const made = (await node.call("token_roll_token_secret", pair)) as { key: string; secret: string };
    const again = (at: Page) => at.getByRole("dialog", { name: "Sign in again" });
    for (const left of [page, other]) {
      await left.evaluate("dispatchEvent(new Event('focus'))");
      await again(left).waitFor();
    }
    await again(page).getByLabel("Token", { exact: true }).fill(`${made.key}:${made.secret}`);
    await again(page).getByRole("button", { name: "Sign in", exact: true }).click();
    await again(other).waitFor({ state: "detached" });
    await other.getByRole("heading", { name: "SQL", level: 1 }).waitFor();
  });

for (const [origin, seenAs] of originsFor("a reload right after"))
  inBrowser(
    `over ${origin} a reload right after signing out, before the cookie is deleted, signs nobody in`,
    async () => {
      await using server = await sharedNode();
      const node = seenAs(server);
      await using tab = await openConsole(node, {
        at: "/api",
        ownContext: true,
        expected: /ERR_ABORTED|may still have/,
      });
      const { page } = tab;
      await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
      const deletion = "**/node/console/remember";
      // The deletion never reaches the server.
      await page.route(deletion, () => {});
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.reload();
      await atSignIn(page);
      const cookies = () => page.context().cookies(`${node.url}/node/console/`);
      expect((await cookies()).length).toBe(1);
      await page.unroute(deletion);
      await page.reload();
      await atSignIn(page);
      await eventually("the cookie is gone", async () => (await cookies()).length === 0);
      await signIn(page, node.superToken);
      await page.reload();
      await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    },
  );

inBrowser(
  "a page that is requested before a sign-out has ended and loaded after it signs nobody in",
  async () => {
    await using node = await sharedNode();
    await using tab = await openConsole(node, { at: "/api", ownContext: true, expected: /ERR_ABORTED/ });
    const { page } = tab;
    await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
    const cookies = () => page.context().cookies(`${node.url}/node/console/`);
    const deletions: Route[] = [];
    await page.route("**/node/console/remember", (route) => {
      deletions.push(route);
    });
    let loaded = "";
    await page.route("**/node/console/", async (route) => {
      // As the browser sends them; a request of the tool has none.
      const fetched = {
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": "none",
      };
      const response = await route.fetch({
        headers: { ...(await route.request().allHeaders()), ...fetched },
      });
      loaded = await response.text();
      await deletions[0]?.continue();
      await eventually("the cookie is gone", async () => (await cookies()).length === 0);
      await route.fulfill({ response, body: loaded });
    });
    await page.getByRole("button", { name: "Sign out" }).click();
    await eventually("the deletion is under way", () => deletions.length === 1);
    await page.reload();
    expect(loaded).toContain(node.superToken);
    await atSignIn(page);
  },
);

inBrowser("who signs out while the server is away is forgotten by the browser when it is back", async () => {
  await using node = await restartableNode();
  await using tab = await openConsole(node, {
    at: "/api",
    expected: /Failed to load|ERR_|WebSocket|may still have your token/,
  });
  const { page } = tab;
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor();
  await node.stop();
  await page.getByRole("button", { name: "Sign out" }).click();
  await atSignIn(page);
  await page.getByText(/This browser may still have your token/).waitFor();
  const cookies = () => page.context().cookies(`${node.url}/node/console/`);
  expect((await cookies()).length).toBe(1);
  await node.start();
  await eventually("the cookie is gone", async () => (await cookies()).length === 0);
});
