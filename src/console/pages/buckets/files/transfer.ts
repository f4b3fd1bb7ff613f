import { t } from "../../../text/text.ts";
import { join, nameOf, parentOf } from "../path.ts";
import type { Entry } from "./entries.ts";

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
