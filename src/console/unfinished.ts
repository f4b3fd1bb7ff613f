import { confirm } from "./ui/dialog.tsx";

/** Work that ends with the session: what it is, or undefined while there is none. Pages add theirs when they are first shown. */
const askers: (() => string | undefined)[] = [];
/** The same for what is too small to ask about, and still no reason to reload the page unasked. */
const silentAskers: (() => boolean)[] = [];

/** `what` answers in words, such as "uploads are under way". */
export function mayBeUnfinished(what: () => string | undefined): void {
  askers.push(what);
}

/** `is` answers whether a reload would lose something that nobody is asked about when they leave. */
export function mayBeLostByReload(is: () => boolean): void {
  silentAskers.push(is);
}

/** Whether the tab holds nothing that a reload would lose. */
export function mayReload(): boolean {
  return unfinished().length === 0 && !silentAskers.some((is) => is());
}

/** All that would be lost now. */
function unfinished(): string[] {
  return askers.map((what) => what()).filter((words) => words !== undefined);
}

/** Whether one may go on: there is nothing to lose, or the person says so. */
export async function mayLeave(title: string, action: string): Promise<boolean> {
  const lost = unfinished();
  const text = `You would lose what is not finished: ${lost.join(", ")}.`;
  return lost.length === 0 || confirm({ title, text, action, danger: true });
}

// The browser asks before the tab is closed, in its own words.
addEventListener("beforeunload", (event) => {
  if (unfinished().length > 0) event.preventDefault();
});
