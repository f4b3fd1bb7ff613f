/** Value of a cell for sorting. */
export type SortValue = string | number | null;

/** Order in which rows are shown. */
export interface Order {
  readonly column: string;
  readonly isDown: boolean;
}

/** Reads an order from the address: `name`, or `-name` for the other direction. */
export function parseOrder(text: string): Order {
  const isDown = text.startsWith("-");
  return { column: isDown ? text.slice(1) : text, isDown };
}

export function orderText({ column, isDown }: Order): string {
  return `${isDown ? "-" : ""}${column}`;
}

const texts = new Intl.Collator(undefined, { numeric: true });

/** compareValues orders two values: numbers before texts, `site-2` before `site-10`, and missing ones last in both directions. */
export function compareValues(one: SortValue, other: SortValue, isDown: boolean): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  const sign = isDown ? -1 : 1;
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  if (typeof one === "string" && typeof other === "string") return sign * texts.compare(one, other);
  return sign * (typeof one === "number" ? -1 : 1);
}

/** arrange returns rows in the order of a value. Equal rows stay as they were. */
export function arrange<T>(rows: readonly T[], sort: (row: T) => SortValue, isDown: boolean): T[] {
  return rows
    .map((row) => ({ row, value: sort(row) }))
    .sort((one, other) => compareValues(one.value, other.value, isDown))
    .map(({ row }) => row);
}

/** search returns the rows whose lower-case text contains every term of `find`. */
export function search<T>(rows: readonly T[], find: string, text: (row: T) => string): readonly T[] {
  const terms = find.toLowerCase().split(/\s+/);
  return find === "" ? rows : rows.filter((row) => terms.every((word) => text(row).includes(word)));
}
