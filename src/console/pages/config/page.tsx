import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ConfigKey, InvalidInput, type NodeServerClient } from "../../../client/index.ts";
import { untilReachable } from "../../connection.ts";
import { Editor } from "../../editor/editor.tsx";
import type { EditorHandle, Position } from "../../editor/props.ts";
import { listed } from "../../format.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import { type ConfigKeys, descriptionOf, keyAt, suggestConfig, typeOf } from "./config-keys.ts";
import { type ConfigDraft, draftOf, type SaveResult } from "./draft.ts";
import {
  type DiffLine,
  diffLines,
  type Finding,
  findingsIn,
  hasSecrets,
  hideSecrets,
  marksOf,
  problemsOf,
  secrets,
  withContext,
} from "./model.ts";
import "./config.css";

const noKeys: ConfigKeys = [];

export default function ConfigPage() {
  const session = useSession();
  const draft = draftOf(session);
  const editor = useRef<EditorHandle>(null);
  const [step, setStep] = useState<SaveStep>();
  const [warnings, setWarnings] = useState<readonly Finding[]>([]);
  /** Text that was not saved because of its problems. */
  const [refusedText, setRefusedText] = useState<string>();
  const [showsSecrets, setShowsSecrets] = useState(false);
  const [cursorLine, setCursorLine] = useState(1);
  const {
    value: keys = noKeys,
    error,
    reload,
  } = useLoad(
    async (signal): Promise<ConfigKeys> => {
      const declared = session.client.call("node-server_config_schema", {}, { signal });
      // An existing draft is kept. Saving checks whether the file has changed since.
      if (!draft.isChanged) draft.reset(await draft.read(signal));
      return declared;
    },
    [draft],
  );
  // The editor keeps the function that it was made with.
  const known = useRef(keys);
  known.current = keys;
  const isRead = draft.file.value !== undefined;
  const text = draft.text.value;
  const checked = useCheck(session.client, isRead ? text : undefined);
  const saved = draft.saved.value;
  const marks = useMemo(
    () => [...marksOf(checked.problems, "error"), ...marksOf(checked.warnings, "warning")],
    [checked.problems, checked.warnings],
  );

  const save = async () => {
    if (!isRead || step !== undefined) return;
    const next = await nextStep(draft);
    if (next === undefined) return toast(t.config.nothingToSave);
    const found = await checkText(session.client, text);
    if (found.problems.length > 0) return setRefusedText(text);
    setWarnings(found.warnings);
    setStep(next);
  };
  useSaveKey(() => void save().catch(showError));

  const discard = async () => {
    const sure = {
      title: t.config.discardQuestion,
      text: t.config.discardText,
      danger: true,
    };
    if (draft.isChanged && !(await confirm({ ...sure, action: t.frame.discard }))) return;
    draft.reset(await draft.read());
  };

  return (
    <Page
      title={t.frame.config}
      tall
      actions={
        <>
          {draft.isChanged && <span class="badge warn">{t.config.unsavedBadge}</span>}
          <Button onClick={discard} disabled={!isRead}>
            {t.frame.reload}
          </Button>
          <Button kind="primary" onClick={save} disabled={!isRead}>
            {t.config.saveDots}
          </Button>
        </>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {error instanceof InvalidInput && <p>{t.config.whereHint}</p>}
      {saved !== undefined && <SavedView saved={saved} />}
      {isRead && (
        <>
          <div class="config-editor">
            <Editor
              label={t.config.configuration}
              language="toml"
              value={text}
              revision={draft.revision.value}
              onChange={(next) => {
                draft.text.value = next;
              }}
              suggest={(before, at) => suggestConfig(known.current, before, at)}
              onCursor={({ line }) => setCursorLine(line)}
              marks={marks}
              secrets={showsSecrets ? undefined : secrets}
              onSave={() => void save().catch(showError)}
              handle={editor}
            />
          </div>
          <KeyHelp documented={keyAt(keys, text, cursorLine)} />
          <ProblemList
            checked={checked}
            isRefused={refusedText === text}
            onGoTo={(position) => editor.current?.goTo(position)}
          />
          <div class="row">
            {hasSecrets(text) && (
              <Check label={t.config.showPasswords} checked={showsSecrets} onChange={setShowsSecrets} />
            )}
            <span class="hint">{t.config.keysHint}</span>
          </div>
        </>
      )}
      {step !== undefined && <SaveDialog draft={draft} step={step} warnings={warnings} onStep={setStep} />}
    </Page>
  );
}

/** Documentation of the key that the cursor is on. */
function KeyHelp({ documented }: { readonly documented: ConfigKey | undefined }) {
  return (
    // A scrolling element must be focusable to be scrolled by keyboard.
    <section class="config-help" aria-label={t.config.keyHelp} aria-live="polite" tabIndex={0}>
      {documented === undefined ? (
        <p class="muted">{t.config.keyHelpHint}</p>
      ) : (
        <>
          <p>
            <code>{documented.name}</code>{" "}
            <span class="muted">
              {typeOf(documented)}
              {documented.default !== undefined && `, ${t.config.defaultIs(documented.default)}`}
              {documented.is_required && `, ${t.config.required}`}
            </span>
          </p>
          <p>{withCode(descriptionOf(documented))}</p>
        </>
      )}
    </section>
  );
}

/** Text with the parts between backticks as code. */
function withCode(text: string) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Handles Ctrl+S on the whole page, not only in the editor. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  latest.current = save;
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Result of the last save. */
function SavedView({ saved }: { readonly saved: SaveResult }) {
  const className = classOf(saved);
  return (
    <div class={className} role="status">
      <Icon name={className === "notice good" ? "check" : "warning"} />
      <div>{messageOf(saved)}</div>
    </div>
  );
}

function classOf(saved: SaveResult): string {
  if (saved.kind !== "applied" && saved.kind !== "unchanged") return "problem";
  return saved.warnings.length > 0 ? "notice" : "notice good";
}

function messageOf(saved: SaveResult) {
  switch (saved.kind) {
    case "applied":
    case "unchanged":
      return (
        <>
          <p>
            {saved.kind === "applied" ? t.config.savedApplied(listed(saved.keys)) : t.config.savedUnchanged}
          </p>
          {saved.warnings.map((warning) => (
            <p key={warning}>{t.config.warns(warning)}</p>
          ))}
        </>
      );
    case "refused":
      return <p>{t.config.savedRefused(saved.why)}</p>;
    case "unheard":
      return <p>{t.config.savedUnheard}</p>;
    case "gone":
      return (
        <p>
          {rich(t.config.savedGone, {
            where:
              saved.address === undefined
                ? t.config.seeLog
                : rich(t.config.shouldBeAt, { link: <a href={saved.address}>{saved.address}</a> }),
          })}
        </p>
      );
  }
}

interface CheckResult {
  /** Whether a check is running; the other fields are about an older text. */
  readonly checking: boolean;
  /** Whether there was no answer yet. */
  readonly isFirst: boolean;
  readonly problems: readonly Finding[];
  /** Findings that do not prevent saving. */
  readonly warnings: readonly Finding[];
  /** Error of the check itself. */
  readonly error: unknown;
}

/** Pause in typing before the text is checked. */
const checkDelayMs = 300;

const clean = { problems: [], warnings: [], error: undefined } as const;
const initial: CheckResult = { checking: true, isFirst: true, ...clean };

/** Checks a text on the server after each pause in typing. Results of older texts are dropped. */
function useCheck(client: NodeServerClient, text: string | undefined): CheckResult {
  const [checked, setChecked] = useState<CheckResult>(initial);
  useEffect(() => {
    if (text === undefined) return;
    setChecked((before) => ({ ...before, checking: true }));
    const abort = new AbortController();
    const check = async () => {
      const next = await checkText(client, text, abort.signal);
      if (!abort.signal.aborted) setChecked({ checking: false, isFirst: false, ...next });
    };
    const timer = setTimeout(check, checkDelayMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [client, text]);
  return checked;
}

async function checkText(
  client: NodeServerClient,
  text: string,
  signal?: AbortSignal,
): Promise<Pick<CheckResult, "problems" | "warnings" | "error">> {
  try {
    const { warnings } = await untilReachable(
      () => client.call("node-server_check_config", { config_string: text }, { signal }),
      signal,
    );
    return { ...clean, warnings: findingsIn(warnings) };
  } catch (error) {
    const problems = problemsOf(error);
    return problems === undefined ? { ...clean, error } : { ...clean, problems };
  }
}

interface ProblemListProps {
  readonly checked: CheckResult;
  /** Whether saving this text was refused. */
  readonly isRefused: boolean;
  readonly onGoTo: (position: Position) => void;
}

/** Problems and warnings of the text. */
function ProblemList({ checked, isRefused, onGoTo }: ProblemListProps) {
  const { checking, isFirst, problems, warnings, error } = checked;
  const isClean = error === undefined && problems.length === 0 && warnings.length === 0;
  return (
    <section class="config-check" aria-label={t.config.check} aria-busy={checking}>
      {error !== undefined && <Problem error={error} />}
      <div aria-live="polite">
        {isRefused && problems.length > 0 && (
          <p class="fault">
            <strong>{t.config.refused}</strong>
          </p>
        )}
        {isClean && <p class="muted">{isFirst ? t.config.checking : t.config.nothingWrong}</p>}
        <Sentences findings={problems} class="fault" onGoTo={onGoTo} />
        <Warnings warnings={warnings} onGoTo={onGoTo} />
      </div>
    </section>
  );
}

interface WarningsProps {
  readonly warnings: readonly Finding[];
  /** Called to go to a position. Without it positions are shown as text. */
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

/** Warnings, which do not prevent saving. */
function Warnings({ warnings, onGoTo }: WarningsProps) {
  if (warnings.length === 0) return null;
  return (
    <div class="notice config-warnings">
      <div>
        <strong>{t.config.countWarnings(warnings.length)}</strong>
        <Sentences findings={warnings} {...(onGoTo === undefined ? {} : { onGoTo })} />
      </div>
    </div>
  );
}

interface SentencesProps {
  readonly findings: readonly Finding[];
  readonly class?: string;
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

function Sentences({ findings, class: className, onGoTo }: SentencesProps) {
  return findings.map(({ message, line, column }) => (
    <p key={`${line} ${column} ${message}`} class={className}>
      {message}{" "}
      {line !== undefined &&
        column !== undefined &&
        (onGoTo === undefined ? (
          t.config.position(line, column)
        ) : (
          <button type="button" class="config-position" onClick={() => onGoTo({ line, column })}>
            {t.config.goTo(line, column)}
          </button>
        ))}
    </p>
  ));
}

/** Step of saving a draft. */
type SaveStep =
  /** The changes are shown before they are saved. */
  | { readonly kind: "review" }
  /** The file has changed since the draft was started. */
  | { readonly kind: "conflict"; readonly theirs: string };

interface SaveDialogProps {
  readonly draft: ConfigDraft;
  readonly step: SaveStep;
  /** Warnings about the text to save. */
  readonly warnings: readonly Finding[];
  readonly onStep: (step: SaveStep | undefined) => void;
}

/** Next step of saving; undefined when the file already has this content. */
async function nextStep(draft: ConfigDraft): Promise<SaveStep | undefined> {
  const now = await draft.read();
  if (now === draft.text.value) {
    draft.file.value = now;
    return undefined;
  }
  return now === draft.file.value ? { kind: "review" } : { kind: "conflict", theirs: now };
}

function SaveDialog({ draft, step, warnings, onStep }: SaveDialogProps) {
  const close = () => onStep(undefined);
  const file = draft.file.value ?? "";
  if (step.kind === "conflict")
    return (
      <Dialog title={t.config.conflictTitle} onClose={close} wide>
        <p>{t.config.conflictText}</p>
        <DiffView before={file} after={step.theirs} />
        <footer>
          <Button onClick={close}>{t.config.keepEditing}</Button>
          <Button
            onClick={() => {
              draft.reset(step.theirs);
              close();
            }}
          >
            {t.config.useTheirs}
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              draft.file.value = step.theirs;
              onStep({ kind: "review" });
            }}
          >
            {t.config.keepMine}
          </Button>
        </footer>
      </Dialog>
    );
  const write = async () => {
    // Somebody may have changed the file while the changes were reviewed.
    const next = await nextStep(draft);
    if (next?.kind === "review") await draft.write();
    onStep(next?.kind === "conflict" ? next : undefined);
  };
  return (
    <Dialog title={t.config.saveQuestion} onClose={close} wide>
      <p>{t.config.saveText}</p>
      <Warnings warnings={warnings} />
      <DiffView before={file} after={draft.text.value} />
      <footer>
        <Button onClick={close}>{t.config.keepEditing}</Button>
        <Button kind="primary" onClick={write}>
          {t.config.saveAndApply}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Line diff of two texts. Passwords are hidden until requested. */
function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const [showsSecrets, setShowsSecrets] = useState(false);
  const parts = useMemo(() => withContext(diffLines(before, after)), [before, after]);
  const secret = parts.some((part) => typeof part !== "number" && hasSecrets(part.text));
  return (
    <>
      {/* A scrolling element must be focusable to be scrolled by keyboard. */}
      <section class="config-diff" aria-label={t.config.changes} tabIndex={0}>
        {parts.map((part, at) =>
          typeof part === "number" ? (
            <p key={at}>… {t.config.countUnchanged(part)}</p>
          ) : (
            <Line key={at} line={part} showsSecrets={showsSecrets} />
          ),
        )}
      </section>
      {secret && <Check label={t.config.showPasswords} checked={showsSecrets} onChange={setShowsSecrets} />}
    </>
  );
}

function Line({
  line: { kind, text },
  showsSecrets,
}: {
  readonly line: DiffLine;
  readonly showsSecrets: boolean;
}) {
  const shown = showsSecrets ? text : hideSecrets(text);
  if (kind === "same") return <div>{`  ${shown}`}</div>;
  return kind === "added" ? (
    <ins>
      <span class="unseen">{t.config.added} </span>+ {shown}
    </ins>
  ) : (
    <del>
      <span class="unseen">{t.config.removed} </span>− {shown}
    </del>
  );
}
