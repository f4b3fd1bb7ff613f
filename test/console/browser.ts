import { afterAll, beforeAll, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { packedConsole, type TestNode, testNode } from "../support/node.ts";
import { chosenFor } from "../support/tier.ts";
import {
  executablePath,
  isFirefox,
  narrow,
  PooledContext,
  plainHost,
  theBrowser,
  wide,
} from "./context-pool.ts";
import { closeSharedConsole, sharedConsoleOf } from "./shared-console.ts";
import { slowness } from "./slowness.ts";

/** Address of the server as another machine sees it over plain http: no `Sec-Fetch-*`, no COOP, no secure context. */
export function overPlainHttp<N extends Pick<TestNode, "url">>(node: N): N {
  const url = new URL(node.url);
  url.hostname = plainHost;
  return Object.create(node, { url: { value: url.origin } }) as N;
}

/** Ways to reach a server, by name. */
const origins: Readonly<Record<string, <N extends Pick<TestNode, "url">>(node: N) => N>> = {
  "a secure origin": (node) => node,
  "plain http": overPlainHttp,
};

/** originsFor returns the origins that a story runs on; in the fast tier one of them, chosen by the title. */
export function originsFor(title: string) {
  return chosenFor(title, Object.entries(origins));
}

/** A story that hangs fails after this time, as any other does. */
const storyTimeoutMs = 20_000;
/** The console is packed and the browser is started once for a run: seconds of work, which the first story must not pay for. */
const prepareMs = 60_000;

/** Test in a real browser. Without that browser it reports that and does not run. */
export function inBrowser(title: string, story: () => Promise<void>, timeoutMs = storyTimeoutMs): void {
  beforeAll(async () => {
    if (executablePath !== undefined) await Promise.all([packedConsole(), theBrowser()]);
  }, prepareMs);
  afterAll(closeSharedConsole);
  const run = async () => {
    leftPages.length = 0;
    try {
      await story();
    } catch (error) {
      console.log(`The pages at the end of the failed story:\n${leftPages.join("\n")}`);
      await closeSharedConsole();
      withFirstError(error);
    }
  };
  test.if(executablePath !== undefined)(title, run, timeoutMs * slowness);
}

/**
 * Test that needs Chromium: its DevTools Protocol, for files that are dropped from outside, a slow network, or a count of received
 * bytes; or something dragged by the mouse, which WebDriver does not do in Firefox. `TEST_BROWSER=firefox` leaves it out.
 */
export function inChromium(title: string, story: () => Promise<void>, timeoutMs?: number): void {
  if (!isFirefox) inBrowser(title, story, timeoutMs);
}

/** What the pages of a story showed when they were closed. */
const leftPages: string[] = [];

/** The address, the text and the fields of a page, and where the focus is. */
const describePage = `[
  location.href,
  document.body?.innerText?.replace(/\\s*\\n\\s*/g, " | ").slice(0, 2500),
  "fields: " + JSON.stringify([...document.querySelectorAll("input:not([type=password])")].slice(0, 20).map(({ value }) => value)),
  "focus: " + document.activeElement?.outerHTML.slice(0, 150),
].join("\\n")`;

/** Keeps the first error: a failed test often makes its page report errors at the end too. */
function withFirstError(error: unknown): never {
  if (!(error instanceof SuppressedError)) throw error;
  const { suppressed: first, error: last } = error;
  throw new Error(`${String(first)}\nAt the end of its scope: ${String(last)}`, { cause: first });
}

export interface Visit {
  /** `key:secret` or `user|password`. Default: the Super Token. An explicit undefined: nobody signs in. */
  readonly token?: string | undefined;
  /** Route, such as `/logs?filter=info`. */
  readonly at?: string;
  readonly dark?: boolean;
  readonly phone?: boolean;
  /** The test changes settings of its browser context, so no later test may get it. */
  readonly ownContext?: boolean;
  /** Errors that the page may report, including red toasts and problem boxes; any other fails the test. */
  readonly expected?: RegExp;
}

/**
 * Messages of browsers that are not errors of a page: about the header over plain http (see decision 0012), about a socket that was
 * still connecting when its page was left, and about the style `body {}` that Playwright adds in Firefox to take a picture.
 */
const harmless =
  /^The Cross-Origin-Opener-Policy header has been ignored|WebSocket is closed before the connection is established|sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT\+SmwNZWA=/;

/**
 * Tab in a browser context that no other tab uses. Without cookies or storage, unless it is the shared one of its file. It is released
 * at the end of its scope, which fails if the page reported errors.
 */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly #pooled: PooledContext;
  readonly #release: () => Promise<unknown>;
  readonly #expected: RegExp | undefined;

  constructor({ page, complaints, pooled, release, expected }: TabParts) {
    this.page = page;
    this.complaints = complaints;
    this.#pooled = pooled;
    this.#release = release;
    this.#expected = expected;
  }

  static async open(node: Pick<TestNode, "url">, visit: Visit = {}): Promise<Tab> {
    const { dark = false, phone = false, ownContext = false, expected } = visit;
    const pooled = await (ownContext ? PooledContext.open() : PooledContext.take());
    const complaints = pooled.complaints.begin(node.url);
    const page = await pooled.newPage();
    if (dark) await page.emulateMedia({ colorScheme: "dark" });
    if (phone) await page.setViewportSize(narrow);
    const release = () => (ownContext ? pooled.context.close() : pooled.giveBack());
    return new Tab({ page, complaints, pooled, release, expected });
  }

  /** Signs in past the form. */
  signIn(url: string, token: string): Promise<void> {
    return this.#pooled.signIn(url, token);
  }

  /** This page and those that were opened beside it. */
  get pages(): Page[] {
    return this.#pooled.pages;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The answer of the page arrives after all its earlier reports.
    leftPages.push(...(await Promise.all(this.pages.map((page) => page.evaluate<string>(describePage)))));
    leftPages.push(...this.#pooled.complaints.unanswered.map((request) => `not answered: ${request}`));
    await this.#release();
    const unexpected = this.complaints.filter((text) => !this.#expected?.test(text) && !harmless.test(text));
    if (unexpected.length > 0) throw new Error(`the page complained: ${unexpected.join("\n")}`);
  }
}

interface TabParts {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly pooled: PooledContext;
  readonly release: () => Promise<unknown>;
  readonly expected: RegExp | undefined;
}

/** What a story may ask of the shared tab of its file. */
const sharedAsks = ["at", "expected"];

/**
 * Opens the console at a page, signed in unless `token` is undefined. A story on `sharedNode()` that asks for nothing else gets the
 * shared tab of its file, once at a time.
 */
export async function openConsole(
  node: Pick<TestNode, "url" | "superToken">,
  visit: Visit = {},
): Promise<Tab> {
  const { at = "/overview", expected } = visit;
  const shared = Object.keys(visit).every((key) => sharedAsks.includes(key))
    ? sharedConsoleOf(node)
    : undefined;
  if (shared !== undefined) return new Tab({ ...(await shared.enter(at)), expected });
  const tab = await Tab.open(node, visit);
  const token = "token" in visit ? visit.token : node.superToken;
  if (token !== undefined) await tab.signIn(node.url, token);
  await tab.page.goto(`${node.url}/node/console/#${at}`);
  if (token !== undefined) await tab.page.locator(".menu").waitFor({ state: "attached" });
  return tab;
}

export async function signIn(page: Page, token: string): Promise<void> {
  const [name, password] = token.includes("|") ? token.split("|", 2) : [undefined, token];
  if (name !== undefined) {
    await page.getByRole("button", { name: "Password" }).click();
    await page.getByLabel("User name").fill(name);
  }
  await page.getByLabel(name === undefined ? "Token" : "Password", { exact: true }).fill(password ?? "");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator(".menu").waitFor({ state: "attached" });
}

const shots = "test-artefacts/console";

/** Takes a screenshot for people to look at. */
export async function shoot(page: Page, name: string, folder = shots): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: ReadonlyArray<{ readonly target: unknown; readonly failureSummary?: string }>;
}

/**
 * The expression that asks axe for the violations of some of its rules. Only they leave the page: the whole report costs as much
 * processor time as finding them.
 */
function runAxe(rules: string, context: string): string {
  return `axe.run(${context}, ${axeOptions(rules, "violations")}).then(({ violations }) => violations)`;
}

function axeOptions(rules: string, ...results: string[]): string {
  return `{ resultTypes: ${JSON.stringify(results)}, elementRef: ${results.length > 1}, preload: false, runOnly: axe._audit.rules.filter(${rules}).map(({ id }) => id) }`;
}

/** Rules whose findings can be serious or critical. */
const seriousRules = "({ enabled, impact }) => enabled && (impact === 'serious' || impact === 'critical')";
/** Rules about colours: the only ones that a page can break by another colour scheme. They take most of the time of axe. */
const colourRules = "({ enabled, tags }) => enabled && tags.includes('cat.color')";
const otherRules = `(rule) => (${seriousRules})(rule) && !(${colourRules})(rule)`;

async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe);
}

/** Serious and critical findings of axe in the current page or a part of it: by all rules, or those about colours, or the others. */
export async function axeFindings(
  page: Page,
  {
    only,
    within = "html",
  }: { readonly only?: "colours" | "others" | undefined; readonly within?: string } = {},
): Promise<string[]> {
  await loadAxe(page);
  const rules = { colours: colourRules, others: otherRules, all: seriousRules }[only ?? "all"];
  return serious(await page.evaluate<readonly Violation[]>(runAxe(rules, JSON.stringify(within))));
}

function serious(found: readonly Violation[]): string[] {
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, impact, help, nodes }) =>
        `${impact} ${id}: ${help}: ${nodes.map(({ target, failureSummary }) => `${JSON.stringify(target)} ${failureSummary ?? ""}`).join("; ")}`,
    );
}

/** What the rules about colours depend on: the colours of a text, its size and weight, all that is below it, and of a link its surroundings. */
const lookOfText = `(element) => {
  const style = getComputedStyle(element);
  const below = [];
  for (let at = element; at !== null; at = at.parentElement) {
    const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(at);
    below.push(backgroundColor, backgroundImage, opacity, filter);
  }
  const around = element.closest("a") === null ? "" : getComputedStyle(element.closest("a").parentElement).color;
  const isDisabled = element.closest(":disabled, [aria-disabled=true]") !== null;
  const nothing = ["rgba(0, 0, 0, 0)", "none", "1"];
  return [style.color, style.fontSize, style.fontWeight, style.textDecorationLine, style.textShadow, around, isDisabled,
    ...below.filter((value) => !nothing.includes(value))].join();
}`;

/**
 * ColourJudge asks axe for findings about colours. It skips texts that look like one that axe has judged before: most of a page looks like
 * those before it.
 */
export class ColourJudge {
  readonly #judged = new Set<string>();

  async findings(page: Page, within: string): Promise<string[]> {
    await loadAxe(page);
    const { violations, judged } = await page.evaluate<Judgement>(`(async () => {
      const lookOf = ${lookOfText};
      const known = new Set(${JSON.stringify([...this.#judged])});
      const isText = ({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim().length > 1;
      // Texts for screen readers alone are outside of the page or a pixel wide.
      const isShown = (element) => {
        const { width, right, bottom } = element.getBoundingClientRect();
        return element.checkVisibility() && width > 1 && right > 0 && bottom > 0;
      };
      const counts = {};
      const isFirst = (look) => (counts[look] = (counts[look] ?? 0) + 1) <= 2;
      const include = [...document.querySelectorAll(${JSON.stringify(within)})].flatMap((part) => [...part.querySelectorAll("*")]).filter((element) =>
        [...element.childNodes].some(isText) && isShown(element) && !known.has(lookOf(element)) && isFirst(lookOf(element)));
      if (include.length === 0) return { violations: [], judged: [] };
      const { violations, passes } = await axe.run({ include }, ${axeOptions(colourRules, "violations", "passes")});
      const nodes = [...violations, ...passes].filter(({ id }) => id === "color-contrast").flatMap(({ nodes }) => nodes);
      const judged = [...new Set(nodes.map(({ element }) => lookOf(element)))];
      return { violations: violations.map(({ nodes, ...rest }) => ({ ...rest, nodes: nodes.map(({ element, ...node }) => node) })), judged };
    })()`);
    for (const look of judged) this.#judged.add(look);
    return serious(violations);
  }
}

interface Judgement {
  readonly violations: readonly Violation[];
  /** The looks of the texts that axe could judge. */
  readonly judged: readonly string[];
}

const looks = {
  light: { scheme: "light", viewport: wide },
  dark: { scheme: "dark", viewport: wide },
  phone: { scheme: "light", viewport: narrow },
} as const;

/** Checks a page in light, dark and on a phone: takes screenshots, and expects no serious axe findings. */
export async function lookAround(
  node: TestNode,
  name: string,
  visit: string | Pick<Visit, "at" | "expected" | "token">,
  settle: (page: Page) => Promise<unknown>,
): Promise<string[]> {
  await using tab = await openConsole(node, typeof visit === "string" ? { at: visit } : visit);
  const { page } = tab;
  await settle(page);
  const findings: string[] = [];
  for (const [way, { scheme, viewport }] of Object.entries(looks)) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: scheme });
    await shoot(page, `${name}-${way}`);
    const found = await axeFindings(page, { only: scheme === "dark" ? "colours" : undefined });
    findings.push(...found.map((finding) => `${way}: ${finding}`));
  }
  return findings;
}

export { sharedNode } from "./shared-console.ts";
export { testNode };
