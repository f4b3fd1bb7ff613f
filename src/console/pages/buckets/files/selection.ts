/** What of a list is chosen, and where its cursor is. By name, so that it outlives another order and a reload. */
export interface Selection {
  readonly chosen: ReadonlySet<string>;
  /** The row that keys act on. */
  readonly active: string | undefined;
  /** Where a range begins. */
  readonly anchor: string | undefined;
}

export const nothing: Selection = { chosen: new Set(), active: undefined, anchor: undefined };

/** Just this one. */
export function only(name: string): Selection {
  return { chosen: new Set([name]), active: name, anchor: name };
}

/** The cursor alone; what is chosen stays. */
export function at(selection: Selection, name: string): Selection {
  return { ...selection, active: name, anchor: name };
}

export function toggled(selection: Selection, name: string): Selection {
  const chosen = new Set(selection.chosen);
  if (!chosen.delete(name)) chosen.add(name);
  return { chosen, active: name, anchor: name };
}

/** From the anchor to here, whichever comes first, in place of what was chosen. */
export function rangeTo(selection: Selection, name: string, names: readonly string[]): Selection {
  const to = names.indexOf(name);
  const from = selection.anchor === undefined ? -1 : names.indexOf(selection.anchor);
  if (from === -1) return only(name);
  const range = names.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { chosen: new Set(range), active: name, anchor: selection.anchor };
}

export function all(selection: Selection, names: readonly string[]): Selection {
  return { ...selection, chosen: new Set(names) };
}

/** Without those that are not in the list, or no longer. */
export function within(selection: Selection, names: readonly string[]): Selection {
  const there = new Set(names);
  const kept = (name: string | undefined) => (name !== undefined && there.has(name) ? name : undefined);
  return {
    chosen: new Set([...selection.chosen].filter((name) => there.has(name))),
    active: kept(selection.active),
    anchor: kept(selection.anchor),
  };
}

/** Which row a key leads to; undefined for keys that lead nowhere. */
export function rowAfter(key: string, row: number, count: number, page: number): number | undefined {
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
