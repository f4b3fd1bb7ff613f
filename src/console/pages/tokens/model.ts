import type { Token } from "../../../client/index.ts";
import { ago, duration, time } from "../../format.ts";
import { t } from "../../text/text.ts";
import type { SortValue } from "../../ui/order.ts";
import { limitSummary } from "./limits.ts";

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

/** Whether a token is in a state at the time `now`. */
export function isIn({ token }: ListedToken, state: State, now: number): boolean {
  if (state === "expired") return validityOf(token, now).state === "expired";
  return state === "all" || token.last_used_at === null;
}

interface Validity {
  readonly state: "valid" | "expired" | "early";
  readonly text: string;
  /** The same for the cell of a table. */
  readonly short: string;
}

/** Validity of a token at the time `now`. */
export function validityOf(
  { timestamp_from: from, timestamp_to: to }: Pick<Token, "timestamp_from" | "timestamp_to">,
  now: number,
): Validity {
  if (to !== null && to <= now)
    return { state: "expired", text: t.tokens.expiredOn(time(to)), short: t.tokens.expired(ago(to, now)) };
  if (from !== null && from > now)
    return { state: "early", text: t.tokens.validLater(time(from)), short: t.tokens.starts(ago(from, now)) };
  if (to === null) return { state: "valid", text: t.tokens.neverExpires, short: t.tokens.never };
  return {
    state: "valid",
    text: t.tokens.expiresIn(duration(to - now), time(to)),
    short: ago(to, now),
  };
}

export function displayName({ username, token_key }: Pick<Token, "username" | "token_key">): string {
  return username ?? token_key;
}

/** Values by which the columns of the table sort. */
export const sortValues = {
  name: ({ token }) => token.name ?? displayName(token),
  username: ({ token }) => token.username,
  key: ({ token }) => token.token_key,
  rights: ({ rights }) => rights.join(" "),
  created: ({ token }) => token.created_at,
  used: ({ token }) => token.last_used_at,
  expires: ({ token }) => token.timestamp_to,
} satisfies Readonly<Record<string, (listed: ListedToken) => SortValue>>;

/** The address of S3 for clients, by `[s3]` and the address of the server; undefined if it is off. */
export function s3Address(
  { host, listener }: { readonly host: string | null; readonly listener: string | null },
  server: string,
): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  if (host !== null) return `${protocol}//${host}${port === "" ? "" : `:${port}`}`;
  // A listener on all interfaces has no name of its own.
  return listener === null
    ? undefined
    : `${protocol}//${listener.replace(/^(?:0\.0\.0\.0|\[::\])(?=:)/, hostname)}`;
}
