import type { z } from "zod";

/** ValidationIssue is one thing that a schema rejected. */
interface ValidationIssue {
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

/** `nearest` returns the `names` that a mistyped `word` may have meant, the likeliest first. */
export function nearest(word: string, names: readonly string[], max = 3): string[] {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(word);
  if (wanted === "") return [];
  return (
    names
      .map((name) => ({ name, text: plain(name), inside: plain(name).includes(wanted) }))
      // The difference in length is a lower bound of the distance, so very long words need no comparison.
      .filter(({ text, inside }) => inside || Math.abs(wanted.length - text.length) <= maxDistance(text))
      .map(({ name, text, inside }) => ({ name, text, inside, far: distance(wanted, text) }))
      .filter(({ text, far, inside }) => inside || far <= maxDistance(text))
      .sort((a, b) => a.far - b.far)
      .slice(0, max)
      .map(({ name }) => name)
  );
}

/** The number of letters that may differ in a word of this length. */
function maxDistance(text: string): number {
  return Math.max(2, text.length / 4);
}

/** The edit distance: how many letters must be changed, inserted or removed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
