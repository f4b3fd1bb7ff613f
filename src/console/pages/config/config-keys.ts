import type { ConfigKey } from "../../../client/index.ts";
import type { Suggestion, Suggestions } from "../../editor/props.ts";
import { t } from "../../text/text.ts";
/** Keys of the configuration, as the server declares them. */
export type ConfigKeys = readonly ConfigKey[];

/** Documentation of a key, with code between backticks. Links lead to files of the repository, so only their texts are left. */
export function descriptionOf({ table, name, description }: ConfigKey): string {
  const text = t.config.descriptions[table === undefined ? name : `${table}.${name}`] ?? description;
  return text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
}

/** Kind of the values of a key. */
export function typeOf({ type }: ConfigKey): string {
  return t.config.types[type] ?? type;
}

const header = /^[ \t]*\[\[?[ \t]*([\w-]*)[ \t]*\]/;
/** A key and what is before its value. A key in a comment is found too, because a new file has most keys in comments. */
const setting = /^[ \t]*(#?)[ \t]*([\w-]+)[ \t]*=[ \t]*/;

/** Key that a line sets, with the table that the line is in; undefined for other lines. Lines start at 1. */
export function keyAt(keys: ConfigKeys, text: string, line: number): ConfigKey | undefined {
  const lines = text.split("\n").slice(0, line);
  const name = setting.exec(lines.at(-1) ?? "")?.[2];
  return name === undefined ? undefined : findKey(keys, tableOf(lines), name);
}

function findKey(keys: ConfigKeys, table: string | undefined, name: string): ConfigKey | undefined {
  return keys.find((key) => key.table === table && key.name === name);
}

/** Table that a line after these is in; undefined above the first one. */
function tableOf(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => header.test(line))?.match(header)?.[1];
}

/** Names that are set in the table around a line, which is counted from 0. Of a repeated table, only the one there counts. */
function namesAround(text: string, line: number): ReadonlySet<string> {
  const lines = text.split("\n");
  const start = lines.findLastIndex((one, at) => at < line && header.test(one)) + 1;
  const end = lines.findIndex((one, at) => at >= start && header.test(one));
  const own = lines.slice(start, end === -1 ? undefined : end).map((one) => setting.exec(one) ?? []);
  return new Set(own.flatMap(([, comment, name]) => (comment === "" && name !== undefined ? [name] : [])));
}

/** Suggestions for what is being written at an offset of the text: a table, a key that is not set yet, or a value. */
export function suggestConfig(keys: ConfigKeys, text: string, at: number): Suggestions | undefined {
  const lines = text.slice(0, at).split("\n");
  const before = lines.at(-1) ?? "";
  const [after = ""] = text.slice(at).split("\n", 1);
  const table = tableOf(lines.slice(0, -1));
  const [, second, begun] = /^[ \t]*\[(\[?)[ \t]*([\w-]*)$/.exec(before) ?? [];
  if (begun !== undefined) {
    const tables = keys.filter(({ is_repeated }) => is_repeated === (second === "["));
    return suggestionsFor(
      begun,
      [...new Set(tables.flatMap(({ table: named }) => named ?? []))].map((label) => ({ label })),
    );
  }
  const [, name] = /^[ \t]*([\w-]+)$/.exec(before) ?? [];
  if (name !== undefined)
    return suggestionsFor(
      name,
      keySuggestions(keys, { table, isSet: namesAround(text, lines.length - 1), after }),
    );
  const found = setting.exec(before);
  if (found === null || found[1] === "#") return undefined;
  const key = findKey(keys, table, found[2] ?? "");
  return key === undefined ? undefined : valueSuggestions(key, before.slice(found[0].length));
}

interface KeyContext {
  readonly table: string | undefined;
  /** Names that need no suggestion. */
  readonly isSet: ReadonlySet<string>;
  /** Rest of the line. */
  readonly after: string;
}

function keySuggestions(keys: ConfigKeys, { table, isSet, after }: KeyContext): Suggestion[] {
  return keys
    .filter((key) => key.table === table && !isSet.has(key.name))
    .map((key) => ({
      label: key.name,
      // The line may already have a value.
      apply: /^[ \t]*=/.test(after) ? key.name : `${key.name} = `,
      detail: typeOf(key),
      info: descriptionOf(key).replaceAll("`", ""),
    }));
}

/**
 * Values of a key. Inside quotes that are already written they have none. The default and the example are suggested only in an
 * empty place: Enter behind a 5 must not make a 500 of it.
 */
function valueSuggestions(key: ConfigKey, written: string): Suggestions | undefined {
  const isQuoted = written.startsWith('"');
  const begun = isQuoted ? written.slice(1) : written;
  if (key.choices.length === 0 && begun !== "") return undefined;
  const values = key.choices.length > 0 ? key.choices : [key.default, key.example];
  const unquoted = (value: string) => (isQuoted ? value.replace(/^"|"$/g, "") : value);
  const options = [...new Set(values)]
    .filter((value) => value !== undefined && (!isQuoted || value.startsWith('"')))
    .map((value = "") => ({
      label: unquoted(value),
      ...(value === key.default ? { detail: t.config.isDefault } : {}),
    }));
  return suggestionsFor(begun, options);
}

/** Nothing is suggested once a suggestion is written out: Enter then begins a new line, as the person expects. */
function suggestionsFor(written: string, options: readonly Suggestion[]): Suggestions | undefined {
  if (options.length === 0 || options.some(({ label }) => label === written)) return undefined;
  return { replaces: written.length, options };
}
