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
  const why = issue.message.replace(/^Invalid input: /, "").replace(/^Too (small|big): /, "");
  return { path, why, data: (issue.code === "custom" && issue.params) || {} };
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
