import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { siteWith } from "../support/bucket.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { inBrowser, openConsole, originsFor, signIn, testNode } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { restartableNode } from "./outage.ts";

const sharedNode = sharedNodes();

const inside = (page: Page) => page.locator(".menu").waitFor();
const atApi = (page: Page) => page.getByRole("heading", { name: "API", level: 1 }).waitFor();

for (const [origin, seenAs] of originsFor("a sign-in is kept")) {
  inBrowser(`over ${origin} a sign-in is kept until the browser is closed, at the same page`, async () => {
    await using server = await testNode();
    await siteWith(
      server,
      { "index.html": "<!doctype html><title>my site</title><link rel=icon href=data:,>" },
      { is_http_root: true },
    );
    const node = seenAs(server);
    await using tab = await openConsole(node, { at: "/api" });
    const { page } = tab;
    await atApi(page);
    const ways: Record<string, () => Promise<unknown>> = {
      "a reload": () => page.reload(),
      "the address, typed": () => page.goto(`${node.url}/node/console/`),
      "the address of a page, typed": () => page.goto(`${node.url}/node/console/#/api`),
      "a visit of one's own site": async () => {
        await page.goto(`${node.url}/`);
        expect(await page.title()).toBe("my site");
        await page.goto(`${node.url}/node/console/#/api`);
      },
      "a visit of one's own site, and back": async () => {
        await page.goto(`${node.url}/`);
        await page.goBack();
      },
    };
    for (const way of Object.values(ways)) {
      await way();
      await inside(page);
    }
    await atApi(page);
    const opened = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "Logs", exact: true }).click({ modifiers: ["ControlOrMeta"] });
    const second = await opened;
    await second.getByRole("heading", { name: "Logs", level: 1 }).waitFor();
    const [cookie] = await page.context().cookies(`${node.url}/node/console/`);
    // Playwright reports a session cookie with -1.
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/node/console/", expires: -1 });
    expect(await page.context().cookies(`${node.url}/`)).toEqual([]);
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])",
    );
    expect(kept).not.toContain(node.superToken.split(":")[1] ?? "");
  });

  inBrowser(`over ${origin} a sign-in is kept for 30 days when that was chosen`, async () => {
    await using server = await sharedNode();
    const node = seenAs(server);
    await using tab = await openConsole(node, { token: undefined });
    const { page } = tab;
    await page.getByLabel(/^Stay signed in for 30 days/).check();
    await signIn(page, node.superToken);
    const [cookie] = await page.context().cookies(`${node.url}/node/console/`);
    const days = ((cookie?.expires ?? 0) * 1000 - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    await page.reload();
    await inside(page);
  });

  inBrowser(`over ${origin} a reload while the server is away keeps the sign-in`, async () => {
    await using server = await restartableNode();
    const node = seenAs(server);
    await using tab = await openConsole(node, { at: "/api", expected: /Failed to load|ERR_|WebSocket/ });
    const { page } = tab;
    await atApi(page);
    await server.stop();
    // The browser shows its own error page.
    await page.reload().catch(() => {});
    expect(await page.locator(".menu").count()).toBe(0);
    await server.start();
    // The error page cannot be driven until it has settled.
    await eventually("the console is reloaded", () =>
      page.reload().then(
        () => true,
        () => false,
      ),
    );
    await atApi(page);
  });
}

inBrowser(
  "a sign-in that the browser cannot keep works until the next reload, and that is said",
  async () => {
    await using node = await sharedNode();
    await using tab = await openConsole(node, { token: undefined, expected: /502|the proxy is tired/ });
    const { page } = tab;
    await page.route("**/remember", (route) => route.fulfill({ status: 502, body: "the proxy is tired" }));
    await signIn(page, node.superToken);
    await page.getByText(/You must sign in again after a reload: the proxy is tired/).waitFor();
  },
);
