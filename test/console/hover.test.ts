import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { inBrowser, openConsole, shoot, signIn, testNode } from "./browser.ts";
import { type Contrasts, contrastsOf, inPage } from "./contrast.ts";

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

/** Enabled buttons, one of each style: 200 rows have the same ones. */
async function measureButtons(page: Page): Promise<Contrasts[]> {
  const within = (await page.getByRole("dialog").count()) > 0 ? "dialog[open]" : "body";
  const buttons = page.locator(within).locator("button:enabled:not(.skip):visible");
  const handles = await buttons.elementHandles();
  const looks = await page.evaluate(looksOf, handles);
  const measured: Contrasts[] = [];
  for (const [at, handle] of handles.entries())
    if (looks.indexOf(looks[at] ?? "") === at) measured.push(await contrastsOf(page, handle));
  return measured;
}

/** Pages, with a text that is visible once the page has loaded. */
const pages: ReadonlyArray<readonly [at: string, arrived: string]> = [
  ["/overview", "Super Token"],
  ["/logs", "Export"],
  ["/buckets", "Copy URL"],
  ["/buckets/site", "a.txt"],
  ["/buckets/site?file=a.txt", "Edit"],
  ["/sql", "token"],
  ["/config", "finds nothing wrong"],
  ["/tokens", "Rotate secret"],
  ["/tokens/new", "New token"],
  ["/update", "Update"],
  ["/api/node-server_hello", "Send"],
];

inBrowser(
  "the buttons of each page can be read under the mouse, in light and in dark colours",
  async () => {
    await using node = await testNode();
    const token = node.superToken;
    await node.call("static-bucket_create", { token, name: "site" });
    await node.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "a" });
    const pale: Record<string, Contrasts[]> = {};
    const measureBoth = async (page: Page, at: string) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const measured = await measureButtons(page);
        expect([at, colorScheme, measured.length > 0]).toEqual([at, colorScheme, true]);
        pale[`${at}, ${colorScheme}`] = tooPale(measured);
      }
    };
    await using tab = await openConsole(node, { token: undefined });
    const { page } = tab;
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await measureBoth(page, "sign-in");
    await signIn(page, token);
    for (const [at, arrived] of pages) {
      await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
      await page.getByText(arrived).first().waitFor();
      await measureBoth(page, at);
    }
    expect(Object.entries(pale).filter(([, found]) => found.length > 0)).toEqual([]);
  },
  180_000,
);
