import type { Token } from "../../../client/index.ts";
import { limitSummary } from "./limits.ts";
import { validityOf } from "./validity.ts";

/** A token with what the table computes once and not for every keystroke in the search. */
export interface ListedToken {
  readonly token: Token;
  /** The Super Token can be neither edited nor deleted. */
  readonly isSuper: boolean;
  /** What it may do, one line a limit. */
  readonly rights: readonly string[];
  /** Lower-case text that the search looks in. */
  readonly text: string;
}

/** Prepares tokens, in the server's order. `everything` says what the Super Token may do. */
export function toListed(tokens: readonly Token[], everything: string): ListedToken[] {
  return tokens.map((token) => {
    const { token_key, name, username, created_by, token_limit } = token;
    const isSuper = token.super === true;
    const rights = isSuper ? [everything] : limitSummary(token_limit);
    const text = [token_key, name ?? "", username ?? "", created_by ?? "", ...rights].join(" ").toLowerCase();
    return { token, isSuper, rights, text };
  });
}

export const states = ["all", "expired", "unused"] as const;
/** State selects the tokens that are shown. */
export type State = (typeof states)[number];

export const columns = ["name", "username", "key", "rights", "created", "used", "expires"] as const;
export type Column = (typeof columns)[number];

export interface TableQuery {
  readonly find: string;
  readonly state: State;
  readonly column: Column | undefined;
  readonly isDescending: boolean;
}

/** parseTableQuery reads the table's filter and order from the query of the address. */
export function parseTableQuery(query: URLSearchParams): TableQuery {
  const sort = query.get("sort") ?? "";
  const isDescending = sort.startsWith("-");
  const named = isDescending ? sort.slice(1) : sort;
  return {
    find: query.get("find") ?? "",
    state: states.find((one) => one === query.get("state")) ?? "all",
    column: columns.find((one) => one === named),
    isDescending,
  };
}

/** Query for the address; what is the default is left out. */
export function toQuery({ find, state, column, isDescending }: TableQuery): Record<string, string> {
  return {
    find,
    state: state === "all" ? "" : state,
    sort: column === undefined ? "" : `${isDescending ? "-" : ""}${column}`,
  };
}

/** Whether a token is in a state at the time `now`. */
export function isIn({ token }: ListedToken, state: State, now: number): boolean {
  if (state === "expired") return validityOf(token, now).state === "expired";
  return state === "all" || token.last_used_at === null;
}

/** select returns the tokens that match a query, in its order. Without a column it is the server's: the oldest first. */
export function select(all: readonly ListedToken[], wanted: TableQuery, now: number): ListedToken[] {
  const terms = wanted.find.toLowerCase().split(/\s+/);
  const found = all.filter(
    (one) => isIn(one, wanted.state, now) && terms.every((word) => one.text.includes(word)),
  );
  const { column } = wanted;
  if (column === undefined) return found;
  const sign = wanted.isDescending ? -1 : 1;
  return found.sort((one, other) => compare(sortValueOf(one, column), sortValueOf(other, column), sign));
}

function sortValueOf({ token, rights }: ListedToken, column: Column): string | number | null {
  const by: Readonly<Record<Column, string | number | null>> = {
    name: token.name ?? token.username ?? token.token_key,
    username: token.username,
    key: token.token_key,
    rights: rights.join(" "),
    created: token.created_at,
    used: token.last_used_at,
    expires: token.timestamp_to,
  };
  return by[column];
}

const texts = new Intl.Collator(undefined, { numeric: true });

/** compare orders two values; a missing one is last in both directions. */
function compare(one: string | number | null, other: string | number | null, sign: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  return sign * texts.compare(String(one), String(other));
}
