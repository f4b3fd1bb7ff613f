import { expect } from "bun:test";
import type { ElementHandle, Page } from "playwright-core";
import type { Texts } from "../../src/console/text/catalogues.ts";
import type { Language } from "../../src/console/text/language.ts";
import { inBrowser, openConsole, shoot, signIn, testNode } from "./browser.ts";
import { type Contrasts, contrastsOf, inPage } from "./contrast.ts";
import { inEachDialog, livelyNode, opened, openView, textsOf, views } from "./views.ts";

/** WCAG 2.2, level AA, for text of normal size. */
const enough = 4.5;

const kinds = ["plain", "primary", "danger", "quiet", "quiet icon-only"];

/** Adds a button of every kind in every state. Runs in the page. */
const showKinds = `(() => {
  for (const kind of ${JSON.stringify(kinds)})
    for (const state of ["", "disabled", "pressed"]) {
      const button = document.createElement("button");
      button.className = "button " + kind;
      button.textContent = kind;
      button.dataset.kind = (kind + " " + state).trim();
      button.disabled = state === "disabled";
      if (state === "pressed") button.setAttribute("aria-pressed", "true");
      document.querySelector("main").append(button);
    }
})()`;

const groundOf = inPage<string>("button", "return getComputedStyle(button).backgroundColor");

function tooPale(measured: readonly Contrasts[]): Contrasts[] {
  return measured.filter(({ rest, hover, pressed }) => Math.min(rest, hover, pressed) < enough);
}

for (const dark of [false, true])
  inBrowser(`every kind of button can be read under the mouse (${dark ? "dark" : "light"})`, async () => {
    await using node = await testNode();
    await using tab = await openConsole(node, { dark, at: "/nowhere" });
    const { page } = tab;
    await page.evaluate(showKinds);
    const measured: Contrasts[] = [];
    for (const kind of kinds)
      for (const state of kind.startsWith("quiet") ? ["", " pressed"] : [""])
        measured.push(await contrastsOf(page, await page.waitForSelector(`[data-kind="${kind}${state}"]`)));
    expect(tooPale(measured)).toEqual([]);
    await page.locator('[data-kind="primary"]').hover();
    await shoot(page, `buttons-${dark ? "dark" : "light"}`);
    // A disabled button must look disabled.
    const ground = (kind: string) => page.locator(`[data-kind="${kind}"]`).evaluate(groundOf);
    expect(await ground("danger disabled")).toBe(await ground("primary disabled"));
    expect(await ground("danger disabled")).not.toBe(await ground("danger"));
  });

/** Keys for the styles of buttons, from their position and kind. */
const looksOf = inPage<string[]>(
  "buttons",
  `return buttons.map((button) =>
    [button.parentElement.className, button.className, button.role, button.ariaPressed].join(" | "))`,
);

const colorSchemes = ["light", "dark"] as const;

/**
 * Measures the enabled buttons whose style is not among those that were `seen`, in both colour schemes, and adds it: 200 rows have the
 * same ones, and so have most pages.
 */
async function measureButtons(page: Page, seen: Set<string>): Promise<Contrasts[]> {
  const within = (await page.locator(opened).count()) > 0 ? opened : "body";
  const buttons = page.locator(within).locator("button:enabled:not(.skip):visible");
  const fresh: ElementHandle[] = [];
  for (const [at, look] of (await buttons.evaluateAll(looksOf)).entries()) {
    const style = `${within} | ${look}`;
    if (seen.has(style)) continue;
    seen.add(style);
    const handle = await buttons.nth(at).elementHandle();
    if (handle !== null) fresh.push(handle);
  }
  const measured: Contrasts[] = [];
  if (fresh.length === 0) return measured;
  for (const colorScheme of colorSchemes) {
    await page.emulateMedia({ colorScheme });
    for (const handle of fresh) {
      const contrasts = await contrastsOf(page, handle);
      measured.push({ ...contrasts, name: `${contrasts.name}, ${colorScheme}` });
    }
  }
  return measured;
}

/** Switches by script: an open dialog or menu stays open, which a click elsewhere would close. */
async function switchTo(page: Page, language: Language): Promise<void> {
  await page.evaluate(`document.querySelector(".language-picker [lang=${language}]").click()`);
  await page.locator(`html[lang^=${language}]`).waitFor();
}

inBrowser(
  "the buttons of each view and dialog can be read under the mouse, in both colour schemes and languages",
  async () => {
    await using node = await livelyNode();
    const texts = { en: await textsOf("en"), zh: await textsOf("zh") };
    let language: Language = "en";
    const pale: Record<string, Contrasts[]> = {};
    await using tab = await openConsole(node, { token: undefined });
    const { page } = tab;
    const seen = new Set<string>();
    // The next view begins in the language in which this one ended: one switch for each is enough.
    const measureBoth = async (name: string) => {
      for (const isFirst of [true, false]) {
        if (!isFirst) language = language === "en" ? "zh" : "en";
        if (!isFirst) await switchTo(page, language);
        const found = tooPale(await measureButtons(page, seen));
        if (found.length > 0) pale[`${name}, ${language}`] = found;
      }
    };
    const t = new Proxy({} as Texts, { get: (_, group: keyof Texts) => texts[language][group] });
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await measureBoth("sign-in");
    await switchTo(page, "en");
    language = "en";
    await signIn(page, node.superToken);
    for (const view of views) {
      await openView(page, view);
      await measureBoth(view.at);
      await inEachDialog(page, view, t, measureBoth);
    }
    expect(pale).toEqual({});
    expect(seen.size).toBeGreaterThan(20);
  },
  600_000,
);
