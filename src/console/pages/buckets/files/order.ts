import type { Entry } from "./entry.ts";

export type SortKey = "name" | "size" | "changed";

export interface Order {
  readonly sort: SortKey;
  /** From Z to A, from large to small, from new to old. */
  readonly down: boolean;
}

export function isSortKey(text: string): text is SortKey {
  return text === "name" || text === "size" || text === "changed";
}

/** `page 2` before `page 10`. */
const { compare } = new Intl.Collator("en", { numeric: true });

/** Folders first; those that are equal go by name. */
export function sorted(entries: readonly Entry[], { sort, down }: Order): Entry[] {
  const sign = down ? -1 : 1;
  const byName = (a: Entry, b: Entry) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
  const value = sort === "size" ? ({ size }: Entry) => size ?? 0 : ({ changed }: Entry) => changed;
  return [...entries].sort((a, b) => {
    if (a.folder !== b.folder) return a.folder ? -1 : 1;
    if (sort === "name") return sign * byName(a, b);
    return sign * (value(a) - value(b)) || byName(a, b);
  });
}

/** Those whose name holds the text, in whichever case and Unicode form. */
export function filtered(entries: readonly Entry[], text: string): readonly Entry[] {
  if (text === "") return entries;
  const wanted = plain(text);
  return entries.filter(({ name }) => plain(name).includes(wanted));
}

function plain(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
