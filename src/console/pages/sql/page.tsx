import { useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle } from "../../editor/props.ts";
import { quoteName } from "../../editor/sql-name.ts";
import { time } from "../../format.ts";
import { linkTo, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { browserStorage } from "../../storage.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { act, type LoadState, useLoad, WhenLoaded } from "../../ui/call.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Check, Form, FormProblem, Submit, TextField } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Page, Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { mayChange } from "./model.ts";
import {
  maxNameChars,
  maxSavedChars,
  readSchema,
  SavedStatements,
  type Schema,
  type Table,
} from "./queries.ts";
import { OutcomeView } from "./result.tsx";
import { closeTable, TableBrowser } from "./table-browser.tsx";
import { type HistoryEntry, maxHistoryEntries, workspaceOf } from "./workspace.ts";
import "./sql.css";

/** Where the browser keeps that the warning about SQL was read. */
const trustKey = "node-server-sql-trust";

export default function SqlPage() {
  const session = useSession();
  const workspace = workspaceOf(session);
  const editor = useRef<EditorHandle>(null);
  const [shown, setShown] = useState<"history" | "saved">();
  const [hasRead, setRead] = useState(() => browserStorage.read(trustKey) !== undefined);
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
      {!hasRead && (
        <p class="notice sql-trust">
          <Icon name="warning" />
          <span>{t.sql.fullTrust}</span>
          <Button
            onClick={() => {
              browserStorage.write(trustKey, "read");
              setRead(true);
            }}
          >
            {t.sql.understood}
          </Button>
        </p>
      )}
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

interface HistoryDialogProps {
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

interface SchemaListProps {
  readonly schema: LoadState<Schema>;
  readonly onPick: (name: string) => void;
}

/** Tables with their columns. A click on a name inserts it into the editor; the button beside a table shows its rows. */
function SchemaList({ schema: { value, error, loading, reload }, onPick }: SchemaListProps) {
  return (
    <details class="sql-schema" open={wide.matches}>
      <summary>
        {t.sql.tables}
        {value !== undefined && ` (${value.tables.length})`}
      </summary>
      <div class="sql-schema-body">
        <div class="row">
          <span class="muted">{value === undefined ? "" : dialectNames[value.dialect]}</span>
          <Button kind="quiet" busy={loading} onClick={reload}>
            {t.frame.reload}
          </Button>
        </div>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value?.tables.map((table) => (
          <TableEntry key={table.id} table={table} onPick={onPick} />
        ))}
      </div>
    </details>
  );
}

interface TableEntryProps {
  readonly table: Table;
  readonly onPick: SchemaListProps["onPick"];
}

function TableEntry({ table, onPick }: TableEntryProps) {
  const isShown = route.value.query.get("table") === table.id;
  return (
    <div class="sql-table">
      <details>
        <summary>{table.name}</summary>
        <ul>
          <li>
            <Name text={t.sql.insertTable} onClick={() => onPick(table.quoted)} />
          </li>
          {table.columns.map(({ name, type }) => (
            <li key={name}>
              <Name text={name} onClick={() => onPick(quoteName(name))} />
              <small>{type}</small>
            </li>
          ))}
        </ul>
      </details>
      <a
        class="button quiet icon-only"
        href={linkTo("sql", [], { table: table.id })}
        aria-label={t.sql.showTable(table.name)}
        title={t.sql.showTable(table.name)}
        aria-current={isShown ? "page" : undefined}
      >
        <Icon name="table" />
      </a>
    </div>
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
/** On a small screen the list is closed, because it is below the editor and the result. */
const wide = matchMedia("(min-width: 1001px)");

interface SavedDialogProps {
  readonly saved: SavedStatements;
  /** Text of the editor, which can be saved. */
  readonly text: string;
  readonly onPick: (sql: string) => void;
  readonly onClose: () => void;
}

/** Saved statements. A click puts one into the editor; the editor's text can be saved under a name. */
function SavedDialog({ saved, text, onPick, onClose }: SavedDialogProps) {
  const list = useLoad((signal) => saved.list(signal), [saved]);
  const remove = (name: string) =>
    act({
      ask: {
        title: t.sql.deleteSaved(name),
        text: t.sql.deleteSavedText,
        action: t.frame.delete,
        danger: true,
      },
      run: () => saved.delete(name),
      after: list.reload,
    });
  return (
    <Dialog title={t.sql.saved} onClose={onClose} wide>
      <p class="muted">{t.sql.savedText}</p>
      <SaveForm saved={saved} text={text} onSaved={list.reload} />
      <WhenLoaded of={list} rows={3}>
        {(statements) =>
          statements.length === 0 ? (
            <p class="empty">{t.sql.nothingSaved}</p>
          ) : (
            <ul class="sql-history">
              {statements.map(({ name, sql, savedAt }) => (
                <li key={name}>
                  <button type="button" onClick={() => onPick(sql)}>
                    <strong>{name}</strong>
                    <code>{sql}</code>
                    <small>{time(savedAt)}</small>
                  </button>
                  <IconButton icon="trash" label={t.sql.deleteNamed(name)} onClick={() => remove(name)} />
                </li>
              ))}
            </ul>
          )
        }
      </WhenLoaded>
    </Dialog>
  );
}

interface SaveFormProps {
  readonly saved: SavedStatements;
  readonly text: string;
  readonly onSaved: () => void;
}

function SaveForm({ saved, text, onSaved }: SaveFormProps) {
  const [name, setName] = useState("");
  const problem = problemOf(text);
  const save = async () => {
    const wanted = name.trim();
    const asked = { title: t.sql.replaceSaved(wanted), text: t.sql.replaceSavedText, danger: true };
    const isNew = await saved.save(wanted, text, { replace: false });
    if (!isNew && !(await confirm({ ...asked, action: t.sql.replace }))) return;
    if (!isNew) await saved.save(wanted, text, { replace: true });
    setName("");
    toast(t.sql.savedAs(wanted));
    onSaved();
  };
  return (
    <Form class="row sql-save" onSubmit={save}>
      <TextField
        label={t.sql.saveName}
        hint={problem}
        maxLength={maxNameChars}
        value={name}
        onChange={setName}
      />
      <Submit disabled={problem !== undefined || name.trim() === ""}>{t.frame.save}</Submit>
      <FormProblem />
    </Form>
  );
}

/** Why the text of the editor cannot be saved. */
function problemOf(text: string): string | undefined {
  if (text.trim() === "") return t.sql.nothingToSave;
  return text.length > maxSavedChars ? t.sql.tooLongToSave(t.sql.countCharacters(maxSavedChars)) : undefined;
}
