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

/** Row that a key moves to; undefined for other keys. */
export function rowForKey(key: string, row: number, count: number, page: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: row + 1,
    ArrowUp: row === -1 ? 0 : row - 1,
    PageDown: row + page,
    PageUp: row - page,
    Home: 0,
    End: count - 1,
  };
  const wanted = Object.hasOwn(steps, key) ? steps[key] : undefined;
  return wanted === undefined || count === 0 ? undefined : Math.min(Math.max(wanted, 0), count - 1);
}
