import type { Page } from "playwright-core";

export interface DropPoint {
  readonly x: number;
  readonly y: number;
}

/** Attempts, of which each waits this long for the page to get the drop. */
const [attempts, patienceMs] = [5, 5000];

/**
 * Drops local files or folders onto a point of the page, like a person from a file manager. Under a hand that rests, browsers go on sending
 * `dragover`: the first one after the element at the point was replaced only says `dragenter`, which allows no drop. The page may
 * replace it at any moment, so a drop that it did not get is repeated.
 */
export async function dropFiles(page: Page, { x, y }: DropPoint, ...files: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  const before = await page.evaluate<number>(countDrops);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    for (const type of ["dragEnter", "dragOver", "dragOver", "dragOver", "drop"] as const)
      await session.send("Input.dispatchDragEvent", { type, x, y, data });
    const begun = performance.now();
    do {
      if ((await page.evaluate<number>(countDrops)) > before) return await session.detach();
      await Bun.sleep(40);
    } while (performance.now() - begun < patienceMs);
  }
  throw new Error(`the page got no drop at ${x}, ${y}, although it was tried ${attempts} times`);
}

/** The drops that the page got since this was first asked. */
const countDrops =
  "globalThis.dropsSeen ??= (addEventListener('drop', () => { globalThis.dropsSeen += 1; }, { capture: true }), 0)";
