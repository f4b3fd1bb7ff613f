import type { LogEntry } from "../../../client/index.ts";

const colours: Readonly<Record<LogEntry["level"], string>> = {
  ERROR: "bad",
  WARN: "warn",
  INFO: "good",
  DEBUG: "accent",
  TRACE: "",
};

export function LevelBadge({ level }: Pick<LogEntry, "level">) {
  return <span class={`badge ${colours[level]}`}>{level}</span>;
}
