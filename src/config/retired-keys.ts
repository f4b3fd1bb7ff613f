import { z } from "zod";
import { memberAt } from "../base/validation-issue.ts";

/** RetiredKey is a key of earlier versions. It is still read, with a warning that says what to write. */
export interface RetiredKey {
  readonly path: readonly string[];
  /** The type of its value, by which its environment variable is read. */
  readonly type: z.ZodType;
  /** What an operator must know and do, as sentences behind the name of the key. */
  readonly advice: string;
  /** Returns the value that a key of today gets by it; undefined if it has no effect. */
  readonly replace?: (value: unknown, raw: unknown) => Replacement | undefined;
}

interface Replacement {
  readonly path: readonly string[];
  readonly value: unknown;
}

const unboundedLog =
  "has no effect: the server no longer rotates its logs, and nothing bounds the file. Let logrotate do it, and remove this key";

/** `retiredKeys` are in the order of the file. A later one wins over an earlier one that replaces the same key. */
export const retiredKeys: readonly RetiredKey[] = [
  ...["json_log_max_bytes", "json_log_keep", "access_log_max_bytes", "access_log_keep"].map(
    (name): RetiredKey => ({ path: ["logging", name], type: z.number(), advice: unboundedLog }),
  ),
];

const retiredPaths = new Set(retiredKeys.map(({ path }) => path.join(".")));

export function isRetired(path: readonly string[]): boolean {
  return retiredPaths.has(path.join("."));
}

/** Translation is what the retired keys of a configuration say in the keys of today. */
export interface Translation extends Replacement {
  /** The retired key that said it. */
  readonly from: readonly string[];
}

/** `translateRetired` reads the retired keys among the values of a configuration. */
export function translateRetired(raw: unknown): Translation[] {
  return retiredKeys.flatMap(({ path: from, replace }): Translation[] => {
    const value = memberAt(raw, from);
    const replacement = value === undefined ? undefined : replace?.(value, raw);
    return replacement === undefined ? [] : [{ ...replacement, from }];
  });
}
