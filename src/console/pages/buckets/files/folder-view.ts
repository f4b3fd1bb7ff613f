import { cameBack, closeTo, linkTo, type Route, replaceQuery, route } from "../../../route.ts";
import { splitPath } from "../path.ts";
import { isSortKey, type Order } from "./entries.ts";

/** Folder, open file, filter and order of the file list, as the query of the address holds them. */
export interface FolderView extends Order {
  readonly path: string;
  /** Open file in the folder, or an empty text. */
  readonly file: string;
  /** Entry that is selected at first, or an empty text. */
  readonly entry: string;
  readonly filter: string;
  /** The filter searches the whole bucket instead of this folder. */
  readonly everywhere: boolean;
}

export function currentView(): FolderView {
  return viewIn(route.value);
}

function viewIn({ query }: Route): FolderView {
  const text = (key: string) => query.get(key) ?? "";
  const sort = text("sort");
  return {
    path: splitPath(text("path")).filter(isName).join("/"),
    file: text("file"),
    entry: text("entry"),
    filter: text("filter"),
    everywhere: text("in") === "bucket",
    sort: isSortKey(sort) ? sort : "name",
    down: text("order") === "down",
  };
}

/** `.` and `..` in a hand-written address would lead out of the bucket. */
function isName(name: string): boolean {
  return name !== "." && name !== "..";
}

/** Link to another folder with the current order, and in it to an open file or a selected entry. */
export function linkToPath(
  bucket: string,
  path: string,
  { file = "", entry }: Partial<Pick<FolderView, "file" | "entry">> = {},
): string {
  const now = currentView();
  // Within the folder the list stays as it is.
  const shown = entry ?? (path === now.path ? now.entry : "");
  return linkTo(
    "buckets",
    [bucket],
    toQuery({ ...now, path, file, entry: shown, filter: "", everywhere: false }),
  );
}

/** Changes the view without a new history entry. */
export function updateView(change: Partial<FolderView>): void {
  replaceQuery(toQuery({ ...currentView(), ...change }));
}

/** Scroll positions of lists, by their addresses. */
const scrolled = new Map<string, number>();

/** Keeps how far the list at the current address is scrolled. */
export function keepScroll(top: number): void {
  scrolled.set(listAddress(), top);
}

/** savedScroll returns how far the list at the current address was scrolled, if the person has come back to it. */
export function savedScroll(): number | undefined {
  return cameBack() ? scrolled.get(listAddress()) : undefined;
}

/** The address without what is selected or open in the list. */
function listAddress(): string {
  const { page, rest } = route.value;
  return linkTo(page, rest, toQuery({ ...currentView(), file: "", entry: "" }));
}

/** Closes the open file and shows its folder as before. */
export function closeFile(): void {
  const view = currentView();
  closeTo(toQuery({ ...view, file: "" }), (before) => {
    const { file, path } = viewIn(before);
    return file === "" && path === view.path;
  });
}

function toQuery({ path, file, entry, filter, everywhere, sort, down }: FolderView): Record<string, string> {
  return {
    path,
    file,
    entry,
    filter,
    in: everywhere ? "bucket" : "",
    sort: sort === "name" ? "" : sort,
    order: down ? "down" : "",
  };
}
