import type { Token } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";

export interface Validity {
  readonly state: "valid" | "expired" | "early";
  readonly text: string;
}

/** Validity of a token at the time `now`. */
export function validityOf(
  { timestamp_from: from, timestamp_to: to }: Pick<Token, "timestamp_from" | "timestamp_to">,
  now: number,
): Validity {
  if (to !== null && to <= now) return { state: "expired", text: `expired on ${time(to)}` };
  if (from !== null && from > now) return { state: "early", text: `not yet valid: from ${time(from)}` };
  if (to === null) return { state: "valid", text: "does not expire" };
  return { state: "valid", text: `expires in ${duration(to - now)}, on ${time(to)}` };
}

/** `Created on …, last used 5 minutes ago`. The server knows uses to the minute. */
export function timesOf(
  { created_at, last_used_at }: Pick<Token, "created_at" | "last_used_at">,
  now: number,
): string {
  const created = created_at === null ? "" : `Created on ${time(created_at)}, `;
  const used = last_used_at === null ? "not used yet" : `last used ${ago(now - last_used_at)}`;
  const text = `${created}${used}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function ago(ms: number): string {
  return ms < 60_000 ? "just now" : `${duration(ms)} ago`;
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
