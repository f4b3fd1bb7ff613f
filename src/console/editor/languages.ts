import { PostgreSQL, SQLite, sql } from "@codemirror/lang-sql";
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import type { EditorProps, SqlSchema } from "./props.ts";
import { columnsOf } from "./sql-columns.ts";

type Mode = () => Promise<StreamParser<unknown>>;

/** Each is fetched when a text of its kind is shown. */
const modes: Readonly<Record<string, Mode>> = {
  toml: async () => (await import("@codemirror/legacy-modes/mode/toml")).toml,
  json: async () => (await import("@codemirror/legacy-modes/mode/javascript")).json,
  javascript: async () => (await import("@codemirror/legacy-modes/mode/javascript")).javascript,
  typescript: async () => (await import("@codemirror/legacy-modes/mode/javascript")).typescript,
  css: async () => (await import("@codemirror/legacy-modes/mode/css")).css,
  html: async () => (await import("@codemirror/legacy-modes/mode/xml")).html,
  xml: async () => (await import("@codemirror/legacy-modes/mode/xml")).xml,
  yaml: async () => (await import("@codemirror/legacy-modes/mode/yaml")).yaml,
  shell: async () => (await import("@codemirror/legacy-modes/mode/shell")).shell,
  python: async () => (await import("@codemirror/legacy-modes/mode/python")).python,
};

export async function languageOf({ language = "", dialect, schema }: EditorProps): Promise<Extension> {
  if (language === "sql") return sqlOf(dialect, schema);
  const mode = Object.hasOwn(modes, language) ? modes[language] : undefined;
  return mode === undefined ? [] : StreamLanguage.define(await mode());
}

function sqlOf(dialect: EditorProps["dialect"], schema: SqlSchema = {}): Extension {
  const support = sql({
    dialect: dialect === "postgres" ? PostgreSQL : SQLite,
    schema: schema as Record<string, string[]>,
  });
  return [support, support.language.data.of({ autocomplete: columnsOf(schema) })];
}
