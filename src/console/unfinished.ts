/** Work that ends with the session: what it is, or undefined while there is none. Pages add theirs when they are first shown. */
const askers: (() => string | undefined)[] = [];

/** `what` answers in words, such as "uploads are under way". */
export function mayBeUnfinished(what: () => string | undefined): void {
  askers.push(what);
}

/** All that would be lost now. */
export function unfinished(): string[] {
  return askers.map((what) => what()).filter((words) => words !== undefined);
}

// The browser asks before the tab is closed, in its own words.
addEventListener("beforeunload", (event) => {
  if (unfinished().length > 0) event.preventDefault();
});
