import { t } from "../../../text/text.ts";
import { commonFolder, join, nameOf, parentOf, pathProblem, sameName, splitPath } from "../path.ts";
import type { Incoming } from "../uploads/drop.ts";

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

/** Entries that are moved or copied into a folder. */
export interface Transfer {
  readonly kind: "move" | "copy";
  /** Folder of the entries. Names of results of a search are paths below it. */
  readonly path: string;
  readonly entries: readonly Pick<Entry, "name" | "folder">[];
}

/** What happens to an entry whose name exists at the destination: it is left out, replaces the other, or gets another name. */
export type OnConflict = "skip" | "replace" | "both";

/** Move or copy of one entry. */
export interface Step {
  readonly from: string;
  readonly to: string;
  /** Whether it may replace what is at `to`. */
  readonly replaces: boolean;
}

/** Reason why the entries cannot go into a folder, or undefined. It contains a name as it is. */
export function transferProblem({ kind, path, entries }: Transfer, into: string): string | undefined {
  if (kind === "move" && entries.every(({ name }) => folderOf(path, name) === into))
    return t.files.alreadyHere;
  const inside = entries.find(({ name, folder }) => folder && isWithin(into, join(path, name)));
  if (inside === undefined) return undefined;
  return kind === "move" ? t.files.intoItself(inside.name) : t.files.copyIntoItself(inside.name);
}

/** Folder that an entry is in. */
function folderOf(path: string, name: string): string {
  return parentOf(join(path, name));
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Names of the entries that exist at the destination. Copies beside the originals get new names, so none is in the way. */
export function conflictsOf({ path, entries }: Transfer, into: string, taken: readonly string[]): string[] {
  const there = new Set(taken.map(normalized));
  return entries
    .filter(({ name }) => folderOf(path, name) !== into)
    .map(({ name }) => nameOf(name))
    .filter((name) => there.has(normalized(name)));
}

/** Steps of a transfer into a folder that contains the names `taken`. */
export function stepsOf(
  { kind, path, entries }: Transfer,
  into: string,
  { taken, onConflict }: { readonly taken: readonly string[]; readonly onConflict: OnConflict },
): Step[] {
  const used = new Set(taken.map(normalized));
  /** Names that earlier steps make: entries of two folders can have the same one, and both are wanted. */
  const made = new Set<string>();
  const steps: Step[] = [];
  for (const { name: relative, folder } of entries) {
    const name = nameOf(relative);
    const isThere = folderOf(path, relative) === into;
    if (isThere && kind === "move") continue;
    const wanted = isThere || made.has(normalized(name)) ? "both" : onConflict;
    const isTaken = used.has(normalized(name));
    if (isTaken && wanted === "skip") continue;
    const target = isTaken && wanted === "both" ? copyName(name, { folder, used }) : name;
    used.add(normalized(target));
    made.add(normalized(target));
    const replaces = isTaken && wanted === "replace";
    steps.push({ from: join(path, relative), to: join(into, target), replaces });
  }
  return steps;
}

/**
 * First free name of a copy: `a copy.txt`, `a copy 2.txt`. The word is English in every language, because names of files are
 * parts of addresses. A copy of a copy counts on, and `.tar.gz` stays together.
 */
export function copyName(
  name: string,
  { folder, used }: { readonly folder: boolean; readonly used: ReadonlySet<string> },
): string {
  const extension = folder ? "" : (/(?<=.)(\.tar)?\.[^.]+$/.exec(name)?.[0] ?? "");
  const stem = name.slice(0, name.length - extension.length).replace(/ copy( \d+)?$/, "");
  for (let count = 1; ; count += 1) {
    const free = `${stem} copy${count === 1 ? "" : ` ${count}`}${extension}`;
    if (!used.has(normalized(free))) return free;
  }
}

/** The server finds a name in either Unicode form. */
function normalized(name: string): string {
  return name.normalize("NFC");
}

/** Effect of an upload on the bucket. */
export interface Plan<F = File> {
  /** New files, with their paths in the bucket. */
  readonly fresh: readonly Incoming<F>[];
  /** Files whose names exist already. */
  readonly replacing: readonly Incoming<F>[];
  /** Folders to create, parents first. */
  readonly missing: ReadonlySet<string>;
}

type List = (folder: string) => Promise<readonly Pick<Entry, "name" | "folder">[]>;

/** Plans an upload. Lists each target folder once, and none below a missing one. */
export async function planUpload<F>(
  into: string,
  files: readonly Incoming<F>[],
  emptyFolders: readonly string[],
  list: List,
): Promise<Plan<F>> {
  const missing = new Set<string>();
  const known = new Map<string, readonly Pick<Entry, "name" | "folder">[]>();
  const namesOf = async (folder: string) => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const now = missing.has(folder) ? [] : await list(folder);
    known.set(folder, now);
    return now;
  };
  const listTarget = async (folder: string) => {
    let path = into;
    for (const name of splitPath(folder)) {
      const parent = path;
      path = join(parent, name);
      if (known.has(path) || missing.has(path)) continue;
      const there = (await namesOf(parent)).find((entry) => sameName(entry.name, name));
      if (there === undefined) missing.add(path);
      // A file has that name; the server will refuse uploads below it.
      else if (!there.folder) known.set(path, []);
    }
    return namesOf(path);
  };
  const fresh: Incoming<F>[] = [];
  const replacing: Incoming<F>[] = [];
  for (const { path, file } of files) {
    const names = await listTarget(parentOf(path));
    const there = names.some(({ name }) => sameName(name, nameOf(path)));
    (there ? replacing : fresh).push({ path: join(into, path), file });
  }
  for (const folder of emptyFolders) await listTarget(folder);
  return { fresh, replacing, missing };
}

/** Move between two paths of the bucket. */
interface Move {
  readonly from: string;
  readonly to: string;
}

/** Problem with a typed path for something that is at `from` now, or undefined. */
export function renameProblem(from: string, target: string): string | undefined {
  const fault = pathProblem(target);
  if (fault !== undefined) return fault;
  return target.startsWith(`${from}/`) ? t.files.intoItself(from) : undefined;
}

interface MovePlan {
  /** Name at the target that would be replaced. */
  readonly replacing: string | undefined;
  /** Folders to create, parents first. */
  readonly missing: readonly string[];
}

/** Plans a move from the folder `path`, which exists. Never lists a folder that may be missing. */
export async function planMove(path: string, { from, to }: Move, list: List): Promise<MovePlan> {
  const into = commonFolder(path, parentOf(to));
  const below = into === "" ? to : to.slice(into.length + 1);
  const plan = await planUpload(into, [{ path: below, file: undefined }], [], list);
  // Changing only the Unicode form of a file's own name replaces nothing.
  const replaces = plan.replacing.length > 0 && !sameName(from, to);
  return { replacing: replaces ? nameOf(to) : undefined, missing: [...plan.missing] };
}
