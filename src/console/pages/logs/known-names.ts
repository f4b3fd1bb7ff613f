import { listed } from "../../format.ts";
import { t } from "../../text/text.ts";

const levels = ["off", "error", "warn", "info", "debug", "trace"];
/** Targets of the server's log and of the services that share its filter. `db` covers the libraries below. */
const targets = [
  ...["server", "rpc", "db", "kv", "monitoring", "task", "token", "audit", "terminal"],
  ...["js_worker", "js_result", "js_runtime", "crontab", "crontab_result"],
];
const libraries = ["sea_orm", "sea_orm_migration", "sqlx"];

/** All levels and targets that a filter can name. A test compares the list with the server's. */
export const knownNames: readonly string[] = [...levels, ...targets, ...libraries];

/**
 * Sentence about names in a filter that are neither levels nor known targets, or undefined. The server accepts such a filter, because
 * a program may log under any target; a misspelt level is more likely.
 */
export function unknownNames(filter: string): string | undefined {
  const unknown = filter
    .split(",")
    .map((part) => part.split("=", 1)[0]?.trim() ?? "")
    .filter((name) => name !== "" && !isKnown(name));
  if (unknown.length === 0) return undefined;
  return t.logs.unknownNames(listed(unknown), {
    levels: listed(levels),
    targets: listed(targets),
  });
}

function isKnown(name: string): boolean {
  const [crate = ""] = name.toLowerCase().split("::", 1);
  // Levels can be given as numbers.
  return knownNames.includes(crate) || /^[0-5]$/.test(name);
}
