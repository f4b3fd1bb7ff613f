import type { TokenRow } from "../db/token-row.ts";
import { outsideLifetime } from "./authenticator.ts";
import { type Grant, grantingLimit, toLimits } from "./limit.ts";
import type { Scope } from "./permission.ts";

/** Explanation is whether a token holds a permission in a scope, and by which of its limits. */
export interface Explanation {
  readonly allowed: boolean;
  readonly reason: "super_token" | "granted" | "not_granted" | "expired" | "not_yet_valid";
  /** The first limit that grants it, as an index of `token_limit`; also of a token outside its lifetime. */
  readonly limit: number | null;
  /** Limits that grant the permission, but not in this scope. */
  readonly elsewhere: number[];
}

/** `explain` answers as `authorise` decides. A permission for names that match a pattern is asked for by its pattern. */
export function explain(
  row: Pick<TokenRow, "isSuper" | "limits" | "from" | "to">,
  wanted: { readonly grant: Grant; readonly scope: Scope },
  now: number,
): Explanation {
  const ended = outsideLifetime(row, now)?.reason;
  if (row.isSuper)
    return { allowed: ended === undefined, reason: ended ?? "super_token", limit: null, elsewhere: [] };
  const limits = toLimits(row.limits);
  const limit = grantingLimit(limits, wanted.grant, wanted.scope);
  const anywhere = limits.map(({ permissions }) => [{ scopes: [wanted.scope], permissions }]);
  return {
    allowed: limit !== undefined && ended === undefined,
    reason: ended ?? (limit === undefined ? "not_granted" : "granted"),
    limit: limit ?? null,
    elsewhere:
      limit === undefined
        ? anywhere.flatMap((one, at) =>
            grantingLimit(one, wanted.grant, wanted.scope) === undefined ? [] : [at],
          )
        : [],
  };
}
