import type { z } from "zod";

export interface Complaint {
  readonly path: readonly string[];
  readonly why: string;
}

/** What a schema refused, in words for the person who wrote the value. */
export function toComplaint(issue: z.core.$ZodIssue, value: unknown): Complaint {
  const path = issue.path.map(String);
  // zod reports an absent member as a wrong type.
  const absent = path.length > 0 && memberAt(value, path) === undefined;
  if (absent) return { path, why: "is missing" };
  return { path, why: issue.message.replace(/^Invalid input: /, "").replace(/^Too (small|big): /, "") };
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}
