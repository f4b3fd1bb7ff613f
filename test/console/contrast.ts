import type { ElementHandle, Page } from "playwright-core";
import { until } from "../support/until.ts";
import { isFirefox } from "./context-pool.ts";

/** Function that runs in the page, for which this program has no types. */
export function inPage<T>(param: string, body: string): (value: unknown) => T {
  return new Function(param, body) as (value: unknown) => T;
}

/**
 * Function that returns the contrast of an element's text or icon with its background, by WCAG 2.2: 1 is invisible, 4.5 is enough.
 * Transparent colours are mixed with the background. Runs in the page.
 */
const contrastSource = `(element) => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => {
    const mix = (key) => top[key] * top.a + below[key] * (1 - top.a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const luminance = ({ r, g, b }) => {
    const linear = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const layers = [];
  for (let at = element; at !== null; at = at.parentElement) {
    if (getComputedStyle(at).filter !== "none") throw new Error("a filter changes the colours of " + at.className);
    layers.unshift(parse(getComputedStyle(at).backgroundColor));
    if (layers[0].a === 1) break;
  }
  const ground = layers.reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  const text = over(parse(getComputedStyle(element).color), ground);
  const [light, dark] = [luminance(text), luminance(ground)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}`;

export interface Contrasts {
  readonly name: string;
  readonly rest: number;
  readonly hover: number;
  readonly pressed: number;
}

/** WCAG 2.2, level AA, for text of normal size. */
const enough = 4.5;

/** The buttons that somebody cannot read, at rest, on hover or while pressed. */
export function tooPale(measured: readonly Contrasts[]): Contrasts[] {
  return measured.filter(({ rest, hover, pressed }) => Math.min(rest, hover, pressed) < enough);
}

/** Brings a button into view and measures it. Runs in the page. */
const prepare = inPage<{
  readonly name: string;
  readonly rest: number;
  readonly x: number;
  readonly y: number;
}>(
  "button",
  `
  button.scrollIntoView({ block: "nearest", inline: "nearest" });
  const { x, y, width, height } = button.getBoundingClientRect();
  const name = button.className + ": " + (button.ariaLabel ?? button.textContent);
  return { name, rest: (${contrastSource})(button), x: x + width / 2, y: y + height / 2 };
`,
);

/** Measures a button that matches `state`; null where the mouse is not on it. Runs in the page. */
const contrastIn = (state: ":hover" | ":active") =>
  inPage<number | null>("button", `return button.matches("${state}") ? (${contrastSource})(button) : null;`);

const contrastOnHover = contrastIn(":hover");
const contrastWhilePressed = contrastIn(":active");

/**
 * Contrast of a button at rest, on hover and while pressed. It is not clicked. The mouse must be at 0, 0 before. A page that is still
 * loading may move the button away from under the mouse; then it is measured again.
 */
export function contrastsOf(page: Page, button: ElementHandle): Promise<Contrasts> {
  return until("the mouse is on the button", async () => {
    const { name, rest, x, y } = await button.evaluate(prepare);
    await page.mouse.move(x, y);
    const hover = await button.evaluate(contrastOnHover);
    await page.mouse.down();
    const pressed = await button.evaluate(contrastWhilePressed);
    // Releasing elsewhere makes no click.
    await page.mouse.move(0, 0);
    await page.mouse.up();
    // In Firefox a button that keeps the focus where it is (`preventDefault` of a press) does not become active.
    const measured = pressed ?? (isFirefox ? hover : null);
    return hover !== null && measured !== null && { name, rest, hover, pressed: measured };
  });
}
