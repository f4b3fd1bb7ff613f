import { useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { time } from "../../format.ts";
import { route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Page } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { showError } from "../../ui/toasts.tsx";
import { OutcomeView } from "./outcome.tsx";
import { SavedDialog } from "./saved-dialog.tsx";
import { SavedStatements } from "./saved-statements.ts";
import { SchemaList } from "./schema.tsx";
import { mayChange } from "./statements.ts";
import { closeTable, TableBrowser } from "./table-browser.tsx";
import { readSchema } from "./tables.ts";
import { type HistoryEntry, maxHistoryEntries, workspaceOf } from "./workspace.ts";

export default function SqlPage() {
  const session = useSession();
  const workspace = workspaceOf(session);
  const editor = useRef<EditorHandle>(null);
  const [shown, setShown] = useState<"history" | "saved">();
  const close = () => setShown(undefined);
  const mayAsk = session.rights.may("node-server_get_database_type");
  const schema = useLoad((signal) => readSchema(session.client, mayAsk, signal), [session]);
  const dialect = schema.value?.dialect;
  const saved = useMemo(
    () => (dialect === undefined ? undefined : new SavedStatements(session.client, dialect)),
    [session, dialect],
  );
  const completion = useMemo(
    () =>
      schema.value &&
      Object.fromEntries(
        schema.value.tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]),
      ),
    [schema.value],
  );
  const browsed = route.value.query.get("table");
  const table = schema.value?.tables.find(({ id }) => id === browsed);
  const pick = (sql: string) => {
    if (browsed !== null) closeTable();
    workspace.replace(sql);
    close();
  };
  const outcome = workspace.outcome.value;
  const mark = outcome?.kind === "error" ? outcome.mark : undefined;
  const marks = useMemo(() => (mark === undefined ? [] : [mark]), [mark]);
  const busy = workspace.running.value !== undefined;

  /** Selected text, or the whole text. */
  const chosen = () => {
    const selected = editor.current?.selected;
    const isPart = selected !== undefined && selected.text.trim() !== "";
    return isPart ? selected : { text: workspace.text.value, line: 1, column: 1 };
  };
  const run = async () => {
    const { text: sql, ...start } = chosen();
    if (sql.trim() === "" || busy) return;
    if (workspace.confirmsChanges.value && mayChange(sql, dialect) && !(await confirmRun(sql))) return;
    await workspace.run(sql, start);
    if (mayChange(sql, dialect)) schema.reload();
  };
  const explain = async () => {
    const { text: sql, ...start } = chosen();
    if (sql.trim() !== "" && dialect !== undefined) await workspace.explain(sql, start, dialect);
  };

  return (
    <Page
      title={t.frame.sql}
      tall
      actions={
        <>
          <Button disabled={saved === undefined} onClick={() => setShown("saved")}>
            {t.sql.saved}
          </Button>
          <Button icon="logs" onClick={() => setShown("history")}>
            {t.sql.history}
          </Button>
        </>
      }
    >
      <p class="notice sql-trust">
        <Icon name="warning" />
        <span>{t.sql.fullTrust}</span>
      </p>
      <div class="sql">
        {browsed !== null && table === undefined && (
          <div class="sql-workspace">
            {schema.value === undefined ? <Skeleton rows={6} /> : <NoTable id={browsed} />}
          </div>
        )}
        {table !== undefined && dialect !== undefined && (
          <TableBrowser key={table.id} table={table} dialect={dialect} />
        )}
        {/* Hidden, not removed: the editor keeps its cursor and what can be undone. */}
        <div class="sql-workspace" hidden={browsed !== null}>
          <div class="sql-editor">
            <Editor
              label={t.sql.statement}
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
              <Button icon="close" onClick={() => workspace.stop()}>
                {t.sql.stop}
              </Button>
            ) : (
              <Button icon="play" kind="primary" onClick={() => void run().catch(showError)}>
                {t.sql.run}
              </Button>
            )}
            <Button busy={busy} disabled={dialect === undefined} title={t.sql.explainTitle} onClick={explain}>
              {t.sql.explain}
            </Button>
            <Check
              label={t.sql.askFirst}
              checked={workspace.confirmsChanges.value}
              onChange={(checked) => {
                workspace.confirmsChanges.value = checked;
              }}
            />
            <span class="hint">{t.sql.keysHint}</span>
          </div>
          <OutcomeView
            workspace={workspace}
            dialect={dialect}
            onGoTo={() => mark !== undefined && editor.current?.goTo(mark)}
          />
        </div>
        <SchemaList
          schema={schema}
          onPick={(name) => {
            if (browsed !== null) closeTable();
            editor.current?.insert(name);
          }}
        />
      </div>
      {shown === "history" && (
        <HistoryDialog history={workspace.history.value} onPick={pick} onClose={close} />
      )}
      {shown === "saved" && saved !== undefined && (
        <SavedDialog saved={saved} text={workspace.text.value} onPick={pick} onClose={close} />
      )}
    </Page>
  );
}

function NoTable({ id }: { readonly id: string }) {
  return (
    <>
      <p class="empty">{t.sql.noTable(id)}</p>
      <div class="row">
        <Button icon="previous" onClick={closeTable}>
          {t.sql.backToStatement}
        </Button>
      </div>
    </>
  );
}

function confirmRun(sql: string): Promise<boolean> {
  return confirm({
    title: t.sql.runQuestion,
    text: (
      <>
        <p>{t.sql.mayChange}</p>
        <pre class="sql-statement" tabIndex={0}>
          {sql.trim()}
        </pre>
      </>
    ),
    action: t.sql.run,
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
    <Dialog title={t.sql.history} onClose={onClose} wide>
      <p class="muted">{t.sql.historyText(t.sql.countStatements(maxHistoryEntries))}</p>
      {history.length === 0 && <p class="empty">{t.sql.noHistory}</p>}
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
