import type {
  Completion,
  CompletionContext,
  CompletionResult,
  CompletionSource,
} from "@codemirror/autocomplete";
import { PostgreSQL, SQLite, sql } from "@codemirror/lang-sql";
import { StreamLanguage, type StreamParser, syntaxTree } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
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
  scss: async () => (await import("@codemirror/legacy-modes/mode/css")).sCSS,
  less: async () => (await import("@codemirror/legacy-modes/mode/css")).less,
  go: async () => (await import("@codemirror/legacy-modes/mode/go")).go,
  rust: async () => (await import("@codemirror/legacy-modes/mode/rust")).rust,
  c: async () => (await import("@codemirror/legacy-modes/mode/clike")).c,
  cpp: async () => (await import("@codemirror/legacy-modes/mode/clike")).cpp,
  java: async () => (await import("@codemirror/legacy-modes/mode/clike")).java,
  kotlin: async () => (await import("@codemirror/legacy-modes/mode/clike")).kotlin,
  csharp: async () => (await import("@codemirror/legacy-modes/mode/clike")).csharp,
  scala: async () => (await import("@codemirror/legacy-modes/mode/clike")).scala,
  dart: async () => (await import("@codemirror/legacy-modes/mode/clike")).dart,
  php: async () => phpMode((await import("@codemirror/legacy-modes/mode/clike")).clike),
  ruby: async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby,
  swift: async () => (await import("@codemirror/legacy-modes/mode/swift")).swift,
  lua: async () => (await import("@codemirror/legacy-modes/mode/lua")).lua,
  perl: async () => (await import("@codemirror/legacy-modes/mode/perl")).perl,
  r: async () => (await import("@codemirror/legacy-modes/mode/r")).r,
  julia: async () => (await import("@codemirror/legacy-modes/mode/julia")).julia,
  haskell: async () => (await import("@codemirror/legacy-modes/mode/haskell")).haskell,
  clojure: async () => (await import("@codemirror/legacy-modes/mode/clojure")).clojure,
  erlang: async () => (await import("@codemirror/legacy-modes/mode/erlang")).erlang,
  groovy: async () => (await import("@codemirror/legacy-modes/mode/groovy")).groovy,
  powershell: async () => (await import("@codemirror/legacy-modes/mode/powershell")).powerShell,
  protobuf: async () => (await import("@codemirror/legacy-modes/mode/protobuf")).protobuf,
  diff: async () => (await import("@codemirror/legacy-modes/mode/diff")).diff,
  properties: async () => (await import("@codemirror/legacy-modes/mode/properties")).properties,
  tex: async () => (await import("@codemirror/legacy-modes/mode/stex")).stex,
  dockerfile: async () => (await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile,
  nginx: async () => (await import("@codemirror/legacy-modes/mode/nginx")).nginx,
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

type Clike = typeof import("@codemirror/legacy-modes/mode/clike").clike;

/** PHP has no mode of its own there. */
function phpMode(clike: Clike): StreamParser<unknown> {
  const wordSet = (text: string) => Object.fromEntries(text.split(" ").map((word) => [word, true]));
  return clike({
    name: "php",
    keywords: wordSet(
      "abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends final finally fn for foreach function global goto if implements include include_once instanceof interface match namespace new or print private protected public readonly require require_once return static switch throw trait try use var while xor yield",
    ),
    blockKeywords: wordSet("catch do else elseif for foreach if switch try while finally"),
    atoms: wordSet("true false null TRUE FALSE NULL"),
    multiLineStrings: true,
    hooks: {
      $(stream: { eatWhile(pattern: RegExp): boolean }) {
        stream.eatWhile(/[\w$]/);
        return "variable-2";
      },
      "#"(stream: { skipToEnd(): void }) {
        stream.skipToEnd();
        return "comment";
      },
    },
  });
}

export async function languageOf(props: EditorProps): Promise<Extension> {
  const { language = "", dialect, schema, suggest } = props;
  if (language === "sql") return sqlOf(dialect, schema);
  const completion = suggest === undefined ? [] : suggestionsOf(suggest);
  const mode = Object.hasOwn(modes, language) ? modes[language] : undefined;
  if (mode === undefined) return completion;
  return [StreamLanguage.define({ ...(await importCode(mode)), tokenTable: modeTags }), completion];
}

/**
 * The list is made anew with each character, because what was written may be complete by then; at once, because a click on a list that
 * waits for its successor does nothing.
 */
function suggestionsOf(suggest: NonNullable<EditorProps["suggest"]>): Extension {
  const listAt = ({ state, pos }: CompletionContext): CompletionResult | null => {
    const found = suggest(state.doc.toString(), pos);
    if (found === undefined) return null;
    const { options, replaces } = found;
    return { from: pos - replaces, options, update: (_list, _from, _to, context) => listAt(context) };
  };
  return EditorState.languageData.of(() => [{ autocomplete: listAt }]);
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
