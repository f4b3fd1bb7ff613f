/** Selected rows of a list and its cursor. Rows are identified by name, so a selection survives sorting and reloading. */
export interface Selection {
  readonly chosen: ReadonlySet<string>;
  /** Row of the keyboard cursor. */
  readonly active: string | undefined;
  /** Row where a range starts. */
  readonly anchor: string | undefined;
}

export const emptySelection: Selection = { chosen: new Set(), active: undefined, anchor: undefined };

export function selectOnly(name: string): Selection {
  return { chosen: new Set([name]), active: name, anchor: name };
}

/** Moves the cursor and keeps the selected rows. */
export function withActive(selection: Selection, name: string): Selection {
  return { ...selection, active: name, anchor: name };
}

export function toggled(selection: Selection, name: string): Selection {
  const chosen = new Set(selection.chosen);
  if (!chosen.delete(name)) chosen.add(name);
  return { chosen, active: name, anchor: name };
}

/** Selects the rows between the anchor and `name`, in either direction, instead of the previous ones. */
export function rangeTo(selection: Selection, name: string, names: readonly string[]): Selection {
  const to = names.indexOf(name);
  const from = selection.anchor === undefined ? -1 : names.indexOf(selection.anchor);
  if (from === -1) return selectOnly(name);
  const range = names.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { chosen: new Set(range), active: name, anchor: selection.anchor };
}

export function selectAll(selection: Selection, names: readonly string[]): Selection {
  return { ...selection, chosen: new Set(names) };
}

/** Removes rows that are not in the list. */
export function restrictTo(selection: Selection, names: readonly string[]): Selection {
  const there = new Set(names);
  const present = (name: string | undefined) => (name !== undefined && there.has(name) ? name : undefined);
  return {
    chosen: new Set([...selection.chosen].filter((name) => there.has(name))),
    active: present(selection.active),
    anchor: present(selection.anchor),
  };
}

interface ListShape {
  readonly count: number;
  /** Lines that a page key moves by. */
  readonly page: number;
  /** Entries in a line. Default: 1, a list without left and right. */
  readonly columns?: number;
}

/** Entry that a key moves to from entry `at`, or from -1 before the first; undefined for other keys. */
export function entryForKey(
  key: string,
  at: number,
  { count, page, columns = 1 }: ListShape,
): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
  };
  if (count === 0) return undefined;
  const last = count - 1;
  const within = (index: number) => Math.min(Math.max(index, 0), last);
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (columns > 1 && key === "ArrowRight") return within(at + 1);
  if (columns > 1 && key === "ArrowLeft") return within(at - 1);
  const lines = Object.hasOwn(steps, key) ? steps[key] : undefined;
  if (lines === undefined) return undefined;
  if (at === -1) return within(lines - 1);
  // In a grid the column is kept; below a gap in the last line is its last entry.
  const line = Math.floor(at / columns);
  const target = Math.min(Math.max(line + lines, 0), Math.floor(last / columns));
  return within(target * columns + (at % columns));
}
