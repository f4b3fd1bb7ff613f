import type { Locator, Page } from "playwright-core";

/** Function that runs in the page, for which this program has no types. */
export function inPage<T>(param: string, body: string): (value: unknown) => T {
  return new Function(param, body) as (value: unknown) => T;
}

/**
 * Contrast of an element's text or icon with its background, by WCAG 2.2: 1 is invisible, 4.5 is enough. Transparent colours are
 * mixed with the background.
 */
const contrastOf = inPage<number>(
  "element",
  `
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
`,
);

export interface Contrasts {
  readonly name: string;
  readonly rest: number;
  readonly hover: number;
  readonly pressed: number;
}

/** Contrast of a button at rest, on hover and while pressed. It is not clicked. */
export async function contrastsOf(page: Page, button: Locator): Promise<Contrasts> {
  const name = `${await button.getAttribute("class")}: ${(await button.getAttribute("aria-label")) ?? (await button.textContent())}`;
  const measure = () => button.evaluate(contrastOf);
  await button.scrollIntoViewIfNeeded();
  await page.mouse.move(0, 0);
  const rest = await measure();
  await button.hover();
  const hover = await measure();
  await page.mouse.down();
  const pressed = await measure();
  // Releasing elsewhere makes no click.
  await page.mouse.move(0, 0);
  await page.mouse.up();
  return { name, rest, hover, pressed };
}
