import type { Row } from "./rows.ts";

/** Ranges that reach from some time ago until now, in milliseconds. */
const agoMs = { "5m": 300_000, "15m": 900_000, "1h": 3_600_000, "24h": 86_400_000 } as const;

export const ranges = ["all", "5m", "15m", "1h", "24h", "custom"] as const;
export type RangeName = (typeof ranges)[number];

/** Times in Unix milliseconds between which entries are listed. Undefined: no bound. */
export interface TimeRange {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export function parseRange(query: URLSearchParams): RangeName {
  return ranges.find((one) => one === query.get("range")) ?? "all";
}

/** The range that is chosen at the time `now`; `from` and `to` are values of `datetime-local` inputs. */
export function rangeAt(name: RangeName, from: string, to: string, now: number): TimeRange {
  if (name === "all") return { from: undefined, to: undefined };
  if (name === "custom") return { from: parseTime(from), to: parseTime(to) };
  return { from: now - agoMs[name], to: undefined };
}

/** Whether a row is in the range. Rows for missing entries always are: what is missing may be in it. */
export function isInRange(row: Row, { from, to }: TimeRange): boolean {
  if (row.kind !== "entry") return true;
  const at = Date.parse(row.entry.timestamp);
  return (from === undefined || at >= from) && (to === undefined || at <= to);
}

function parseTime(text: string): number | undefined {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? undefined : at;
}
