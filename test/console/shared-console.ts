import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type TestNode, testNode } from "../support/node.ts";
import { PooledContext, wide } from "./context-pool.ts";

/**
 * The expression that sends a tab to a route without anything of the server, and says how the tab differs from a new one there. What the
 * console would ask about before the tab is closed, such as drafts, is found by the event with which a browser asks. The text of
 * the editors of SQL and the configuration stays for the whole session.
 */
const rest = `(async () => {
  const hadEditor = /^#\\/(sql|config)/.test(location.hash);
  const stains = () => Object.entries({
    "another page": location.pathname !== "/node/console/" || document.querySelector(".menu") === null,
    "the text of an editor": hadEditor,
    "unsaved work": !dispatchEvent(new Event("beforeunload", { cancelable: true })),
    "another language or theme": document.documentElement.lang !== "en" || document.documentElement.dataset.theme !== undefined,
    "something in the storage": localStorage.length + sessionStorage.length > 0,
  }).filter(([, isThere]) => isThere).map(([what]) => what);
  if (stains().length > 0) return stains();
  for (const button of document.querySelectorAll(".toast > button:last-child")) button.click();
  const rested = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
  location.hash = "/nowhere?" + Math.random();
  await rested;
  // Effects of the page run after it was painted.
  for (let frames = 0; frames < 2; frames += 1)
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const shown = [...document.querySelectorAll("dialog[open], :popover-open, section.uploads")];
  return [...stains(), ...shown.map(({ outerHTML }) => outerHTML.slice(0, 200))];
})()`;

/**
 * SharedConsole is a server and a tab that is signed in to it, for the stories of one file: the sign-in and the first load cost more
 * than most stories do. Each story finds an empty server, and a tab that is as clean as a new one or is a new one.
 */
class SharedConsole {
  readonly node: TestNode;
  #pooled: PooledContext | undefined;
  #page: Page | undefined;
  #isTaken = false;

  constructor(node: TestNode) {
    this.node = node;
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** enter shows a route in the tab, which its story must release before the next one enters. */
  async enter(route: string) {
    this.#isTaken = true;
    const { url, superToken } = this.node;
    const pooled = this.#pooled ?? (await PooledContext.take());
    this.#pooled = pooled;
    const complaints = pooled.complaints.begin(url);
    if (this.#page !== undefined) await this.#page.evaluate(`location.hash = ${JSON.stringify(route)}`);
    else {
      await pooled.signIn(url, superToken);
      this.#page = await pooled.newPage();
      await this.#page.goto(`${url}/node/console/#${route}`);
      await this.#page.locator(".menu").waitFor({ state: "attached" });
    }
    return { page: this.#page, complaints, pooled, release: () => this.#release(pooled, this.#page) };
  }

  /** Replaces the tab unless it is clean. */
  async #release(pooled: PooledContext, page: Page | undefined): Promise<void> {
    this.#isTaken = false;
    const isClean = page !== undefined && (await this.#clean(pooled, page));
    if (!isClean) await this.#closeTab();
  }

  async #clean(pooled: PooledContext, page: Page): Promise<boolean> {
    await Promise.all(pooled.pages.filter((other) => other !== page).map((other) => other.close()));
    page.removeAllListeners();
    await page.unrouteAll();
    const stains = await page.evaluate<string[]>(rest);
    if (stains.length > 0) return false;
    await page.mouse.move(0, 0);
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.setViewportSize(wide);
    return pooled.complaints.unanswered.length === 0;
  }

  async #closeTab(): Promise<void> {
    const pooled = this.#pooled;
    this.#pooled = undefined;
    this.#page = undefined;
    await pooled?.giveBack();
  }

  /** Deletes the buckets with their files, and the tokens. */
  async empty(): Promise<void> {
    const { node } = this;
    const token = node.superToken;
    for (const name of (await node.call("static-bucket_list", { token })) as string[])
      await node.call("static-bucket_delete", { token, name });
    // The folder itself is made with the first bucket, and must stay.
    const files = join(node.folder, "static");
    // The server may be removing the same folder.
    for (const entry of existsSync(files) ? await readdir(files) : [])
      await rm(join(files, entry), { recursive: true, force: true });
    const { tokens } = (await node.call("token_list_all_tokens", { token })) as Tokens;
    for (const { token_key } of tokens.slice(1))
      await node.call("token_delete", { token, target_token: token_key });
  }

  async close(): Promise<void> {
    await this.#closeTab();
    await this.node[Symbol.asyncDispose]();
  }
}

/** All tokens, the Super Token first. */
interface Tokens {
  readonly tokens: ReadonlyArray<{ readonly token_key: string }>;
}

let shared: SharedConsole | undefined;

/**
 * sharedNode returns the server of this file, for a story that does not configure its server. It is empty again at the end of the
 * story's scope. `openConsole` shows its console in the shared tab.
 */
export async function sharedNode(): Promise<TestNode> {
  shared ??= new SharedConsole(await testNode());
  const emptied = shared;
  return Object.create(emptied.node, { [Symbol.asyncDispose]: { value: () => emptied.empty() } }) as TestNode;
}

/** sharedConsoleOf returns the shared console of a node, unless it is taken or the node is not shared. */
export function sharedConsoleOf(node: object): SharedConsole | undefined {
  return shared?.node === Object.getPrototypeOf(node) && !shared?.isTaken ? shared : undefined;
}

/** closeSharedConsole closes the server and the tab: at the end of a file, and after a failed story. */
export async function closeSharedConsole(): Promise<void> {
  const closed = shared;
  shared = undefined;
  await closed?.close();
}
