import { expect } from "bun:test";
import type { ElementHandle, Page } from "playwright-core";
import type { Language, Texts } from "../../src/console/text/language.ts";
import { axeFindings, ColourJudge, inBrowser, openConsole, shoot, signIn } from "./browser.ts";
import { isFirefox, narrow, wide } from "./context-pool.ts";
import { type Contrasts, contrastsOf, inPage, tooPale } from "./contrast.ts";
import { inEachDialog, livelyNode, opened, openView, textsOf, type View, views } from "./views.ts";

/** The expression that finds two English words beside each other, outside of what the server or a person wrote. */
export const englishIn = (within: string) => `(() => {
  const copy = document.querySelector("${within}").cloneNode(true);
  const data = "head, code, pre, kbd, time, script, noscript, [lang], .virtual-rows, .explorer-list, .editor, .overview-problems li, .brand, .me";
  for (const element of copy.querySelectorAll(data)) element.remove();
  const spoken = [...copy.querySelectorAll("[title], [aria-label], [placeholder]")].flatMap((element) =>
    ["title", "aria-label", "placeholder"].map((name) => element.getAttribute(name) ?? ""));
  const texts = [...copy.querySelectorAll("*")]
    .filter(({ childNodes }) => [...childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== ""))
    .map(({ textContent }) => textContent);
  return [...texts, ...spoken].filter((line) => /[A-Za-z]{4,}\\s[A-Za-z]{4,}/.test(line));
})()`;

/**
 * What has no room: the page, tabs and placeholders that are wider than theirs, parts of the page that lie over the next one, and buttons
 * of which nothing is painted. Tools follow the size a frame later.
 */
const squeezed = `(async () => {
  for (let frames = 0; frames < 3; frames += 1) await new Promise((drawn) => requestAnimationFrame(drawn));
  const canvas = document.createElement("canvas").getContext("2d");
  const missing = (field) => {
    const style = getComputedStyle(field);
    canvas.font = style.font;
    const sides = ["paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"];
    const room = sides.reduce((width, side) => width - parseFloat(style[side]), field.offsetWidth);
    return canvas.measureText(field.placeholder).width - room;
  };
  const isShown = (element) => element.checkVisibility() && element.clientWidth > 1;
  const fields = [...document.querySelectorAll("input[placeholder]")].filter((field) => isShown(field) && missing(field) > 1);
  const tabs = [...document.querySelectorAll(".tab-links")].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
  const page = document.documentElement.scrollWidth > innerWidth ? ["the page"] : [];
  const onNext = [...document.querySelectorAll(".page > *")].filter((part) =>
    getComputedStyle(part).overflowY === "visible" && part.scrollHeight > part.clientHeight + 1);
  const isPainted = (element) => {
    const { width, height } = element.getBoundingClientRect();
    const hasText = [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== "");
    return Math.min(width, height) > 2 && (hasText || element.childElementCount === 0 || element.localName === "svg");
  };
  const empty = [...document.querySelectorAll("button")].filter((button) =>
    isShown(button) && ![button, ...button.querySelectorAll("*")].some(isPainted));
  const names = [...onNext.map(({ className }) => className + " lies over what follows"),
    ...empty.map(({ ariaLabel, title }) => "nothing is painted of the button " + (ariaLabel ?? title))];
  return [...page, ...names, ...tabs.map(() => "tabs"), ...fields.map((field) => field.placeholder + " lacks " + missing(field) + " px")];
})()`;

/** Sizes of a phone, of a tablet, and of a laptop at 200 % zoom. */
const sizes = { phone: narrow, tablet: { width: 820, height: 1180 }, zoomed: { width: 683, height: 384 } };

/** Keys for the styles of buttons, from their position and kind. */
const stylesOf = inPage<string[]>(
  "buttons",
  `return buttons.map((button) =>
    [button.parentElement.className, button.className, button.role, button.ariaPressed].join(" | "))`,
);

/** Switches by script: an open dialog or menu stays open, which a click elsewhere would close. */
async function switchTo(page: Page, language: Language): Promise<void> {
  await page.evaluate(`document.querySelector(".language-picker [lang=${language}]").click()`);
  await page.locator(`html[lang^=${language}]`).waitFor();
}

/**
 * Walk visits every view and dialog once and makes all judgements there: axe in light and in dark colours, the contrast of buttons under
 * the mouse, English words in Chinese, and what has no room on a phone, a tablet and a zoomed laptop. At each stop the language changes, because one
 * switch is cheaper than a second walk. So axe meets half of the stops in either language; a walk that starts in the other language
 * meets the other halves.
 */
class Walk {
  readonly #page: Page;
  readonly #texts: Readonly<Record<Language, Texts>>;
  /** Pictures are for people, and one walk has them all: the one that only `test:all` makes. */
  readonly #takesPictures: boolean;
  #language: Language;
  readonly #colours = new ColourJudge();
  /** Both, the current one first: each change paints the whole page. */
  readonly #schemes: ("light" | "dark")[] = ["light", "dark"];
  /** Styles of buttons that were measured: 200 rows have the same ones, and so have most pages. */
  readonly #seen = new Set<string>();
  readonly findings: Record<string, unknown[]> = {};

  constructor(page: Page, texts: Readonly<Record<Language, Texts>>, language: Language) {
    this.#page = page;
    this.#texts = texts;
    this.#language = language;
    this.#takesPictures = language === "zh" && !isFirefox;
  }

  get countOfStyles(): number {
    return this.#seen.size;
  }

  /** The texts of the language that the page shows at the moment. */
  readonly #t = new Proxy({} as Texts, {
    get: (_, group: keyof Texts) => this.#texts[this.#language][group],
  });

  async visit(view: View): Promise<void> {
    await openView(this.#page, view);
    await this.judge(view.at, view);
    await inEachDialog(this.#page, view, this.#t, (name) => this.judge(name));
  }

  /** Judges what the page shows; of a view also its title and size. */
  async judge(name: string, view?: View): Promise<void> {
    const page = this.#page;
    const isDialog = view === undefined && (await page.locator(opened).count()) > 0;
    const within = isDialog ? opened : "html";
    const fresh = await this.#freshButtons(within);
    this.#note(name, await axeFindings(page, { within, only: "others" }));
    for (const colorScheme of this.#schemes) {
      await page.emulateMedia({ colorScheme });
      this.#note(name, await this.#colours.findings(page, within));
      await this.#measure(name, fresh);
    }
    this.#schemes.reverse();
    await this.#judgeTexts(name, { within, view });
    await this.#switch();
    // A question keeps the language in which it was asked.
    if (isDialog) return;
    await this.#judgeTexts(name, { within, view });
    if (view !== undefined) await this.#judgeSizes(name);
  }

  async #judgeTexts(
    name: string,
    { within, view }: { within: string; view: View | undefined },
  ): Promise<void> {
    if (this.#language === "zh" && view?.isEnglish !== true)
      this.#note(name, await this.#page.evaluate<string[]>(englishIn(within)));
    if (view === undefined) return;
    const title = typeof view.title === "string" ? view.title : view.title(this.#t);
    const heading = this.#page.getByRole("heading", { level: 1, name: title, exact: true });
    if ((await heading.count()) !== 1) this.#note(name, [`no heading ${title}`]);
  }

  async #judgeSizes(name: string): Promise<void> {
    for (const [size, viewport] of Object.entries(sizes)) {
      await this.#page.setViewportSize(viewport);
      this.#note(`${name}, ${size}`, await this.#page.evaluate<string[]>(squeezed));
      if (this.#takesPictures) await shoot(this.#page, `walk-${name.replaceAll(/\W+/g, "-")}-${size}`);
    }
    await this.#page.setViewportSize(wide);
  }

  async #switch(): Promise<void> {
    this.#language = this.#language === "en" ? "zh" : "en";
    await switchTo(this.#page, this.#language);
  }

  /** The enabled buttons whose style was not seen before. */
  async #freshButtons(within: string): Promise<ElementHandle[]> {
    const buttons = this.#page
      .locator(within)
      .locator("button:enabled:not(.skip, [aria-disabled=true]):visible");
    const fresh: ElementHandle[] = [];
    for (const [at, own] of (await buttons.evaluateAll(stylesOf)).entries()) {
      const style = `${within} | ${own}`;
      if (this.#seen.has(style)) continue;
      this.#seen.add(style);
      const handle = await buttons.nth(at).elementHandle();
      if (handle !== null) fresh.push(handle);
    }
    return fresh;
  }

  /** Measures in the current colours. */
  async #measure(name: string, buttons: readonly ElementHandle[]): Promise<void> {
    const measured: Contrasts[] = [];
    for (const button of buttons) measured.push(await contrastsOf(this.#page, button));
    this.#note(name, tooPale(measured));
  }

  #note(name: string, found: readonly unknown[]): void {
    const key = `${name}, ${this.#language}`;
    if (found.length > 0) this.findings[key] = [...(this.findings[key] ?? []), ...found];
  }
}

/** The story of a walk that starts in a language. */
export function walkInBrowser(title: string, language: Language): void {
  inBrowser(
    title,
    async () => {
      await using node = await livelyNode();
      await using tab = await openConsole(node, { token: undefined });
      const { page } = tab;
      const walk = new Walk(page, { en: await textsOf("en"), zh: await textsOf("zh") }, language);
      await page.locator(".language-picker").waitFor();
      await switchTo(page, language);
      await walk.judge("sign-in");
      await switchTo(page, "en");
      await signIn(page, node.superToken);
      await switchTo(page, language === "en" ? "zh" : "en");
      for (const view of views) await walk.visit(view);
      expect(walk.findings).toEqual({});
      expect(walk.countOfStyles).toBeGreaterThan(20);
    },
    // 47 views and dialogs, each in two languages, two colours and three sizes.
    180_000,
  );
}
