import type { Completion, CompletionContext, CompletionSource } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { SqlSchema } from "./props.ts";
import { written } from "./sql-name.ts";

/** Completes the columns of the tables that the text names; the language by itself knows them only behind `table.`. */
export function columnsOf(schema: SqlSchema): CompletionSource {
  const tables = Object.entries(schema).map(
    ([table, columns]) => [new RegExp(`(?<!\\w)${literally(table)}(?!\\w)`), table, columns] as const,
  );
  return (context) => {
    const word = context.matchBefore(/\w+/);
    if (word === null || context.state.sliceDoc(word.from - 1, word.from) === "." || isProse(context))
      return null;
    const text = context.state.doc.toString();
    const options: Completion[] = tables
      .filter(([pattern]) => pattern.test(text))
      .flatMap(([, table, columns]) =>
        columns.map((name) => ({ label: name, apply: written(name), detail: table, type: "property" })),
      );
    return { from: word.from, options, validFor: /^\w*$/ };
  };
}

function isProse({ state, pos }: CompletionContext): boolean {
  return /String|Comment|Quoted/.test(syntaxTree(state).resolveInner(pos, -1).name);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
