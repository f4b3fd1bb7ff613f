import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  firefox,
  type Page,
} from "playwright-core";
import { atRunEnd, hasRunner } from "../support/test-run.ts";
import { findProgram } from "../support/tools.ts";
import { Complaints } from "./complaints.ts";
import { delayAnswers, patienceMs, slowDown } from "./slowness.ts";

/** Host name of this machine that browsers do not trust like 127.0.0.1: `http://` with it is not a secure context. */
export const plainHost = "console.test";

/** `TEST_BROWSER=firefox` runs the stories in Firefox. Those that need Chromium's DevTools Protocol are left out (`inChromium`). */
export const isFirefox = process.env.TEST_BROWSER === "firefox";

/** The shell is Chromium without a window, and takes two thirds of its processor time. */
export const executablePath = isFirefox
  ? findProgram("the console in Firefox", "firefox-esr")
  : (Bun.which("chromium-headless-shell") ?? findProgram("the console in a browser", "chromium"));

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

/** Firefox has permissions for the clipboard by its settings, like the other options. */
const contextOptions: BrowserContextOptions = isFirefox
  ? {}
  : { colorScheme: "light", reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] };

export const wide = { width: 1280, height: 800 };
export const narrow = { width: 390, height: 844 };

/** A page of the tested site that stays open, and the protocol by which the context is emptied; Firefox has neither. */
interface Keeper {
  readonly blank: Page;
  readonly devtools: CDPSession;
}

interface Parts {
  readonly context: BrowserContext;
  readonly complaints: Complaints;
  readonly keeper: Keeper | undefined;
}

let browser: Promise<Browser> | undefined;
let idle: PooledContext[] = [];

/** One browser for all files of a run. */
export async function theBrowser(): Promise<Browser> {
  if ((await browser)?.isConnected()) return browser as Promise<Browser>;
  idle = [];
  browser = isFirefox
    ? launchFirefox()
    : chromium.launch({ executablePath: executablePath ?? "", args: flags });
  // The Chromium of a lane of `npm test` ends with the lane, and what it leaves behind is in the folder of the run.
  if (isFirefox || !hasRunner) atRunEnd(async () => (await browser)?.close());
  return browser;
}

/** The settings of a Firefox whose pages are like those of Chromium here: no motion, light colours, the same hosts, free clipboard. */
const firefoxUserPrefs = {
  "ui.prefersReducedMotion": 1,
  "layout.css.prefers-color-scheme.content-override": 1,
  "network.dns.localDomains": plainHost,
  "dom.events.testing.asyncClipboard": true,
  // Like the shell of Chromium.
  "pdfjs.disabled": true,
};

/** Launches the Firefox of the system, which Playwright drives by WebDriver BiDi. */
async function launchFirefox(): Promise<Browser> {
  const launched = await firefox.launch({
    channel: "moz-firefox",
    executablePath: executablePath ?? "",
    firefoxUserPrefs,
  });
  replaceMediaOverride(launched);
  return launched;
}

type Send = (method: string, params: MediaOverride) => Promise<unknown>;

interface MediaOverride {
  readonly contexts?: readonly string[];
  readonly features?: Readonly<Record<string, string | null>>;
}

/**
 * Playwright sends `emulation.setMediaFeaturesOverride` for each context, which Firefox 153 does not have. In its place the page gets
 * the attribute that the console sets when a person chooses colours, until it is loaded again.
 */
function replaceMediaOverride(launched: Browser): void {
  const { _connection } = launched as unknown as {
    _connection: { toImpl(client: Browser): { _browserSession: { send: Send } } };
  };
  const sessions = Object.getPrototypeOf(_connection.toImpl(launched)._browserSession) as { send: Send };
  const { send } = sessions;
  sessions.send = function (method, params) {
    if (method !== "emulation.setMediaFeaturesOverride") return send.call(this, method, params);
    const [context] = params.contexts ?? [];
    if (context === undefined) return Promise.resolve({});
    const scheme = params.features?.["prefers-color-scheme"];
    const choose = scheme === "dark" ? 'dataset.theme = "dark"' : "removeAttribute('data-theme')";
    const target = { target: { context }, awaitPromise: false };
    return send.call(this, "script.evaluate", {
      expression: `document.documentElement.${choose}`,
      ...target,
    } as MediaOverride);
  };
}

/**
 * PooledContext is a browser context that one test uses at a time. Between tests its pages are closed, and its cookies, caches and the
 * storage of every origin that was visited are deleted. A blank page of the tested site stays open, which keeps the window and the
 * process of the site alive: without it, each test would pay for new ones.
 */
export class PooledContext {
  readonly context: BrowserContext;
  readonly complaints: Complaints;
  readonly #keeper: Keeper | undefined;

  private constructor({ context, complaints, keeper }: Parts) {
    this.context = context;
    this.complaints = complaints;
    this.#keeper = keeper;
  }

  static async take(): Promise<PooledContext> {
    // A new browser has no idle contexts.
    await theBrowser();
    return idle.pop() ?? PooledContext.open();
  }

  /** open makes a context that is not in the pool until it is given back. */
  static async open(): Promise<PooledContext> {
    const context = await (await theBrowser()).newContext({
      ...contextOptions,
      viewport: wide,
      acceptDownloads: true,
    });
    const keeper = isFirefox ? undefined : await openKeeper(context);
    const complaints = await Complaints.watch(context);
    await delayAnswers(context);
    return new PooledContext({ context, complaints, keeper });
  }

  /**
   * newPage opens a tab without an opener. It is opened by the blank page and begins in its process; one that Playwright makes begins
   * in a process of its own, which ends when the tab goes to the tested site.
   */
  async newPage(): Promise<Page> {
    const page = await this.#openPage();
    page.setDefaultTimeout(patienceMs);
    await slowDown(page);
    return page;
  }

  async #openPage(): Promise<Page> {
    if (this.#keeper === undefined) return this.context.newPage();
    const opened = this.context.waitForEvent("page");
    await this.#keeper.blank.evaluate("void open('about:blank', '_blank', 'noopener')");
    return opened;
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
    return this.context.pages().filter((page) => page !== this.#keeper?.blank);
  }

  async giveBack(): Promise<void> {
    if (this.#keeper === undefined) return this.context.close();
    await Promise.all(this.pages.map((page) => page.close()));
    await this.context.clearCookies();
    const { devtools } = this.#keeper;
    for (const origin of this.complaints.origins)
      await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await devtools.send("Network.clearBrowserCache");
    idle.push(this);
  }
}

async function openKeeper(context: BrowserContext): Promise<Keeper> {
  const blank = await context.newPage();
  // No server needs to answer at this address.
  await blank.route("**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await blank.goto("http://127.0.0.1/");
  return { blank, devtools: await context.newCDPSession(blank) };
}
