import { signal } from "@preact/signals";
import { carryOver } from "./kept-token.ts";

/** Where in the console: the part after `#`, such as `#/buckets/site?path=img`. It never reaches a server. */
export interface Route {
  readonly page: string;
  /** What follows the page's name, decoded. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  carryOver();
  route.value = parse(location.hash);
});

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/").map(decode);
  return { page, rest, query: new URLSearchParams(query) };
}

/** The address of a place in the console, for links. */
export function linkTo(
  page: string,
  rest: readonly string[] = [],
  query: Record<string, string> = {},
): string {
  const path = [page, ...rest].map(encodeURIComponent).join("/");
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${path}${search === "" ? "" : `?${search}`}`;
}

export function go(link: string): void {
  location.hash = link;
}

/** The same place with other words behind the `?`, without a step of its own in the history. */
export function amend(query: Record<string, string>): void {
  const { page, rest } = route.value;
  history.replaceState(history.state, "", linkTo(page, rest, query));
  route.value = parse(location.hash);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A hand-written address; it leads to no page then.
    return text;
  }
}
