import { InvalidArgumentError } from "commander";

export const fileActions = ["read", "write", "delete", "list"] as const;
export type FileAction = (typeof fileActions)[number];

/** parseAllow reads `--allow read,write`. */
export function parseAllow(text: string): FileAction[] {
  const actions = text.split(",").map((word) => word.trim());
  const unknown = actions.find((word) => !(fileActions as readonly string[]).includes(word));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`${unknown || "nothing"} is not one of ${fileActions.join(", ")}.`);
  return actions as FileAction[];
}

/** parseDuration reads a time such as `30d`, as milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})(m|h|d|w|y)$/.exec(text) ?? [];
  const ms = { m: 60e3, h: 3600e3, d: 86_400e3, w: 604_800e3, y: 365 * 86_400e3 }[unit];
  if (count === undefined || ms === undefined || Number(count) === 0)
    throw new InvalidArgumentError("write a time as 90m, 12h, 30d, 4w or 1y.");
  return Number(count) * ms;
}
