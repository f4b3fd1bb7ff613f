import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { toComplaint } from "../base/issue.ts";
import { locate } from "./locate.ts";
import { type Config, configSchema, sections } from "./schema.ts";

export interface ParsedConfig {
  readonly config: Config;
  /** Keys that mean nothing here: allowed, but worth a warning. */
  readonly unknown: readonly string[];
}

/** Reads a whole configuration text, or says what is wrong with it and where. */
export function parseConfig(text: string): ParsedConfig {
  const raw = parseToml(text);
  const read = configSchema.safeParse(raw);
  if (!read.success) throw refusal(text, raw, read.error.issues);
  return { config: read.data, unknown: unknownKeys(raw) };
}

function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    const [summary = "not TOML"] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    throw new Fault(
      "ParseError",
      `the configuration is not TOML: ${summary} (line ${line}, column ${column})`,
      { line, column },
    );
  }
}

function refusal(text: string, raw: unknown, issues: readonly z.core.$ZodIssue[]): Fault {
  const found = issues.map((issue) => {
    const { path, why } = toComplaint(issue, raw);
    const { line, column } = locate(text, path);
    const field = path.join(".");
    return { line, column, field, words: `${field} ${why} (line ${line}, column ${column})` };
  });
  const { line, column, field } = found[0] ?? { line: 1, column: 1, field: "" };
  return new Fault("ParseError", `configuration: ${found.map(({ words }) => words).join("; ")}`, {
    line,
    column,
    field,
  });
}

function unknownKeys(raw: Record<string, unknown>): string[] {
  const tables = sections.flatMap(([table]) => (table === undefined ? [] : [table]));
  return sections.flatMap(([table, keys]) => {
    const here = table === undefined ? raw : (raw[table] ?? {});
    return Object.keys(here)
      .filter((name) => !Object.hasOwn(keys, name) && !(table === undefined && tables.includes(name)))
      .map((name) => (table === undefined ? name : `${table}.${name}`));
  });
}
