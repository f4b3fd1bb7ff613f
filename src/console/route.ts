import { signal } from "@preact/signals";
import { firstHash } from "./session/token-storage.ts";

/** Parsed fragment of the address, such as `#/buckets/site?path=img`. Browsers never send it to a server. */
export interface Route {
  readonly page: string;
  /** Decoded path segments after the page's name. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parse(firstHash));

/** Fragment of `route`. `location.hash` is ahead of it while the person is asked whether to leave. */
let current = firstHash;
/** Asks whether the current route may be left; returns undefined when there is nothing to lose. */
let guard: (() => Promise<boolean> | undefined) | undefined;
let isAsking = false;
let isGoingBack = false;
let isRevisited = false;

// Marks the first history entry, so that returning to it does not look like a new entry.
if (history.state === null) history.replaceState({}, "");

window.addEventListener("hashchange", ({ oldURL }) => {
  // A new history entry has no state; an entry with a state was visited before.
  const isNew = history.state === null;
  if (isNew) history.replaceState({ cameFrom: new URL(oldURL).hash }, "");
  isGoingBack = false;
  isRevisited = !isNew;
  if (location.hash !== current) void follow(isNew);
});

/** Shows the route of the address, after asking when unsaved work would be lost. */
async function follow(isNew: boolean): Promise<void> {
  if (isAsking) return;
  const asked = guard?.();
  if (asked !== undefined) {
    isAsking = true;
    const mayGo = await asked.finally(() => {
      isAsking = false;
    });
    if (!mayGo) {
      // Undo the navigation: remove a new entry, or add the entry that was left by going back.
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

/** Calls `ask` before another route is shown. Returns a function that removes the guard. There is one guard at a time. */
export function guardLeaving(ask: () => Promise<boolean> | undefined): () => void {
  guard = ask;
  return () => {
    if (guard === ask) guard = undefined;
  };
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/").map(decode);
  return { page, rest, query: new URLSearchParams(query) };
}

/** Link to a route of the console. */
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

/** Goes to another route in place of the current one, without a history entry of its own. */
export function replaceRoute(link: string): void {
  history.replaceState(history.state, "", link);
  show();
}

/** Whether the person came to the current history entry by going back or forward. */
export function cameBack(): boolean {
  return isRevisited;
}

/** Replaces the query of the current route without a new history entry. */
export function replaceQuery(query: Record<string, string>): void {
  const { page, rest } = route.value;
  replaceRoute(linkTo(page, rest, query));
}

/** Changes a part of the query of the current route in the same way. */
export function changeQuery(part: Record<string, string>): void {
  replaceQuery({ ...Object.fromEntries(route.value.query), ...part });
}

/**
 * Closes something that has a route of its own, such as a preview. Goes back when the previous history entry is what lies below
 * it (`isBelow`), so that the history gets no second entry of it. Otherwise, as after a link from elsewhere, replaces the query.
 */
export function closeTo(query: Record<string, string>, isBelow: (before: Route) => boolean): void {
  // The step back of an earlier call has not arrived yet.
  if (isGoingBack) return;
  const { page, rest } = route.value;
  const before = cameFrom();
  const isSame = before?.page === page && before.rest.join("/") === rest.join("/");
  if (before === undefined || !isSame || !isBelow(before)) replaceQuery(query);
  else {
    isGoingBack = true;
    history.back();
  }
}

/** Route from which the current history entry was opened. */
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
    // Malformed percent-encoding in a hand-written address; no page has that name.
    return text;
  }
}
