import type { z } from "zod";

/** ValidationIssue is one thing that a schema rejected. */
export interface ValidationIssue {
  readonly path: readonly string[];
  readonly why: string;
  /** Further facts that a refinement of the schema added, such as `column`. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** `toValidationIssue` words an issue of zod for the person who wrote the value. */
export function toValidationIssue(issue: z.core.$ZodIssue, value: unknown): ValidationIssue {
  const path = issue.path.map(String);
  // zod reports an absent member as a wrong type.
  const absent = path.length > 0 && memberAt(value, path) === undefined;
  if (absent) return { path, why: "is missing", data: {} };
  return { path, why: explain(issue), data: (issue.code === "custom" && issue.params) || {} };
}

const types: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

/** `explain` words what zod reports by itself. A schema that has a message of its own keeps it. */
function explain(issue: z.core.$ZodIssue): string {
  const rest = issue.message.replace(/^(Invalid input|Too (small|big)): /, "");
  if (rest === issue.message) return rest;
  if (issue.code === "invalid_type" && types[issue.expected] !== undefined)
    return `must be ${types[issue.expected]}`;
  if (issue.code === "too_big") return boundText(issue.origin, "at most", issue.maximum);
  if (issue.code === "too_small") return boundText(issue.origin, "at least", issue.minimum);
  return rest;
}

function boundText(origin: string, bound: string, count: number | bigint): string {
  const unit = { string: "character", array: "item" }[origin];
  if (unit === undefined) return `must be ${bound} ${count}`;
  return `must have ${bound} ${count} ${unit}${Number(count) === 1 ? "" : "s"}`;
}

/** `memberAt` returns the value at a path of own member names; undefined if there is none. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}
