import { useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { plural, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { showError } from "../../ui/toasts.tsx";
import { OutcomeView } from "./outcome.tsx";
import { readSchema, SchemaList } from "./schema.tsx";
import { mayChange } from "./statements.ts";
import { type HistoryEntry, maxHistoryEntries, workspaceOf } from "./workspace.ts";

export default function SqlPage() {
  const session = useSession();
  const workspace = workspaceOf(session);
  const editor = useRef<EditorHandle>(null);
  const [showsHistory, setShowsHistory] = useState(false);
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
  const outcome = workspace.outcome.value;
  const mark = outcome?.kind === "error" ? outcome.mark : undefined;
  const marks = useMemo(() => (mark === undefined ? [] : [mark]), [mark]);
  const busy = workspace.running.value !== undefined;

  const run = async () => {
    const selected = editor.current?.selected;
    const part = selected !== undefined && selected.text.trim() !== "" ? selected : undefined;
    const sql = part?.text ?? workspace.text.value;
    if (sql.trim() === "" || busy) return;
    if (workspace.confirmsChanges.value && mayChange(sql, dialect) && !(await confirmRun(sql))) return;
    await workspace.run(sql, part ?? { line: 1, column: 1 });
    if (mayChange(sql, dialect)) schema.reload();
  };

  return (
    <Page
      title="SQL"
      tall
      actions={
        <Button icon="logs" onClick={() => setShowsHistory(true)}>
          History
        </Button>
      }
    >
      <p class="notice sql-trust">
        <Icon name="warning" />
        <span>
          Full trust: statements can read everything here, including the hashes of tokens, and change
          anything. On SQLite they can write any file that the server can.
        </span>
      </p>
      <div class="sql">
        <div class="sql-workspace">
          <div class="sql-editor">
            <Editor
              label="SQL statement"
              language="sql"
              {...(dialect === undefined ? {} : { dialect })}
              {...(completion === undefined ? {} : { schema: completion })}
              value={workspace.text.value}
              revision={workspace.revision.value}
              onChange={(text) => {
                workspace.text.value = text;
              }}
              marks={marks}
              onRun={() => void run().catch(showError)}
              handle={editor}
            />
          </div>
          <div class="row">
            {busy ? (
              <Button icon="close" onClick={() => workspace.stopWaiting()}>
                Stop waiting
              </Button>
            ) : (
              <Button icon="play" kind="primary" onClick={() => void run().catch(showError)}>
                Run
              </Button>
            )}
            <Check
              label="Ask before statements that change data"
              checked={workspace.confirmsChanges.value}
              onChange={(checked) => {
                workspace.confirmsChanges.value = checked;
              }}
            />
            <span class="hint">Ctrl+Enter runs · Esc, then Tab leaves the editor</span>
          </div>
          <OutcomeView
            workspace={workspace}
            dialect={dialect}
            onGoTo={() => mark !== undefined && editor.current?.goTo(mark)}
          />
        </div>
        <SchemaList schema={schema} onPick={(name) => editor.current?.insert(name)} />
      </div>
      {showsHistory && (
        <HistoryDialog
          history={workspace.history.value}
          onPick={(sql) => {
            workspace.replace(sql);
            setShowsHistory(false);
          }}
          onClose={() => setShowsHistory(false)}
        />
      )}
    </Page>
  );
}

function confirmRun(sql: string): Promise<boolean> {
  return confirm({
    title: "Run this?",
    text: (
      <>
        <p>This may change data, which cannot be undone here:</p>
        <pre class="sql-statement" tabIndex={0}>
          {sql.trim()}
        </pre>
      </>
    ),
    action: "Run",
    danger: true,
  });
}

export interface HistoryDialogProps {
  readonly history: readonly HistoryEntry[];
  readonly onPick: (sql: string) => void;
  readonly onClose: () => void;
}

/** Recent statements. A click puts one back into the editor. */
function HistoryDialog({ history, onPick, onClose }: HistoryDialogProps) {
  return (
    <Dialog title="History" onClose={onClose} wide>
      <p class="muted">
        The last {plural(maxHistoryEntries, "statement")}, newest first. They are kept only in the memory of
        this tab, because they may contain secrets: signing out or reloading deletes them.
      </p>
      {history.length === 0 && <p class="empty">Nothing was run yet.</p>}
      <ul class="sql-history">
        {history.map(({ at, sql, end }) => (
          <li key={`${at.getTime()} ${sql}`}>
            <button type="button" onClick={() => onPick(sql)}>
              <code>{sql}</code>
              <small>
                {time(at)} · {end}
              </small>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
