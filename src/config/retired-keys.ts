import { z } from "zod";
import { memberAt } from "../base/validation-issue.ts";
import { retentionDays, timeoutMs } from "./schema.ts";

/** RetiredKey is a key of earlier versions. It is still read, with a warning that says what to write. */
interface RetiredKey {
  readonly path: readonly string[];
  /** The type of its value, by which its environment variable is read. */
  readonly type: z.ZodType;
  /** What an operator must know and do, as sentences behind the name of the key. */
  readonly advice: string;
  /** Returns the key of today that says the same; undefined if the key has no effect beside the others in `raw`. */
  readonly replace?: (value: unknown, raw: unknown) => Replacement | undefined;
}

/** Replacement is a key of today with its value. */
export interface Replacement {
  readonly path: readonly string[];
  readonly value: unknown;
}

const unboundedLog =
  "has no effect: the server no longer rotates its logs, and nothing bounds the file. Let logrotate do it, and remove this key";

const retentionKey = ["keep_removed_days"];
const hasBlobs = (raw: unknown) => memberAt(raw, ["files", "url"]) !== undefined;

const timeout = ["database", "timeout_ms"];
/** The three that `timeout_ms` replaces, with the defaults that they had. */
const timeouts = { connect_timeout_ms: 3000, acquire_timeout_ms: 3000, answer_timeout_ms: 5000 };

/** `longestTimeout` returns the longest of the three, so that nothing is given up earlier than before. */
function longestTimeout(raw: unknown): number {
  const each = Object.entries(timeouts).map(([name, ms]) => memberAt(raw, ["database", name]) ?? ms);
  return Math.max(...each.filter((ms) => typeof ms === "number"));
}

/** `retiredKeys` are in the order of the file. */
export const retiredKeys: readonly RetiredKey[] = [
  {
    path: ["reuse_port"],
    type: z.boolean(),
    advice:
      "is still in effect, but the next minor version is the last one that reads it: several processes of one server share an address with `serve --processes`, and several nodes on one machine need addresses of their own. Remove this key",
  },
  {
    path: ["unix_socket_mode"],
    type: z.string(),
    advice:
      "is still in effect, but the next minor version is the last one that reads it: without it, the members of `unix_socket_group` may connect, or only the server's user if there is no group. Remove this key",
  },
  {
    path: ["trash_days"],
    type: retentionDays,
    advice: "write `keep_removed_days`, which is for plain files and for `[files] url`",
    replace: (value, raw) => (hasBlobs(raw) ? undefined : { path: retentionKey, value }),
  },
  ...["json_log_max_bytes", "json_log_keep", "access_log_max_bytes", "access_log_keep"].map(
    (name): RetiredKey => ({ path: ["logging", name], type: z.number(), advice: unboundedLog }),
  ),
  ...Object.keys(timeouts).map(
    (name): RetiredKey => ({
      path: ["database", name],
      type: timeoutMs,
      advice:
        "write `timeout_ms`. Until then it is the longest of `connect_timeout_ms` (3000), `acquire_timeout_ms` (3000) and `answer_timeout_ms` (5000)",
      replace: (_, raw) => ({ path: timeout, value: longestTimeout(raw) }),
    }),
  ),
  {
    path: ["database", "idle_timeout_ms"],
    type: z.number(),
    advice:
      "has no effect: a PostgreSQL connection without a statement is closed after a minute. Remove this key",
  },
  {
    path: ["database", "max_lifetime_ms"],
    type: z.number(),
    advice: "has no effect: a PostgreSQL connection is replaced after 30 minutes. Remove this key",
  },
  {
    path: ["files", "keep_removed_days"],
    type: retentionDays,
    advice: "write it above the first table, where it is for plain files, too",
    replace: (value, raw) => (hasBlobs(raw) ? { path: retentionKey, value } : undefined),
  },
];

const retiredPaths = new Set(retiredKeys.map(({ path }) => path.join(".")));

export function isRetired(path: readonly string[]): boolean {
  return retiredPaths.has(path.join("."));
}
