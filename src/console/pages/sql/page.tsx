import { useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { showError } from "../../ui/toasts.tsx";
import { mayChange } from "./changes.ts";
import { deskOf } from "./desk.ts";
import { OutcomeView } from "./outcome.tsx";
import { PastList } from "./past-list.tsx";
import { readSchema } from "./schema.ts";
import { SchemaList } from "./schema-list.tsx";

export default function SqlPage() {
  const session = useSession();
  const desk = deskOf(session);
  const editor = useRef<EditorHandle>(null);
  const [showsPast, setShowsPast] = useState(false);
  const mayAsk = session.rights.globally({ node: "get_database_type" });
  const schema = useLoad((signal) => readSchema(session.client, mayAsk, signal), [session]);
  const dialect = schema.value?.dialect;
  const completion = useMemo(
    () =>
      schema.value &&
      Object.fromEntries(
        schema.value.tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]),
      ),
    [schema.value],
  );
  const outcome = desk.outcome.value;
  const mark = outcome?.kind === "error" ? outcome.mark : undefined;
  const marks = useMemo(() => (mark === undefined ? [] : [mark]), [mark]);
  const busy = desk.running.value !== undefined;

  const run = async () => {
    const selected = editor.current?.selected;
    const part = selected !== undefined && selected.text.trim() !== "" ? selected : undefined;
    const sql = part?.text ?? desk.text.value;
    if (sql.trim() === "" || busy) return;
    if (desk.asks.value && mayChange(sql, dialect) && !(await isMeant(sql))) return;
    await desk.run(sql, part ?? { line: 1, column: 1 });
    if (mayChange(sql, dialect)) schema.reload();
  };

  return (
    <Page
      title="SQL"
      tall
      actions={
        <Button icon="logs" onClick={() => setShowsPast(true)}>
          History
        </Button>
      }
    >
      <p class="notice sql-trust">
        <Icon name="warning" />
        <span>
          Full trust: statements read everything here, hashes of tokens included, and change anything. On
          SQLite they can write any file that the server can.
        </span>
      </p>
      <div class="sql">
        <div class="sql-desk">
          <div class="sql-editor">
            <Editor
              label="SQL statement"
              language="sql"
              {...(dialect === undefined ? {} : { dialect })}
              {...(completion === undefined ? {} : { schema: completion })}
              value={desk.text.value}
              revision={desk.revision.value}
              onChange={(text) => {
                desk.text.value = text;
              }}
              marks={marks}
              onRun={() => void run().catch(showError)}
              handle={editor}
            />
          </div>
          <div class="row">
            {busy ? (
              <Button icon="close" onClick={() => desk.leave()}>
                Stop waiting
              </Button>
            ) : (
              <Button icon="play" kind="primary" onClick={() => void run().catch(showError)}>
                Run
              </Button>
            )}
            <Check
              label="Ask before statements that change something"
              checked={desk.asks.value}
              onChange={(checked) => {
                desk.asks.value = checked;
              }}
            />
            <span class="hint">Ctrl+Enter runs · Esc, then Tab leaves the editor</span>
          </div>
          <OutcomeView
            desk={desk}
            dialect={dialect}
            onGoTo={() => mark !== undefined && editor.current?.goTo(mark)}
          />
        </div>
        <SchemaList schema={schema} onPick={(name) => editor.current?.insert(name)} />
      </div>
      {showsPast && (
        <PastList
          past={desk.past.value}
          onPick={(sql) => {
            desk.replace(sql);
            setShowsPast(false);
          }}
          onClose={() => setShowsPast(false)}
        />
      )}
    </Page>
  );
}

function isMeant(sql: string): Promise<boolean> {
  return confirm({
    title: "Run this?",
    text: (
      <>
        <p>This may change something, and what is committed cannot be undone here:</p>
        <pre class="sql-asked" tabIndex={0}>
          {sql.trim()}
        </pre>
      </>
    ),
    action: "Run",
    danger: true,
  });
}
