/** Levels that the buttons offer, the most severe first. */
export const levels = ["error", "warn", "info", "debug", "trace"] as const;
export type Level = (typeof levels)[number];

/** The level of a filter for targets that it does not name; undefined when that is `off`. The last one counts, as on the server. */
export function levelOf(filter: string): Level | undefined {
  const last = partsOf(filter).findLast(isLevel)?.toLowerCase();
  const byNumber = last !== undefined && /^[0-5]$/.test(last) ? levels[Number(last) - 1] : undefined;
  return byNumber ?? levels.find((level) => level === last);
}

/** The filter with another level for targets that it does not name. */
export function withLevel(filter: string, level: Level): string {
  return [level, ...partsOf(filter).filter((part) => !isLevel(part))].join(",");
}

function partsOf(filter: string): string[] {
  return filter
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function isLevel(part: string): boolean {
  return /^([0-5]|off|error|warn|info|debug|trace)$/i.test(part);
}
