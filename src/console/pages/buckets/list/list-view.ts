import { replaceQuery, route } from "../../../route.ts";
import type { BucketRecord } from "../bucket-access.ts";

const sortKeys = ["name", "files", "size", "changed"] as const;
export type ListSort = (typeof sortKeys)[number];

/** Search and order of the list of buckets, as the query of the address holds them. */
export interface ListView {
  readonly find: string;
  readonly sort: ListSort;
  /** Descending: Z to A, large to small, new to old. */
  readonly down: boolean;
}

export function currentListView(): ListView {
  const { query } = route.value;
  const sort = sortKeys.find((key) => key === query.get("sort")) ?? "name";
  return { find: query.get("find") ?? "", sort, down: query.get("order") === "down" };
}

/** Changes the view without a new history entry. */
export function updateListView(change: Partial<ListView>): void {
  const { find, sort, down } = { ...currentListView(), ...change };
  replaceQuery({ find, sort: sort === "name" ? "" : sort, order: down ? "down" : "" });
}

/** Sorts by a column; a second time the other way round. Numbers start with the largest. */
export function sortBy(sort: ListSort): void {
  const now = currentListView();
  updateListView({ sort, down: now.sort === sort ? !now.down : sort !== "name" });
}

/** Natural order: `site-2` before `site-10`. */
const { compare } = new Intl.Collator("en", { numeric: true });

/** Buckets whose name or host name contains the text, in the order of the view. */
export function arranged(records: readonly BucketRecord[], { find, sort, down }: ListView): BucketRecord[] {
  const wanted = find.trim().toLowerCase();
  const found = records.filter(({ name, bucket }) =>
    [name, ...(bucket?.hosts ?? [])].some((text) => text.toLowerCase().includes(wanted)),
  );
  const sign = down ? -1 : 1;
  return found.sort((a, b) => {
    const byName = compare(a.name, b.name);
    return sort === "name" ? sign * byName : sign * (countOf(a, sort) - countOf(b, sort)) || byName;
  });
}

/** countOf returns the value to sort by; unknown counts sort below zero. */
function countOf({ usage }: BucketRecord, sort: Exclude<ListSort, "name">): number {
  if (sort === "changed") return usage?.newest ?? -1;
  return (sort === "files" ? usage?.files : usage?.bytes) ?? -1;
}
