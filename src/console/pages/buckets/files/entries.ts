import { parentOf } from "../path.ts";

/** File or folder in a listing. */
export interface Entry {
  /** Name in the folder of the listing; in results of a search, the path in the bucket. */
  readonly name: string;
  readonly folder: boolean;
  /** Size in bytes; undefined for a folder. */
  readonly size: number | undefined;
  /** Modification time in Unix milliseconds; undefined for a folder of which only the files are known. */
  readonly changed: number | undefined;
}

interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly mtime: number;
}

/** Direct children of a folder, from the paths of all files below it. */
export function entriesFrom(files: readonly ListedFile[], folder: string): Entry[] {
  const start = folder === "" ? 0 : folder.length + 1;
  const found = new Map<string, Entry>();
  for (const { path, size, mtime } of files) {
    const slash = path.indexOf("/", start);
    const name = path.slice(start, slash === -1 ? undefined : slash);
    const folder = slash !== -1;
    found.set(
      name,
      folder ? { name, folder, size: undefined, changed: undefined } : { name, folder, size, changed: mtime },
    );
  }
  return [...found.values()];
}

export type SortKey = "name" | "size" | "changed";

export interface Order {
  readonly sort: SortKey;
  /** Descending: Z to A, large to small, new to old. */
  readonly down: boolean;
}

export function isSortKey(text: string): text is SortKey {
  return text === "name" || text === "size" || text === "changed";
}

/** Natural order: `page 2` before `page 10`. */
const { compare } = new Intl.Collator("en", { numeric: true });

/** Sorts entries: folders first, ties by name. */
export function sorted(entries: readonly Entry[], { sort, down }: Order): Entry[] {
  const sign = down ? -1 : 1;
  const byName = (a: Entry, b: Entry) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
  const value = ({ size, changed }: Entry) => (sort === "size" ? size : changed) ?? 0;
  return [...entries].sort((a, b) => {
    if (a.folder !== b.folder) return a.folder ? -1 : 1;
    if (sort === "name") return sign * byName(a, b);
    return sign * (value(a) - value(b)) || byName(a, b);
  });
}

/** Entries whose name contains the text, in any case and Unicode form. */
export function filtered(entries: readonly Entry[], text: string): readonly Entry[] {
  if (text === "") return entries;
  const wanted = plain(text);
  return entries.filter(({ name }) => plain(name).includes(wanted));
}

function plain(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** Entries without those in a folder that is among them: a search finds both, and what is done to the folder is done to them. */
export function outermost(entries: readonly Entry[]): readonly Entry[] {
  const folders = new Set(entries.filter(({ folder }) => folder).map(({ name }) => name));
  const isInside = (path: string): boolean => {
    const parent = parentOf(path);
    return parent !== "" && (folders.has(parent) || isInside(parent));
  };
  return entries.filter(({ name }) => !isInside(name));
}
