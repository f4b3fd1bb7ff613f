import { expect } from "bun:test";
import type { Page } from "playwright-core";
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

/**
 * Measures the enabled buttons whose style is not among those that were `seen`, and adds it: 200 rows have the same ones, and so have
 * most pages.
 */
async function measureButtons(page: Page, seen: Set<string>): Promise<Contrasts[]> {
  const within = (await page.locator(opened).count()) > 0 ? opened : "body";
  const buttons = page.locator(within).locator("button:enabled:not(.skip):visible");
  const handles = await buttons.elementHandles();
  const looks = await page.evaluate(looksOf, handles);
  const measured: Contrasts[] = [];
  for (const [at, handle] of handles.entries()) {
    const style = `${within} | ${looks[at]}`;
    if (seen.has(style)) continue;
    seen.add(style);
    measured.push(await contrastsOf(page, handle));
  }
  return measured;
}

inBrowser(
  "the buttons of each view and dialog can be read under the mouse, in light and in dark colours",
  async () => {
    await using node = await livelyNode();
    const t = await textsOf("en");
    const pale: Record<string, Contrasts[]> = {};
    await using tab = await openConsole(node, { token: undefined });
    const { page } = tab;
    const seen = { light: new Set<string>(), dark: new Set<string>() };
    const measureBoth = async (name: string) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const found = tooPale(await measureButtons(page, seen[colorScheme]));
        if (found.length > 0) pale[`${name}, ${colorScheme}`] = found;
      }
    };
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await measureBoth("sign-in");
    await signIn(page, node.superToken);
    for (const view of views) {
      await openView(page, view);
      await measureBoth(view.at);
      await inEachDialog(page, view, t, measureBoth);
    }
    expect(pale).toEqual({});
    expect(seen.dark.size).toBeGreaterThan(20);
  },
  600_000,
);
