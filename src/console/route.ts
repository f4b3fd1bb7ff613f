import { signal } from "@preact/signals";
import { firstHash } from "./kept-token.ts";

/** Where in the console: the part after `#`, such as `#/buckets/site?path=img`. It never reaches a server. */
export interface Route {
  readonly page: string;
  /** What follows the page's name, decoded. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parse(firstHash));

/** The address of `route`. The browser's own is ahead of it while somebody is asked whether to leave. */
let current = firstHash;
/** Asks whether this place may be left; undefined while there is nothing to lose. */
let guard: (() => Promise<boolean> | undefined) | undefined;
let isAsking = false;
let isGoingBack = false;

// The entry that the console began with is no new one when it is come back to.
if (history.state === null) history.replaceState({}, "");

window.addEventListener("hashchange", ({ oldURL }) => {
  // A new entry of the history begins without a state; others are come back to.
  const isNew = history.state === null;
  if (isNew) history.replaceState({ cameFrom: new URL(oldURL).hash }, "");
  isGoingBack = false;
  if (location.hash !== current) void follow(isNew);
});

/** Shows what the address names, after asking where something would be lost. */
async function follow(isNew: boolean): Promise<void> {
  if (isAsking) return;
  const asked = guard?.();
  if (asked !== undefined) {
    isAsking = true;
    const mayGo = await asked.finally(() => {
      isAsking = false;
    });
    if (!mayGo) {
      // Who came to a new entry returns from it; who went back gets the entry again that was left.
      if (isNew) history.back();
      else location.hash = current;
      return;
    }
  }
  show();
}

function show(): void {
  current = location.hash;
  route.value = parse(current);
}

/** Asks `ask` before the page shows another place, until the answer of this is called. There is one guard at a time. */
export function guardLeaving(ask: () => Promise<boolean> | undefined): () => void {
  guard = ask;
  return () => {
    if (guard === ask) guard = undefined;
  };
}

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
  show();
}

/**
 * Leaves what was opened above a place: one step back where that place is the entry before, so that no second entry of it is
 * left in the history; otherwise, as after a link from elsewhere, the address is changed in its own entry.
 */
export function closeTo(query: Record<string, string>, isBelow: (before: Route) => boolean): void {
  // The step back that a call before this one took has not arrived yet.
  if (isGoingBack) return;
  const { page, rest } = route.value;
  const before = cameFrom();
  const isSame = before?.page === page && before.rest.join("/") === rest.join("/");
  if (before === undefined || !isSame || !isBelow(before)) amend(query);
  else {
    isGoingBack = true;
    history.back();
  }
}

/** Where this entry of the history was opened from. */
function cameFrom(): Route | undefined {
  const state: unknown = history.state;
  const from =
    typeof state === "object" && state !== null && "cameFrom" in state ? state.cameFrom : undefined;
  return typeof from === "string" ? parse(from) : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A hand-written address; it leads to no page then.
    return text;
  }
}
