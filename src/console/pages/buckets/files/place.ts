import { closeTo, linkTo, type Route, replaceQuery, route } from "../../../route.ts";
import { namesIn } from "../path.ts";
import { isSortKey, type Order } from "./order.ts";

/** Where in a bucket, and how it is looked at: what the address holds behind the `?`. */
export interface Place extends Order {
  /** The folder. */
  readonly path: string;
  /** The file in it that is open, or nothing. */
  readonly file: string;
  readonly filter: string;
}

export function currentPlace(): Place {
  return placeIn(route.value);
}

function placeIn({ query }: Route): Place {
  const text = (key: string) => query.get(key) ?? "";
  const sort = text("sort");
  return {
    path: namesIn(text("path")).filter(isName).join("/"),
    file: text("file"),
    filter: text("filter"),
    sort: isSortKey(sort) ? sort : "name",
    down: text("order") === "down",
  };
}

/** Dots that somebody wrote into an address would lead out of the bucket. */
function isName(name: string): boolean {
  return name !== "." && name !== "..";
}

/** Another folder or file, in the same order. */
export function linkToPlace(bucket: string, path: string, file = ""): string {
  return linkTo("buckets", [bucket], toQuery({ ...currentPlace(), path, file, filter: "" }));
}

/** The same step in the history, looked at differently. */
export function amendPlace(change: Partial<Place>): void {
  replaceQuery(toQuery({ ...currentPlace(), ...change }));
}

/** Closes the file that is open, and shows its folder as it was. */
export function closeFile(): void {
  const place = currentPlace();
  closeTo(toQuery({ ...place, file: "" }), (before) => {
    const { file, path } = placeIn(before);
    return file === "" && path === place.path;
  });
}

function toQuery({ path, file, filter, sort, down }: Place): Record<string, string> {
  return { path, file, filter, sort: sort === "name" ? "" : sort, order: down ? "down" : "" };
}
