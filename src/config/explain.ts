import type { z } from "zod";
import { nearest } from "../base/nearest.ts";
import { memberAt } from "../base/validation-issue.ts";
import { defaultOf, type Key } from "./key.ts";
import { sections } from "./schema.ts";

/** ValueForm is how values are written where they come from. */
interface ValueForm {
  readonly text: string;
  readonly number: string;
  readonly boolean: string;
  readonly list: string;
  sample(value: unknown): string;
}

export const tomlForm: ValueForm = {
  text: "a text in quotes",
  number: "a whole number without quotes",
  boolean: "true or false, without quotes",
  list: "a list in brackets",
  sample: (value) => JSON.stringify(value),
};

/** `plainForm` is for values from the environment and the command line. */
export const plainForm: ValueForm = {
  text: "a text",
  number: "a whole number",
  boolean: "true or false",
  list: "a list, separated by commas",
  sample: String,
};

/** `explain` words for operators why the schema rejected a value, and what to write. */
export function explain(issue: z.core.$ZodIssue, raw: unknown, form: ValueForm): string {
  const path = issue.path.map(String);
  if (memberAt(raw, path) === undefined) return `is missing; ${howToAdd(path)}`;
  const such = exampleOf(path, form);
  switch (issue.code) {
    case "invalid_type":
      if (!issue.message.startsWith("Invalid input: ")) return issue.message;
      return `must be ${kindOf(issue.expected, path, form)}${such === undefined ? "" : `, such as ${such}`}`;
    case "too_small":
      if (issue.origin === "string") return `must not be empty; write ${such ?? form.text}`;
      return `must be ${Number(issue.minimum) + (issue.inclusive ? 0 : 1)} or more`;
    case "too_big":
      return `must be ${issue.maximum} or less`;
    default:
      return issue.message;
  }
}

function kindOf(expected: string, path: readonly string[], form: ValueForm): string {
  switch (expected) {
    case "string":
      return form.text;
    case "int":
    case "number":
      return keyAt(path)?.typeLabel === "bytes" ? `${form.number}, in bytes` : form.number;
    case "boolean":
      return form.boolean;
    case "array":
      return form.list;
    default:
      return `a table: write [${path.join(".")}] on a line of its own and its keys below`;
  }
}

function howToAdd(path: readonly string[]): string {
  const [table = "", name] = path.length === 1 ? ["", path[0]] : path;
  const keys = sections.find(([section]) => section === name)?.[1];
  if (keys === undefined)
    return `write ${name} = ${exampleOf(path, tomlForm)}${table === "" ? " above the first [table]" : ` below [${table}]`}`;
  const [first = "", key] = Object.entries(keys).find(([, { type }]) => !type.isOptional()) ?? [];
  return `write [${name}] on a line of its own, and below it ${first} = ${key === undefined ? "…" : tomlForm.sample(sampleOf(key))}`;
}

function exampleOf(path: readonly string[], form: ValueForm): string | undefined {
  const key = keyAt(path);
  return key === undefined || key.typeLabel === "boolean" ? undefined : form.sample(sampleOf(key));
}

function sampleOf(key: Key): unknown {
  return key.example ?? key.initial ?? defaultOf(key);
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
