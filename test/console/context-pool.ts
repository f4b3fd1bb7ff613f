import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { atRunEnd, hasRunner } from "../support/test-run.ts";
import { findProgram } from "../support/tools.ts";
import { Complaints } from "./complaints.ts";
import { delayAnswers, slowDown } from "./slowness.ts";

/** Host name of this machine that browsers do not trust like 127.0.0.1: `http://` with it is not a secure context. */
export const plainHost = "console.test";

/** The shell is Chromium without a window, and takes two thirds of its processor time. */
export const executablePath =
  Bun.which("chromium-headless-shell") ?? findProgram("the console in a browser", "chromium");

/**
 * Flags of Chromium. Pages of one site in one context share a process: a tab then costs half of the processor time, because its
 * process is warm.
 */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--process-per-site",
  `--host-resolver-rules=MAP ${plainHost} 127.0.0.1`,
];

export const wide = { width: 1280, height: 800 };
export const narrow = { width: 390, height: 844 };

interface Parts {
  readonly context: BrowserContext;
  readonly complaints: Complaints;
  readonly blank: Page;
  readonly devtools: CDPSession;
}

let browser: Promise<Browser> | undefined;
let idle: PooledContext[] = [];

/** One Chromium for all files of a run. */
async function theBrowser(): Promise<Browser> {
  if ((await browser)?.isConnected()) return browser as Promise<Browser>;
  idle = [];
  browser = chromium.launch({ executablePath: executablePath ?? "", args: flags });
  // In a run of `npm test`, it ends with the process that it belongs to, and what it leaves behind is in the folder of the run.
  if (!hasRunner) atRunEnd(async () => (await browser)?.close());
  return browser;
}

/**
 * PooledContext is a browser context that one test uses at a time. Between tests its pages are closed, and its cookies, caches and the
 * storage of every origin that was visited are deleted. A blank page of the tested site stays open, which keeps the window and the
 * process of the site alive: without it, each test would pay for new ones.
 */
export class PooledContext {
  readonly context: BrowserContext;
  readonly complaints: Complaints;
  readonly #blank: Page;
  readonly #devtools: CDPSession;

  private constructor({ context, complaints, blank, devtools }: Parts) {
    this.context = context;
    this.complaints = complaints;
    this.#blank = blank;
    this.#devtools = devtools;
  }

  static async take(): Promise<PooledContext> {
    // A new browser has no idle contexts.
    await theBrowser();
    return idle.pop() ?? PooledContext.open();
  }

  /** open makes a context that is not in the pool until it is given back. */
  static async open(): Promise<PooledContext> {
    const context = await (await theBrowser()).newContext({
      colorScheme: "light",
      viewport: wide,
      reducedMotion: "reduce",
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const blank = await context.newPage();
    // No server needs to answer at this address.
    await blank.route("**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
    await blank.goto("http://127.0.0.1/");
    const devtools = await context.newCDPSession(blank);
    const complaints = await Complaints.watch(context);
    await delayAnswers(context);
    return new PooledContext({ context, complaints, blank, devtools });
  }

  /**
   * newPage opens a tab without an opener. It is opened by the blank page and begins in its process; one that Playwright makes begins
   * in a process of its own, which ends when the tab goes to the tested site.
   */
  async newPage(): Promise<Page> {
    const opened = this.context.waitForEvent("page");
    await this.#blank.evaluate("void open('about:blank', '_blank', 'noopener')");
    const page = await opened;
    page.setDefaultTimeout(60_000);
    await slowDown(page);
    return page;
  }

  /** signIn signs the context in to a server like its console does, which stores the token in a cookie that no script can read. */
  async signIn(url: string, token: string): Promise<void> {
    const { host, origin } = new URL(url);
    // Only the browser knows where `plainHost` is.
    const stored = await fetch(`${url.replace(plainHost, "127.0.0.1")}/node/console/remember`, {
      method: "POST",
      headers: { host, origin, "content-type": "application/json" },
      body: JSON.stringify({ token, persistent: false }),
      tls: { rejectUnauthorized: false },
    });
    if (!stored.ok) throw new Error(`the token was not stored: ${await stored.text()}`);
    const cookies = stored.headers.getSetCookie().map((line) => Bun.Cookie.parse(line));
    await this.context.addCookies(
      cookies.map(({ name, value, httpOnly, secure, path }) => ({
        ...{ name, value, httpOnly, secure, path },
        domain: new URL(url).hostname,
        sameSite: "Strict",
      })),
    );
  }

  /** Pages that the test opened, and those that its pages opened. */
  get pages(): Page[] {
    return this.context.pages().filter((page) => page !== this.#blank);
  }

  async giveBack(): Promise<void> {
    await Promise.all(this.pages.map((page) => page.close()));
    await this.context.clearCookies();
    for (const origin of this.complaints.origins)
      await this.#devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await this.#devtools.send("Network.clearBrowserCache");
    idle.push(this);
  }
}
