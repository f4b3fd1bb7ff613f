import type { z } from "zod";
import { nearest } from "../base/nearest.ts";
import { memberAt } from "../base/validation-issue.ts";
import { defaultOf, type Key } from "./key.ts";
import { sections } from "./schema.ts";

/** `explain` words for operators why the schema rejected a value, and what to write. */
export function explain(issue: z.core.$ZodIssue, raw: unknown): string {
  const path = issue.path.map(String);
  if (memberAt(raw, path) === undefined) return `is missing; ${howToAdd(path)}`;
  const such = exampleOf(path);
  switch (issue.code) {
    case "invalid_type":
      if (!issue.message.startsWith("Invalid input: ")) return issue.message;
      return `must be ${kindOf(issue.expected, path)}${such === undefined ? "" : `, such as ${such}`}`;
    case "too_small":
      if (issue.origin === "string") return `must not be empty; write ${such ?? "a text in quotes"}`;
      return `must be ${Number(issue.minimum) + (issue.inclusive ? 0 : 1)} or more`;
    case "too_big":
      return `must be ${issue.maximum} or less`;
    default:
      return issue.message;
  }
}

function kindOf(expected: string, path: readonly string[]): string {
  switch (expected) {
    case "string":
      return "a text in quotes";
    case "int":
    case "number":
      return "a whole number without quotes";
    case "boolean":
      return "true or false, without quotes";
    default:
      return `a table: write [${path.join(".")}] on a line of its own and its keys below`;
  }
}

function howToAdd(path: readonly string[]): string {
  const [table = "", name] = path.length === 1 ? ["", path[0]] : path;
  const keys = sections.find(([section]) => section === name)?.[1];
  if (keys === undefined)
    return `write ${name} = ${exampleOf(path)}${table === "" ? " above the first [table]" : ` below [${table}]`}`;
  const [first = "", key] = Object.entries(keys).find(([, { type }]) => !type.isOptional()) ?? [];
  return `write [${name}] on a line of its own, and below it ${first} = ${key === undefined ? "…" : sample(key)}`;
}

function exampleOf(path: readonly string[]): string | undefined {
  const key = keyAt(path);
  return key === undefined || key.typeLabel === "boolean" ? undefined : sample(key);
}

function sample(key: Key): string {
  return JSON.stringify(key.example ?? key.initial ?? defaultOf(key));
}

function keyAt(path: readonly string[]): Key | undefined {
  const [name = "", table] = [...path].reverse();
  return sections.find(([section]) => section === table)?.[1][name];
}

/** `explainUnknown` suggests a fix for an unknown key: the table that it belongs to, or the name that was probably intended. */
export function explainUnknown(name: string, table: string | undefined): string {
  const owner = sections.find(([section, keys]) => section !== table && Object.hasOwn(keys, name));
  if (owner !== undefined)
    return `has no effect ${table === undefined ? "here" : `in [${table}]`}; move it ${owner[0] === undefined ? "above the first [table]" : `below [${owner[0]}]`}`;
  const [near] = nearest(name, namesIn(table), 1);
  return `is unknown and has no effect${near === undefined ? "" : `; did you mean ${near}?`}`;
}

function namesIn(table: string | undefined): string[] {
  const names = Object.keys(sections.find(([section]) => section === table)?.[1] ?? {});
  return table === undefined ? [...names, ...sections.flatMap(([section]) => section ?? [])] : names;
}
