import type { Token } from "../../../client/index.ts";
import { ago, duration, time } from "../../format.ts";
import { t } from "../../text/text.ts";

export interface Validity {
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

/** Value of a `datetime-local` input in Unix milliseconds; null when it is empty. */
export function parseLocalTime(text: string): number | null {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? null : at;
}

/** Value for a `datetime-local` input, to the minute. */
export function toLocalTime(at: number): string {
  return time(at).slice(0, 16).replace(" ", "T");
}
