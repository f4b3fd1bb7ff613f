import { quoteName } from "../../editor/sql-name.ts";
import { Button } from "../../ui/button.tsx";
import type { Loaded } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";
import type { Schema } from "./schema.ts";

export interface SchemaListProps {
  readonly schema: Loaded<Schema>;
  readonly onPick: (name: string) => void;
}

/** Tables with their columns; a click puts a name into the text. */
export function SchemaList({ schema: { value, error, loading, reload }, onPick }: SchemaListProps) {
  return (
    <details class="sql-schema" open={wide.matches}>
      <summary>Tables{value !== undefined && ` (${value.tables.length})`}</summary>
      <div class="sql-schema-body">
        <div class="row">
          <span class="muted">{value === undefined ? "" : dialectNames[value.dialect]}</span>
          <Button kind="quiet" disabled={loading} onClick={reload}>
            Reload
          </Button>
        </div>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value?.tables.map((table) => (
          <details key={table.name}>
            <summary>{table.name}</summary>
            <ul>
              <li>
                <Name text="Insert the table’s name" onClick={() => onPick(table.quoted)} />
              </li>
              {table.columns.map(({ name, type }) => (
                <li key={name}>
                  <Name text={name} onClick={() => onPick(quoteName(name))} />
                  <small>{type}</small>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </details>
  );
}

function Name({ text, onClick }: { readonly text: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="sql-name" onClick={onClick}>
      {text}
    </button>
  );
}

const dialectNames = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;
/** On a phone the list would stand between the text and its result. */
const wide = matchMedia("(min-width: 761px)");
