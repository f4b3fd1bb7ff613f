import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../support/node.ts";
import { chosenFor } from "../support/tier.ts";
import { inBrowser, originsFor, Tab } from "./browser.ts";
import { becomes } from "./eventually.ts";
import { serveFolder } from "./fixture.ts";
import { hostilePages, rummage, type Siege, sharedSieges, text } from "./hostile-site.ts";

const openSiege = sharedSieges();

for (const [origin, seenAs] of originsFor("a kept token"))
  inBrowser(`over ${origin} a kept token is handed to the console's page, and that page only`, async () => {
    await using siege = await openSiege(seenAs);
    const page = await siege.console();
    await page.locator(".menu").waitFor({ state: "attached" });
    expect(await text(page, "document.cookie")).toBe("");
    // Removed from the page and its address as soon as it was read.
    expect(siege.holdsToken(await text(page, "document.documentElement.outerHTML"))).toBe(false);
    expect(page.url()).toBe(`${siege.node.url}/node/console/`);
    expect(await page.evaluate(`fetch("remember", { method: "DELETE" }).then(({ status }) => status)`)).toBe(
      204,
    );
    const other = await siege.console(await page.context().newPage());
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
  });

const cases = chosenFor("gets no token", hostilePages).flatMap((address) =>
  originsFor("gets no token").map(([origin, seenAs]) => ({ address, origin, seenAs })),
);

/** findsNoToken expects that a hostile page finds the token nowhere in the browser. */
async function findsNoToken(siege: Siege, address: string): Promise<void> {
  // Signed in with the stored token, so that everything the console stores in this tab exists.
  await siege.console();
  await siege.page.locator(".menu").waitFor({ state: "attached" });
  for (const page of [await siege.evil(address, siege.page), await siege.evil(address)]) {
    const loot = await text(page, rummage);
    expect(loot).toContain('"loads"');
    expect([siege.holdsToken(loot), loot.includes("handover=")]).toEqual([false, false]);
  }
}

/** asksInVain expects that a hostile page asks the server for the console's page in vain. */
async function asksInVain(siege: Siege, address: string): Promise<void> {
  const page = await siege.evil(address);
  const asked = {
    fetch: `fetch("/node/console/", { credentials: "include" }).then((answer) => answer.text())`,
    "fetch with forged headers": `fetch("/node/console/", { credentials: "include", headers: { "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none" } }).then((answer) => answer.text())`,
    "fetch from the cache": `fetch("/node/console/", { cache: "force-cache" }).then((answer) => answer.text())`,
    XMLHttpRequest: `new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.onload = () => resolve(request.responseText);
      request.open("GET", "/node/console/");
      request.withCredentials = true;
      request.send();
    })`,
    prefetch: `new Promise((resolve) => {
      const link = Object.assign(document.createElement("link"), { rel: "prefetch", as: "document", href: "/node/console/" });
      link.onload = link.onerror = () => resolve(fetch("/node/console/", { cache: "force-cache" }).then((answer) => answer.text()));
      document.head.append(link);
    })`,
    "a worker": `new Promise((resolve) => { new Worker("/fetching.js").onmessage = ({ data }) => resolve(data); })`,
    "a shared worker": `new Promise((resolve) => { new SharedWorker("/fetching.js").port.onmessage = ({ data }) => resolve(data); })`,
  };
  for (const [way, script] of Object.entries(asked)) {
    const told = await text(page, script);
    // It really is the page, and the cookie was sent with the request.
    expect([way, told.includes("node-server console"), siege.holdsToken(told)]).toEqual([way, true, false]);
  }
  expect(
    await text(
      page,
      `Promise.resolve().then(() => new Request("/node/console/", { mode: "navigate" })).catch(String)`,
    ),
  ).toContain("TypeError");
}

/** framesNothing expects that a hostile page cannot frame the console. */
async function framesNothing(siege: Siege, address: string): Promise<void> {
  const page = await siege.evil(address);
  for (const kind of ["iframe", "object", "embed"]) {
    const inside = await text(
      page,
      `new Promise((resolve) => {
      const frame = document.createElement("${kind}");
      frame[${JSON.stringify(kind)} === "object" ? "data" : "src"] = "/node/console/";
      frame.onload = frame.onerror = () => resolve(String(frame.contentDocument?.documentElement.outerHTML ?? frame.getSVGDocument?.()));
      document.body.append(frame);
    })`,
    );
    expect([kind, inside.includes("node-server console")]).toEqual([kind, false]);
  }
  expect(page.frames().filter((frame) => frame.url().includes("/node/console/"))).toEqual([]);
}

for (const { address, origin, seenAs } of cases)
  inBrowser(
    `over ${origin} ${address} gets no token: not from the browser, not by asking the server, not by a frame`,
    async () => {
      await using siege = await openSiege(seenAs);
      await findsNoToken(siege, address);
      await asksInVain(siege, address);
      await framesNothing(siege, address);
    },
  );

for (const address of chosenFor("cannot reach", hostilePages)) {
  inBrowser(`${address} cannot reach into a console that it opens, nor into one that opened it`, async () => {
    await using siege = await openSiege();
    const page = await siege.evil(address);
    const context = page.context();
    const opened = context.waitForEvent("page");
    await page.evaluate(`void (globalThis.victim = window.open("/node/console/"))`);
    const console = await opened;
    await console.locator("#app > *").first().waitFor();
    const reach = `(() => { try { return victim.closed + " " + victim.document.documentElement.outerHTML } catch (error) { return String(error) } })()`;
    const reached = await text(page, reach);
    expect([reached.includes("node-server console"), siege.holdsToken(reached)]).toEqual([false, false]);
    await becomes(() => text(page, "victim.closed"), "true");
    expect(await text(console, "window.opener === null")).toBe("true");
    const other = context.waitForEvent("page");
    await console.evaluate(`void window.open(${JSON.stringify(address)})`);
    const child = await other;
    await child.waitForURL(`**${address}`);
    expect(await text(child, "window.opener === null")).toBe("true");
  });
}

inBrowser("the only message that the console sends to other pages is that somebody signed out", async () => {
  await using siege = await openSiege();
  const evil = await siege.evil("/evil.html");
  await evil.evaluate(`globalThis.heard = [];
    globalThis.ear = new BroadcastChannel("node-server /node/console/");
    ear.onmessage = ({ data }) => heard.push(data)`);
  await siege.page.addInitScript(`globalThis.used = [];
for (const name of ["BroadcastChannel", "SharedWorker", "Worker"])
  globalThis[name] = new Proxy(globalThis[name], { construct: (...given) => (used.push([name, ...given[1]].join(" ")), Reflect.construct(...given)) });`);
  const page = await siege.console();
  await page.locator(".menu").waitFor({ state: "attached" });
  expect(await page.evaluate("used")).toEqual(["BroadcastChannel node-server /node/console/"]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await evil.waitForFunction("heard.length > 0");
  expect(await evil.evaluate("heard")).toEqual(["signed out"]);
});

inBrowser("a forged message on the console's channel can do no more than to sign out", async () => {
  await using siege = await openSiege();
  const page = await siege.console();
  await page.locator(".menu").waitFor({ state: "attached" });
  const evil = await siege.evil("/evil.html");
  await evil.evaluate(`const forged = new BroadcastChannel("node-server /node/console/");
    for (const message of [null, 5, {}, { token: "a:b" }, "signed in"]) forged.postMessage(message);
    forged.postMessage("signed out")`);
  await page.getByText("You signed out in another tab.").waitFor();
  // A message cannot remove the cookie.
  await siege.console();
  await page.locator(".menu").waitFor({ state: "attached" });
});

inBrowser("the console's chunks run, and a script that is slipped into its page does not", async () => {
  await using folder = await tempFolder();
  for (const [name, content] of Object.entries({
    "style.css": "body { color: rgb(1, 2, 3) }",
    "main.tsx": `import { shared } from "./shared.ts";
      document.body.dataset.main = shared;
      for (const late of [import("./one.ts"), import("./two.ts")]) void late.then(({ ran }) => { document.body.dataset[ran] = "late"; });`,
    "shared.ts": "export const shared = document.title;",
    "both.ts": "export const both = document.title.length;",
    "one.ts": 'import { both } from "./both.ts"; export const ran = "one" + both;',
    "two.ts": 'import { both } from "./both.ts"; export const ran = "two" + both;',
  }))
    await writeFile(join(folder.path, name), content);
  const evil = "document.body.dataset.evil = 'ran'";
  const slipped = `<script>${evil}</script><img src="data:," onerror="${evil}">
    <script src="/evil.js"></script><script type="module" src="/evil.js"></script><base href="/elsewhere/">`;
  await using server = serveFolder(folder.path, {
    page: (html) => html.replace("<body>", `<body>${slipped}`),
    others: { "/evil.js": evil },
  });
  await using tab = await Tab.open(server, { expected: /Content Security Policy|TrustedHTML/ });
  await tab.page.goto(`${server.url}/node/console/`);
  await tab.page.locator("body[data-one19][data-two19]").waitFor();
  expect(await tab.page.evaluate("({ ...document.body.dataset })")).toEqual({
    main: "node-server console",
    one19: "late",
    two19: "late",
  });
  expect(await text(tab.page, "getComputedStyle(document.body).color")).toBe("rgb(1, 2, 3)");
  const written = `(() => { try { document.body.innerHTML = "x"; return "written" } catch (error) { return String(error) } })()`;
  expect(await text(tab.page, written)).toContain("TrustedHTML");
  expect(tab.complaints.length).toBeGreaterThanOrEqual(4);
});
