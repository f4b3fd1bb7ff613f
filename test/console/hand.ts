import type { Locator, Page } from "playwright-core";
import { type DropPoint, dropFiles } from "./drop-files.ts";
import { eventually } from "./eventually.ts";

/** What a job took. Zeros are left out, so that an expectation names what was done. */
export interface Effort {
  readonly clicks?: number;
  readonly keys?: number;
  readonly texts?: number;
  readonly drops?: number;
}

type Modifier = "Control" | "Shift";

/**
 * Hand does on a page what a person does with mouse and keyboard, and counts it: clicks (a double click is two), keys or shortcuts,
 * texts typed or pasted, and drops. A text goes where the focus is: a field that the page does not focus by itself has to be clicked
 * first, and that click counts.
 */
export class Hand {
  readonly page: Page;
  readonly #done = { clicks: 0, keys: 0, texts: 0, drops: 0 };

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator, ...modifiers: Modifier[]): Promise<void> {
    this.#done.clicks += 1;
    await target.click({ modifiers });
  }

  async doubleClick(target: Locator): Promise<void> {
    this.#done.clicks += 2;
    await target.dblclick();
  }

  async rightClick(target: Locator): Promise<void> {
    this.#done.clicks += 1;
    await target.click({ button: "right" });
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.#done.keys += 1;
      await this.page.keyboard.press(key);
    }
  }

  /** Types into a field that has the focus, and replaces what is selected in it. */
  async type(field: Locator, text: string): Promise<void> {
    this.#done.texts += 1;
    await focusIn(field);
    await this.page.keyboard.type(text);
  }

  /** Pastes into a field that has the focus. */
  async paste(field: Locator, text: string): Promise<void> {
    this.#done.texts += 1;
    await focusIn(field);
    await this.page.keyboard.insertText(text);
  }

  /** Drops local files or folders onto the middle of an element. */
  async drop(target: Locator, ...files: string[]): Promise<void> {
    this.#done.drops += 1;
    await dropFiles(this.page, await middleOf(target), ...files);
  }

  /** Drags one element onto another. */
  async drag(from: Locator, to: Locator): Promise<void> {
    this.#done.drops += 1;
    const [start, end] = [await middleOf(from), await middleOf(to)];
    await this.page.mouse.move(start.x, start.y);
    await this.page.mouse.down();
    await this.page.mouse.move(end.x, end.y, { steps: 5 });
    // A person lets go when the page says what dropping does.
    await this.page.locator(".files-drop").waitFor();
    await this.page.mouse.up();
  }

  /** What was done since the last call. */
  effort(): Effort {
    const done = Object.entries(this.#done).filter(([, count]) => count > 0);
    Object.assign(this.#done, { clicks: 0, keys: 0, texts: 0, drops: 0 });
    return Object.fromEntries(done);
  }
}

/** Waits until a field has the focus. */
async function focusIn(field: Locator): Promise<void> {
  await field.waitFor();
  const hasFocus = new Function("element", "return element.matches(':focus-within')");
  await eventually(`${String(field)} has the focus`, () => field.evaluate(hasFocus as () => boolean));
}

async function middleOf(target: Locator): Promise<DropPoint> {
  const box = await target.boundingBox();
  if (box === null) throw new Error(`${String(target)} is not shown`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** The link of a page in the menu. */
export function menuLink(page: Page, name: string): Locator {
  return page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
}
