import type { Page } from "playwright-core";
import type { Node } from "../../src/node.ts";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { Tab } from "./browser.ts";

/** Paths of the same hostile page: in the HTTP root, and at its bucket's own address. */
export const hostilePages = ["/evil.html", "/node/static/site/evil.html"];

const worker = `addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.respondWith(new Response("caught by the worker"));
});`;

const files = {
  "evil.html": "<!doctype html><title>evil</title><body></body>",
  "sw.js": worker,
  "app/sw.js": worker,
  "app/module.js": `import "/shared.js";${worker}`,
  "shared.js": "",
  "app/page.html": "<!doctype html><title>app</title><body>from the server</body>",
  "fetching.js": `const port = self.onconnect === undefined ? self : new Promise((resolve) => { self.onconnect = (event) => resolve(event.ports[0]); });
const text = fetch("/node/console/", { credentials: "include" }).then((answer) => answer.text());
void Promise.all([port, text]).then(([to, told]) => to.postMessage(told));`,
};

/** Server whose HTTP root is controlled by an attacker, and a browser that stores an operator's token for the console. */
export class Siege implements AsyncDisposable {
  readonly node: TestNode;
  readonly #tab: Tab;

  private constructor(node: TestNode, tab: Tab) {
    this.node = node;
    this.#tab = tab;
  }

  /** Of a server of its own, for a story that configures it. */
  static async open(): Promise<Siege> {
    const node = await testNode();
    await siteWith(node, files, { is_http_root: true });
    return Siege.of(node);
  }

  static async of(node: TestNode): Promise<Siege> {
    // The attacks make the page report errors, which are expected here.
    const siege = new Siege(node, await Tab.open(node, { expected: /./ }));
    const page = await siege.console();
    const status = await page.evaluate(`fetch("remember", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: ${JSON.stringify(node.superToken)}, persistent: true }),
    }).then((answer) => answer.status)`);
    if (status !== 204) throw new Error(`the token was not remembered: ${status}`);
    return siege;
  }

  get page(): Page {
    return this.#tab.page;
  }

  /** Whether the text an attacker obtained contains the token, plain or as in the cookie. */
  holdsToken(loot: string): boolean {
    const { superToken } = this.node;
    const [, secret = ""] = superToken.split(":");
    const forms = [superToken, secret, Buffer.from(superToken).toString("base64url"), btoa(superToken)];
    return forms.some((form) => loot.includes(form));
  }

  /** Opens the console in a tab, as by typing its address. */
  async console(page = this.page): Promise<Page> {
    await page.goto(`${this.node.url}/node/console/`);
    return page;
  }

  /** Opens a hostile page, in the given tab or a new one. */
  async evil(address: string, page?: Page): Promise<Page> {
    const at = page ?? (await this.page.context().newPage());
    await at.goto(this.node.url + address);
    return at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tab[Symbol.asyncDispose]();
    await this.node[Symbol.asyncDispose]();
  }
}

/**
 * sharedSieges returns a function that opens a siege of one server for all stories of this file. Call it at the top of a file. `seenAs`
 * converts the server's address to the one that the browser uses.
 */
export function sharedSieges(): (seenAs?: (node: TestNode) => TestNode) => Promise<Siege> {
  const sharedNode = sharedNodes();
  const hostile = new WeakSet<Node>();
  return async (seenAs = (node) => node) => {
    const node = { ...(await sharedNode()), bucket: "site" };
    if (!hostile.has(node.node)) await siteWith(node, files, { is_http_root: true });
    hostile.add(node.node);
    return Siege.of(seenAs(node));
  };
}

/** Result of a script in a page, as text. */
export async function text(page: Page, script: string): Promise<string> {
  return String(await page.evaluate(script));
}

/** Everything that a page can read about its origin and tab without a request, as text. */
export const rummage = `(async () => {
  const databases = await indexedDB.databases();
  // Some APIs exist only in secure contexts.
  const cached = await globalThis.caches?.keys();
  const entries = navigation.entries().map((entry) => [entry.url, entry.getState() ?? null]);
  return JSON.stringify({
    local: { ...localStorage },
    session: { ...sessionStorage },
    cookie: document.cookie,
    cookies: await globalThis.cookieStore?.getAll(),
    databases, cached, entries,
    state: history.state,
    name: window.name,
    referrer: document.referrer,
    opener: window.opener === null,
    loads: performance.getEntries().map(({ name }) => name),
  });
})()`;
