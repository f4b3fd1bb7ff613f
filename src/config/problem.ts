import type { z } from "zod";
import { defaultOf, type Key } from "../base/config-key.ts";
import { Fault } from "../base/fault.ts";
import { memberAt, nearest } from "../base/validation-issue.ts";
import { contractTargets, type Filter, filterNames } from "../log/filter.ts";
import { KeyIndex, type Location } from "./locate.ts";
import { hookKeys, sections } from "./schema.ts";

/** Problem is one thing that is wrong with a configuration: the key, its position in the file, and what to write instead. */
export interface Problem {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The key with its table: `logging.log_filter`. */
  readonly field?: string;
  /** The environment variable or option that the value comes from; undefined for the file, which `file` names then. */
  readonly from?: string;
  /**
   * The reason, as the end of a sentence that begins with the key: `must be true or false`. Never the value itself, which may be a
   * password.
   */
  readonly why: string;
}

/** Warning is about a valid setting that probably does not do what was intended. */
export interface Warning extends Problem {
  readonly field: string;
  /**
   * `filter`: a log filter could hide this very warning, so it is logged past all filters. `access`: a file that more users can
   * read than should.
   */
  readonly about: "key" | "filter" | "access";
}

/** Override is a value that takes the place of the one in the file. */
export interface Override {
  /** The key, with its table. */
  readonly path: readonly string[];
  /** What sets it: `NODE_SERVER_WS_LISTENER` or `--listen`. */
  readonly from: string;
  /** As TOML would give it. Never shown, because it may be a secret. */
  readonly value: unknown;
}

/** Source is a configuration text, with the name of its file for messages, and what overrides it. */
export class Source {
  #keys: KeyIndex | undefined;

  constructor(
    readonly text: string,
    readonly file?: string,
    readonly overrides: readonly Override[] = [],
  ) {}

  /** Returns what sets the key at `path`, or at the beginning of it, in place of the text; undefined if nothing does. */
  overrideOf(path: readonly string[]): Override | undefined {
    return this.overrides.find((override) => override.path.every((name, at) => path[at] === name));
  }

  /** Returns the position of a key. The text must be valid TOML. */
  locate(path: readonly string[]): Location {
    this.#keys ??= new KeyIndex(this.text);
    return this.#keys.locate(path);
  }
}

/** `formatProblem` writes `config.toml:5:15: ws_listener: must be …`, as compilers do, or `NODE_SERVER_WS_LISTENER: must be …`. */
export function formatProblem({ file, line, column, field, from, why }: Problem): string {
  if (from !== undefined) return `${from}: ${why}`;
  const location = [file ?? (line === undefined ? undefined : "configuration"), line, column]
    .filter((part) => part !== undefined)
    .join(":");
  return [location, field, why].filter((part) => part !== undefined && part !== "").join(": ");
}

/** `locateProblem` makes a problem with the position of the value, or of the key if it has no value, or with what overrides it. */
export function locateProblem(source: Source, path: readonly string[], why: string): Problem {
  const override = source.overrideOf(path);
  if (override !== undefined) return { field: path.join("."), from: override.from, why };
  const { key, value } = source.locate(path);
  return at(source, value ?? key, { field: path.join("."), why });
}

/** `locateKey` makes a problem with the position of the key, for a key that should not exist. */
export function locateKey(source: Source, path: readonly string[], why: string): Problem {
  return at(source, source.locate(path).key, { field: path.join("."), why });
}

function at({ file }: Source, position: { line: number; column: number }, problem: Problem): Problem {
  return { ...(file === undefined ? {} : { file }), ...position, ...problem };
}

/**
 * ConfigFault is the error for an invalid configuration, with one line for each problem; `data` also has `line`, `column` and
 * `field` of the first.
 */
export class ConfigFault extends Fault {
  constructor(readonly problems: readonly Problem[]) {
    const [{ line, column, field } = {}] = problems;
    super("ParseError", problems.map(formatProblem).join("\n"), { line, column, field, problems });
  }
}

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
      if (path.length === 1 && path[0] === "hooks")
        return "a list: write [[hooks]] on a line of its own and its keys below";
      return form.list;
    default:
      if (path[0] === "hooks") return "a list: write [[hooks]] on a line of its own and its keys below";
      return `a table: write [${path.join(".")}] on a line of its own and its keys below`;
  }
}

function howToAdd(path: readonly string[]): string {
  if (path[0] === "hooks" && path.length === 3)
    return `write ${path[2]} = ${exampleOf(path, tomlForm)} below its [[hooks]]`;
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
  if (path[0] === "hooks") return (hookKeys as Readonly<Record<string, Key>>)[path[2] ?? ""];
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
  const own = table === "hooks" ? hookKeys : sections.find(([section]) => section === table)?.[1];
  const names = Object.keys(own ?? {});
  return table === undefined ? ["hooks", ...names, ...sections.flatMap(([section]) => section ?? [])] : names;
}

/**
 * `explainTargets` returns what is suspicious about a filter, as the end of a sentence that begins with its key; undefined if nothing
 * is.
 */
export function explainTargets(filter: Filter): string | undefined {
  const [target] = filter.unknownTargets();
  if (target === undefined) return undefined;
  const [near] = nearest(target, filterNames, 1);
  const hint =
    near === undefined
      ? `use a level such as \`info\`, or one of the targets ${contractTargets.join(", ")}`
      : `did you mean \`${near}\`?`;
  return `names the target \`${target}\`, under which nothing is logged; ${hint}`;
}
