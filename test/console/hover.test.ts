import { expect } from "bun:test";
import { inBrowser, openConsole, shoot, testNode } from "./browser.ts";
import { type Contrasts, contrastsOf, inPage, tooPale } from "./contrast.ts";

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
