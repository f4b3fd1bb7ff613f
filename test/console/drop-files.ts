import type { Page } from "playwright-core";

export interface DropPoint {
  readonly x: number;
  readonly y: number;
}

/**
 * Drops local files or folders onto a point of the page, like a person from a file manager. Under a hand that rests, browsers go on sending
 * `dragover`: the first one after the element at the point was replaced only says `dragenter`, which allows no drop.
 */
export async function dropFiles(page: Page, { x, y }: DropPoint, ...files: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "dragOver", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x, y, data });
  await session.detach();
}
