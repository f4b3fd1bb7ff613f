import { isUtf8 } from "node:buffer";
import { dirname, resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { memberAt } from "../base/validation-issue.ts";
import { findKind } from "../blobs/open-blobs.ts";
import { Filter } from "../log/filter.ts";
import { noOverrides, type Overrides, variableOf } from "./environment.ts";
import { duplicateOn, nestedDeeper, type Position, positionAt, unclosedQuote } from "./locate.ts";
import { type RelativePath, resolvePaths, type SharedFile, sharedFiles } from "./paths.ts";
import {
  ConfigFault,
  explain,
  explainTargets,
  explainUnknown,
  locateKey,
  locateProblem,
  type Override,
  type Problem,
  plainForm,
  Source,
  tomlForm,
  type Warning,
} from "./problem.ts";
import { isRetired, type Replacement, retiredKeys } from "./retired-keys.ts";
import { type Config, configSchema, hookKeys, sections } from "./schema.ts";

/** The number of unknown keys that are reported one by one. A file with more of them is not a configuration with typing errors. */
const maxUnknownKeys = 50;
/** The number of brackets inside each other. Our own keys need two; the stack of the parser is not endless. */
const maxNesting = 50;

export interface ParsedConfig {
  readonly config: Config;
  readonly warnings: readonly Warning[];
  /** The paths that the text gives relative to the folder of its file. */
  readonly relative: readonly RelativePath[];
  /** What is in effect in place of the text. */
  readonly overrides: readonly Override[];
}

/**
 * `parseConfig` reads a whole configuration text, with overrides in place of what it says. Relative paths in both start at the
 * folder of `path`; messages call it `file`. Throws one ConfigFault with every problem, unknown keys included.
 */
export function parseConfig(
  text: string,
  file?: string,
  overrides = noOverrides,
  path = resolve(file ?? "config.toml"),
): ParsedConfig {
  const written = parseToml(new Source(text, file));
  const inEffect = overridesInEffect(written, overrides);
  const source = new Source(text, file, inEffect);
  const given = withOverrides(written, inEffect);
  const raw = withOverrides(given, replacementsOf(given));
  const read = configSchema.safeParse(raw);
  const unknown = unknownKeys(source, written);
  const issues = [...(read.error?.issues ?? []), ...retiredIssues(given)];
  if (!read.success || issues.length > 0) {
    const wrong = issues.map((issue) => toProblem(source, issue, raw));
    // A misspelt key is often the reason why another one is missing.
    throw new ConfigFault([...wrong, ...unknown.map(({ about: _, ...problem }) => problem)]);
  }
  const { config, relative } = resolvePaths(read.data, dirname(path));
  const shared = sharedFiles(config, path);
  if (shared.length > 0) throw new ConfigFault(shared.map((both) => sharedProblem(source, both, raw)));
  const warnings = [
    ...unknown,
    ...retiredWarnings(source, written, given),
    ...unknownTargets(source, config),
  ];
  return { config, relative, overrides: inEffect, warnings };
}

/**
 * `checkText` returns the warnings about a text that may become the file, also about keys that are overridden. Overrides stand in only
 * for keys that it lacks: a wrong value would end the next start without them. Throws as `parseConfig` does.
 */
export function checkText(
  text: string,
  { file, path }: { readonly file: string; readonly path: string },
  overrides: Overrides,
): readonly Warning[] {
  const source = new Source(text, file);
  const written = parseToml(source);
  const missing = overrides.values.filter(({ path }) => memberAt(written, path) === undefined);
  const { warnings } = parseConfig(text, file, { ...overrides, values: missing }, path);
  return [...warnings, ...withoutEffect(source, written, overrides)];
}

/** `withoutEffect` warns of keys whose value comes from elsewhere, unless the text has the same one. */
function withoutEffect(
  source: Source,
  written: Record<string, unknown>,
  { values, hasRustLog }: Overrides,
): Warning[] {
  const filter = ["logging", "log_filter"];
  const byOthers = values.filter(({ path, value }) => !Bun.deepEquals(memberAt(written, path), value));
  const overriding: ReadonlyArray<Pick<Override, "path" | "from">> = hasRustLog
    ? [...byOthers.filter(({ path }) => path.join() !== filter.join()), { path: filter, from: "RUST_LOG" }]
    : byOthers;
  return overriding
    .filter(({ path }) => memberAt(written, path) !== undefined)
    .map(({ path, from }): Warning => {
      const why = `has no effect, because ${from} sets it; start the server without ${from}, or change it there`;
      return { ...locateProblem(source, path, why), field: path.join("."), about: "key" };
    });
}

/** `overridesInEffect` adds the fallbacks of the store that `files.url` names, for keys that are not set. */
function overridesInEffect(
  written: Record<string, unknown>,
  { values, fallbacks }: Overrides,
): readonly Override[] {
  const raw = withOverrides(written, values);
  const { variables = {} } = findKind(memberAt(raw, ["files", "url"])) ?? {};
  const missing = fallbacks.filter(
    ({ from, path }) => from in variables && memberAt(raw, path) === undefined,
  );
  return [...values, ...missing];
}

/** `withOverrides` returns the values of a text with those of the overrides in their place. */
function withOverrides(
  written: Record<string, unknown>,
  overrides: readonly Pick<Override, "path" | "value">[],
): Record<string, unknown> {
  const raw = { ...written };
  for (const { path, value } of overrides) {
    const [name = "", table] = [...path].reverse();
    if (table === undefined) raw[name] = value;
    // A table that is something else is left for the schema to refuse.
    else if (raw[table] === undefined || isTable(raw[table])) raw[table] = { ...raw[table], [name]: value };
  }
  return raw;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `sharedProblem` is about the later of two keys that name one file, unless only the earlier one is set. */
function sharedProblem(source: Source, { keys, names }: SharedFile, raw: unknown): Problem {
  const isFirst =
    memberAt(raw, keys[1]) === undefined && keys[0].length > 0 && memberAt(raw, keys[0]) !== undefined;
  const [key, other] = isFirst ? [keys[0], names[1]] : [keys[1], names[0]];
  return locateProblem(
    source,
    key,
    `would be the same file as ${other}, or as a file that belongs to it; choose another path`,
  );
}

function toProblem(source: Source, issue: z.core.$ZodIssue, raw: unknown): Problem {
  const path = issue.path.map(String);
  const isText = source.overrideOf(path) === undefined;
  return locateProblem(source, path, explain(issue, raw, isText ? tomlForm : plainForm));
}

/** `replacementsOf` returns what the retired keys among the values say in the keys of today; a key of today that is set wins. */
function replacementsOf(given: unknown): Replacement[] {
  return retiredKeys.flatMap(({ path, replace }) => {
    const value = memberAt(given, path);
    const replacement = value === undefined ? undefined : replace?.(value, given);
    return replacement === undefined || memberAt(given, replacement.path) !== undefined ? [] : [replacement];
  });
}

/** `retiredIssues` finds wrong values of retired keys. The value of a key without effect does not matter. */
function retiredIssues(given: unknown): z.core.$ZodIssue[] {
  return retiredKeys.flatMap(({ path, type, replace }) => {
    const value = memberAt(given, path);
    if (value === undefined || replace === undefined) return [];
    return (type.safeParse(value).error?.issues ?? []).map((issue) => ({ ...issue, path: [...path] }));
  });
}

/** `retiredWarnings` says for each retired key in the text and its overrides what to write instead. */
function retiredWarnings(source: Source, written: Record<string, unknown>, given: unknown): Warning[] {
  return retiredKeys.flatMap(({ path, advice, replace }): Warning[] => {
    const about = { field: path.join("."), about: "key" } as const;
    const { from, value = memberAt(written, path) } = source.overrideOf(path) ?? {};
    if (value === undefined) return [];
    const instead = replace?.(value, given);
    const why = (shown: (instead: Replacement) => string) => {
      if (replace === undefined) return advice;
      if (instead === undefined) return "has no effect in this configuration; remove it";
      const today = memberAt(given, instead.path);
      const name = instead.path.at(-1);
      if (today === undefined) return `is now ${shown(instead)}; write that, and remove this one`;
      return `has no effect, because ${name} = ${JSON.stringify(today)} is set; remove it`;
    };
    return [
      ...(memberAt(written, path) === undefined
        ? []
        : [{ ...locateKey(source, path, why(asLine)), ...about }]),
      ...(from === undefined ? [] : [{ from, why: why(asVariable), ...about }]),
    ];
  });
}

/** `asLine` writes a key of today as a line of the file, and says where the line belongs. */
function asLine({ path, value }: Replacement): string {
  const [name, table] = [...path].reverse();
  return `${name} = ${JSON.stringify(value)} ${table === undefined ? "above the first [table]" : `below [${table}]`}`;
}

function asVariable({ path, value }: Replacement): string {
  return `${variableOf({ path })}=${value}`;
}

function parseToml(source: Source): Record<string, unknown> {
  const { text, file } = source;
  const forbidden = forbiddenCharacter(source);
  if (forbidden !== undefined) throw new ConfigFault([forbidden]);
  const deep = nestedDeeper(text, maxNesting);
  if (deep !== undefined)
    throw new ConfigFault([
      {
        ...(file === undefined ? {} : { file }),
        ...positionAt(text, deep),
        why: `is nested too deeply: this bracket is inside of ${maxNesting} others; remove some of them`,
      },
    ]);
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new ConfigFault([{ ...(file === undefined ? {} : { file }), ...syntaxProblem(text, error) }]);
  }
}

/** `syntaxProblem` explains mistakes that the parser's own message does not explain. */
function syntaxProblem(text: string, { line, column, message }: TomlError): Problem {
  const open = unclosedQuote(text);
  const start = open === undefined ? undefined : positionAt(text, open);
  if (start !== undefined && (start.line < line || (start.line === line && start.column <= column)))
    return { ...start, why: "the text that begins here has no closing quote; add one at its end" };
  const [, key] = /^\s*([\w."'-]+)\s*=\s*(?:#.*)?$/.exec(text.split("\n")[line - 1] ?? "") ?? [];
  if (key !== undefined)
    return { line, column, field: key, why: "has no value; write one, or comment the line out with #" };
  const bare = bareValueAt(text, line);
  if (bare !== undefined && column >= bare)
    return {
      line,
      column: bare,
      why: "this value is not a number, true or false; put a text in quotes",
    };
  const twice = duplicateOn(text, line);
  if (twice !== undefined)
    return {
      line,
      column,
      field: twice.path.join("."),
      why: `is set twice, first on line ${twice.first.line}; remove one of the two`,
    };
  return { line, column, why: `this is not TOML: ${summaryOf(message)}` };
}

/** `bareValueAt` returns the column of an unquoted value on this line that is not TOML; undefined if there is none. */
function bareValueAt(text: string, line: number): number | undefined {
  const statement = text.split("\n")[line - 1] ?? "";
  const [, before = "", value = ""] = /^(\s*[\w."'-]+\s*=\s*)([^\s"'[{#=][^#]*)/.exec(statement) ?? [];
  // A whole number can only be invalid because of its size, or because its key is set twice.
  if (value === "" || /^[+-]?[\d_]+\s*$/.test(value)) return undefined;
  try {
    parse(`value = ${value}`);
    return undefined;
  } catch {
    return before.length + 1;
  }
}

function summaryOf(message: string): string {
  return message.replace(/^Invalid TOML document: /, "").split("\n", 1)[0] ?? "";
}

/** `unknownKeys` reports the first `maxUnknownKeys` unknown keys; the last of them says how many more there are. */
function unknownKeys(source: Source, raw: Record<string, unknown>): Warning[] {
  const tables: readonly string[] = ["hooks", ...sections.flatMap(([table]) => table ?? [])];
  const hooks = Array.isArray(raw.hooks) ? (raw.hooks as readonly unknown[]) : [];
  const inHooks = hooks.flatMap((hook, at) =>
    Object.keys(isTable(hook) ? hook : {})
      .filter((name) => !Object.hasOwn(hookKeys, name))
      .map((name) => ({ name, table: "hooks", path: ["hooks", String(at), name] })),
  );
  const inTables = sections.flatMap(([table, keys]) => {
    const here = table === undefined ? raw : (raw[table] ?? {});
    return Object.keys(here)
      .filter((name) => !Object.hasOwn(keys, name) && !(table === undefined && tables.includes(name)))
      .map((name) => ({ name, table, path: table === undefined ? [name] : [table, name] }))
      .filter(({ path }) => !isRetired(path));
  });
  const unknown = [...inTables, ...inHooks];
  const more = unknown.length - maxUnknownKeys;
  return unknown.slice(0, maxUnknownKeys).map(({ name, table, path }, index): Warning => {
    const rest = index === maxUnknownKeys - 1 && more > 0 ? `; ${more} more keys are unknown` : "";
    const problem = locateKey(source, path, explainUnknown(name, table) + rest);
    return { ...problem, field: path.join("."), about: "key" };
  });
}

/** `unknownTargets` warns about filters that name a target under which nothing is logged: they are valid, but have no effect. */
function unknownTargets(source: Source, { logging }: Config): Warning[] {
  return Object.entries(logging).flatMap(([name, value]): Warning[] => {
    const why = value instanceof Filter ? explainTargets(value) : undefined;
    if (why === undefined) return [];
    const path = ["logging", name];
    return [{ ...locateProblem(source, path, why), field: path.join("."), about: "filter" }];
  });
}

/** Control characters that TOML does not allow, and halves of surrogate pairs, which UTF-8 cannot represent. */
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\p{Surrogate}]/u;

/** `forbiddenCharacter` finds the first character that no configuration may contain; undefined if there is none. */
function forbiddenCharacter({ text, file }: Pick<Source, "text" | "file">): Problem | undefined {
  const found = forbidden.exec(text);
  if (found === null) return undefined;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return {
    ...(file === undefined ? {} : { file }),
    ...positionAt(text, found.index),
    why: `the character U+${code} here is not allowed in TOML; remove it`,
  };
}

/** `decodeConfig` decodes a configuration file as UTF-8. Throws ConfigFault with the position of the first invalid byte. */
export function decodeConfig(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const why = "this is not UTF-8; save the file in the encoding UTF-8";
  throw new ConfigFault([{ file, ...firstInvalid(bytes), why }]);
}

/**
 * `firstInvalid` finds the first character that does not encode to the same bytes: the decoder replaces invalid bytes by U+FFFD.
 */
function firstInvalid(bytes: Buffer): Position {
  const text = bytes.toString("utf8");
  let offset = 0;
  let at = 0;
  for (const character of text) {
    const encoded = Buffer.from(character);
    if (!bytes.subarray(at, at + encoded.length).equals(encoded)) break;
    at += encoded.length;
    offset += character.length;
  }
  return positionAt(text, offset);
}
