import type { Completion, CompletionContext, CompletionSource } from "@codemirror/autocomplete";
import { PostgreSQL, SQLite, sql } from "@codemirror/lang-sql";
import { StreamLanguage, type StreamParser, syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import { importCode } from "../connection.ts";
import type { EditorProps, SqlSchema } from "./props.ts";
import { quoteName } from "./sql-name.ts";

type Mode = () => Promise<StreamParser<unknown>>;

/** Language modes, each fetched on demand. */
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

/** Token names of legacy modes. CodeMirror knows them alone, but not in combinations such as JSON's `string property`. */
const modeTags = {
  variable: tags.variableName,
  "variable-2": tags.special(tags.variableName),
  "string-2": tags.special(tags.string),
  def: tags.definition(tags.variableName),
  tag: tags.tagName,
  attribute: tags.attributeName,
  type: tags.typeName,
  builtin: tags.standard(tags.variableName),
  qualifier: tags.modifier,
  error: tags.invalid,
  header: tags.heading,
  property: tags.propertyName,
};

export async function languageOf({ language = "", dialect, schema }: EditorProps): Promise<Extension> {
  if (language === "sql") return sqlOf(dialect, schema);
  const mode = Object.hasOwn(modes, language) ? modes[language] : undefined;
  return mode === undefined
    ? []
    : StreamLanguage.define({ ...(await importCode(mode)), tokenTable: modeTags });
}

function sqlOf(dialect: EditorProps["dialect"], schema: SqlSchema = {}): Extension {
  const support = sql({
    dialect: dialect === "postgres" ? PostgreSQL : SQLite,
    schema: schema as Record<string, string[]>,
  });
  return [support, support.language.data.of({ autocomplete: completeColumns(schema) })];
}

/** Completes columns of the tables named in the text. The SQL language completes them only after `table.`. */
function completeColumns(schema: SqlSchema): CompletionSource {
  const tables = Object.entries(schema).map(
    ([table, columns]) => [new RegExp(`(?<!\\w)${escapeRegExp(table)}(?!\\w)`), table, columns] as const,
  );
  return (context) => {
    const word = context.matchBefore(/\w+/);
    if (
      word === null ||
      context.state.sliceDoc(word.from - 1, word.from) === "." ||
      isInTextOrComment(context)
    )
      return null;
    const text = context.state.doc.toString();
    const options: Completion[] = tables
      .filter(([pattern]) => pattern.test(text))
      .flatMap(([, table, columns]) =>
        columns.map((name) => ({ label: name, apply: quoteName(name), detail: table, type: "property" })),
      );
    return { from: word.from, options, validFor: /^\w*$/ };
  };
}

function isInTextOrComment({ state, pos }: CompletionContext): boolean {
  return /String|Comment|Quoted/.test(syntaxTree(state).resolveInner(pos, -1).name);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
