import type { Token } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";

export interface Validity {
  readonly state: "valid" | "expired" | "early";
  readonly words: string;
}

/** When a token counts, as seen from `now`. */
export function validityOf(
  { timestamp_from: from, timestamp_to: to }: Pick<Token, "timestamp_from" | "timestamp_to">,
  now: number,
): Validity {
  if (to !== null && to <= now) return { state: "expired", words: `expired on ${time(to)}` };
  if (from !== null && from > now) return { state: "early", words: `not yet valid: from ${time(from)}` };
  if (to === null) return { state: "valid", words: "does not expire" };
  return { state: "valid", words: `expires in ${duration(to - now)}, on ${time(to)}` };
}

/** What stands in a `datetime-local` input as Unix milliseconds; null when nothing does. */
export function parseLocalTime(text: string): number | null {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? null : at;
}

/** The other way, to the minute. */
export function toLocalTime(at: number): string {
  return time(at).slice(0, 16).replace(" ", "T");
}
